-- +goose Up

-- When previews began that have not ended, the first few of them: their processes died, or are at it. Readings of imports have
-- their own column.
ALTER TABLE uploads ADD COLUMN previews timestamptz[] NOT NULL DEFAULT '{}';

-- +goose Down

ALTER TABLE uploads DROP COLUMN previews;
