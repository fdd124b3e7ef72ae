-- +goose NO TRANSACTION
-- +goose Up
-- One table is locked at a time. Until the tables are partitioned, which is minutes, more runs than were started in
-- the last four weeks, and than a hundred, are refused.
SELECT crawl_partition_bound('crawl_urls');
SELECT crawl_partition_bound('crawl_tries');
SELECT crawl_partition_bound('crawl_links');

-- +goose Down
ALTER TABLE crawl_links DROP CONSTRAINT IF EXISTS crawl_links_before;
ALTER TABLE crawl_tries DROP CONSTRAINT IF EXISTS crawl_tries_before;
ALTER TABLE crawl_urls DROP CONSTRAINT IF EXISTS crawl_urls_before;
