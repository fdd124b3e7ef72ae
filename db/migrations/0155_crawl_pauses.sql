-- +goose Up

-- How often a run was paused: whoever works on it and does not look in between knows by that.
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS pauses int NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE crawl_runs DROP COLUMN pauses;
