-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE saved_searches VALIDATE CONSTRAINT saved_searches_language;
ALTER TABLE saved_targets VALIDATE CONSTRAINT saved_targets_state;
ALTER TABLE saved_targets VALIDATE CONSTRAINT saved_targets_channel;
CREATE INDEX CONCURRENTLY IF NOT EXISTS saved_targets_unconfirmed ON saved_targets (created_at, id)
    WHERE state = 'unconfirmed';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS saved_targets_unconfirmed;
