-- +goose Up
-- not_after as this release stored it, last. Where not_after is another, a process that does not know this column has
-- changed it for a person: not_after_moves, which it left, is of the time before.
ALTER TABLE campaigns ADD COLUMN not_after_ours timestamptz;

-- +goose Down
ALTER TABLE campaigns DROP COLUMN not_after_ours;
