-- +goose NO TRANSACTION
-- +goose Up
-- Deliveries with messages of people are applied before those with statuses only.
CREATE INDEX CONCURRENTLY IF NOT EXISTS webhook_events_next ON webhook_events ((messages = 0), id) WHERE applied_at IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS webhook_events_next;
