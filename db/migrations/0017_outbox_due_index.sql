-- +goose NO TRANSACTION
-- +goose Up
-- An index whose build was interrupted is there and not used: it is built anew.
DROP INDEX CONCURRENTLY IF EXISTS outbox_due;
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_due ON outbox (lane, due_at, id) WHERE published_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS outbox_pending;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_pending ON outbox (lane, id) WHERE published_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS outbox_due;
