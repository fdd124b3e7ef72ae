-- +goose Up
-- Where not_after is so long after scheduled_at by the rule of the installation, and not the time that a person gave,
-- the scheduler puts it off by as long as the campaign waits for its turn.
ALTER TABLE campaigns
    ADD COLUMN not_after_moves boolean NOT NULL DEFAULT false,
    ADD COLUMN waited_at       timestamptz; -- when the scheduler found it waiting, last; NULL = never

-- +goose Down
ALTER TABLE campaigns DROP COLUMN waited_at, DROP COLUMN not_after_moves;
