-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS campaigns_finished
    ON campaigns (finished_at) WHERE finished_at IS NOT NULL; -- for GET /flow

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS campaigns_finished;
