-- +goose NO TRANSACTION
-- +goose Up
-- Every key of these tables begins with run_id, so their indexes can stay as they are.
ALTER TABLE crawl_urls VALIDATE CONSTRAINT crawl_urls_before;
ALTER TABLE crawl_tries VALIDATE CONSTRAINT crawl_tries_before;
ALTER TABLE crawl_links VALIDATE CONSTRAINT crawl_links_before;

-- +goose Down
SELECT 1;
