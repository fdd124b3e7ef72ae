-- +goose NO TRANSACTION
-- +goose Up
-- Adverts that are no listings, the newest revision first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS raw_listings_refused ON raw_listings (status, revised_at DESC, id DESC)
    WHERE status IN ('rejected', 'duplicate');

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS raw_listings_refused;
