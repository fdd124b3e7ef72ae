-- +goose Up
-- The latest time at which a queued campaign may begin: one that comes to its turn later is paused. NULL = at any time.
ALTER TABLE campaigns ADD COLUMN not_after timestamptz;

-- +goose Down
ALTER TABLE campaigns DROP COLUMN not_after;
