-- +goose NO TRANSACTION
-- +goose Up
-- Messages to a person who wrote before WhatsApp had another name for that person.
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_wa_user_was ON messages (wa_user_was) WHERE wa_user_was IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS messages_wa_user_was;
