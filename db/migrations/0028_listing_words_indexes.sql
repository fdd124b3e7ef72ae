-- +goose NO TRANSACTION
-- +goose Up
-- Each search reads the list of pending entries: it is kept short.
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_words ON listings USING gin (words) WITH (gin_pending_list_limit = 512);
-- The rows that are still to be filled. New rows never enter these.
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_unfilled ON listings (id) WHERE words IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_unfilled_search ON listings USING gin (search) WHERE words IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS listings_search;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_search ON listings USING gin (search);
DROP INDEX CONCURRENTLY IF EXISTS listings_unfilled_search;
DROP INDEX CONCURRENTLY IF EXISTS listings_unfilled;
DROP INDEX CONCURRENTLY IF EXISTS listings_words;
