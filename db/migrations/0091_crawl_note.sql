-- +goose Up

-- What an operator should know of a run: that its sitemaps were left out, and why.
ALTER TABLE crawl_runs ADD COLUMN note text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE crawl_runs DROP COLUMN note;
