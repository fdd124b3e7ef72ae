-- +goose NO TRANSACTION
-- +goose Up
-- What waits for tenants that cannot be told now: which they are is read before each comparison.
CREATE INDEX CONCURRENTLY IF NOT EXISTS saved_queue_waits ON saved_queue (not_before) WHERE not_before IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS saved_queue_waits;
