-- +goose NO TRANSACTION
-- +goose Up
-- The messages of a tenant that are of no campaign, the newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_direct ON messages (tenant, queued_at, id) WHERE campaign IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS messages_direct;
