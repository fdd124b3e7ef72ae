-- +goose NO TRANSACTION
-- +goose Up
-- Contacts that WhatsApp has under other numbers, for those who write from these.
CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_wa_id ON contacts (wa_id) WHERE wa_id <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS contacts_wa_id;
