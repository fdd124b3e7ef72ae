-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_due ON outbox (lane, due_at, id) WHERE published_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS outbox_pending;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_pending ON outbox (lane, id) WHERE published_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS outbox_due;
