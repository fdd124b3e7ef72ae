-- +goose Up

-- How many workers in a row began to read what a URL answered and have not ended: of those whose lease was lost before.
ALTER TABLE crawl_urls ADD COLUMN IF NOT EXISTS readings smallint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE crawl_urls DROP COLUMN readings;
