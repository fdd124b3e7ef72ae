-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS saved_targets_address ON saved_targets (address) WHERE address IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS saved_targets_address;
