-- +goose NO TRANSACTION
-- +goose Up
-- Messages to a person who writes and whose number WhatsApp does not tell.
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_wa_user ON messages (wa_user) WHERE wa_user IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS messages_wa_user;
