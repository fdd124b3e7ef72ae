-- +goose NO TRANSACTION
-- +goose Up
-- Deliveries are begun tenant by tenant.
CREATE INDEX CONCURRENTLY IF NOT EXISTS saved_deliveries_turns ON saved_deliveries (tenant, due_at) WHERE state = 'waiting';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS saved_deliveries_turns;
