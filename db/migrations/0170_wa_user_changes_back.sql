-- +goose NO TRANSACTION
-- +goose Up
-- What WhatsApp called a person before, for stops under a name that no message was sent under.
CREATE INDEX CONCURRENTLY IF NOT EXISTS wa_user_changes_back ON wa_user_changes (tenant, wa_user);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS wa_user_changes_back;
