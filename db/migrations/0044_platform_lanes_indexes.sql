-- +goose NO TRANSACTION
-- +goose Up
-- The advert that a scraper has not visited for longest, and those that a cycle is missing. Adverts that are gone stand in
-- neither: a scraper keeps them for months.
CREATE INDEX CONCURRENTLY IF NOT EXISTS platform_adverts_oldest ON platform_adverts (platform, visited_at)
    WHERE gone_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS platform_adverts_missed ON platform_adverts (platform, visited_at)
    WHERE gone_at IS NULL AND missed > 0;
-- The building of a unit, by its listing.
CREATE INDEX CONCURRENTLY IF NOT EXISTS platform_units_listing ON platform_units (listing_id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS platform_units_listing;
DROP INDEX CONCURRENTLY IF EXISTS platform_adverts_missed;
DROP INDEX CONCURRENTLY IF EXISTS platform_adverts_oldest;
