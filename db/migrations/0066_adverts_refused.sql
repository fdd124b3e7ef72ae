-- +goose NO TRANSACTION
-- +goose Up
-- Adverts that are no listings, the newest revision first, in place of raw_listings_refused: that had the status, which
-- changes twice on the way of every advert, and an update that changes what an index has writes to all indexes.
CREATE INDEX CONCURRENTLY IF NOT EXISTS raw_listings_rejected ON raw_listings (revised_at DESC, id DESC)
    WHERE refused_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS raw_listings_hidden ON raw_listings (revised_at DESC, id DESC)
    WHERE duplicate_of IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS raw_listings_refused;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS raw_listings_refused ON raw_listings (status, revised_at DESC, id DESC)
    WHERE status IN ('rejected', 'duplicate');
DROP INDEX CONCURRENTLY IF EXISTS raw_listings_hidden;
DROP INDEX CONCURRENTLY IF EXISTS raw_listings_rejected;
