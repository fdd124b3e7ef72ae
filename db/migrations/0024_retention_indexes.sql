-- +goose NO TRANSACTION
-- +goose Up
-- Which images show a file of the blob store, and which drafts have it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS listing_images_key ON listing_images (key) WHERE key IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS product_drafts_files ON product_drafts USING gin (files jsonb_path_ops);

-- The adverts and listings that retention looks at, the oldest first. first_scraped_at hardly ever changes, so re-scrapes
-- stay HOT; updated_at moves only when a listing changes.
CREATE INDEX CONCURRENTLY IF NOT EXISTS raw_listings_first ON raw_listings (first_scraped_at, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_archived ON listings (updated_at, id) WHERE status = 'archived';

-- +goose Down
DROP INDEX listings_archived;
DROP INDEX raw_listings_first;
DROP INDEX product_drafts_files;
DROP INDEX listing_images_key;
