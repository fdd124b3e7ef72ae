-- +goose Up

-- How many workers in a row began to read a chunk and have not ended, of those whose group was tried before.
ALTER TABLE upload_chunks ADD COLUMN IF NOT EXISTS readings smallint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE upload_chunks DROP COLUMN readings;
