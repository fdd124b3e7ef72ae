-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_traits ON listings USING gin (listing_traits(details))
    WITH (gin_pending_list_limit = 512);
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_available ON listings (listing_available(details));
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_area ON listings (area_sqft) WHERE area_sqft IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS listings_area;
DROP INDEX CONCURRENTLY IF EXISTS listings_available;
DROP INDEX CONCURRENTLY IF EXISTS listings_traits;
