-- +goose NO TRANSACTION
-- +goose Up
-- How many deliveries of a target are under way, and which one waits.
CREATE INDEX CONCURRENTLY IF NOT EXISTS saved_deliveries_open ON saved_deliveries (target, due_at) WHERE state IN ('waiting', 'started');

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS saved_deliveries_open;
