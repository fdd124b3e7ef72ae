-- +goose NO TRANSACTION
-- +goose Up
-- Messages to the few people for whom WhatsApp has had several names before: wa_user_was has spaces between these.
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_wa_users_were ON messages (id)
    WHERE coalesce(strpos(wa_user_was, ' '), 0) > 0;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS messages_wa_users_were;
