-- +goose NO TRANSACTION
-- +goose Up
-- Work that was begun and not ended, the oldest first: revisions that are not settled, and images that are pending.
CREATE INDEX CONCURRENTLY IF NOT EXISTS raw_listings_unsettled ON raw_listings (revised_at, id)
    WHERE settled_revision < revision;
CREATE INDEX CONCURRENTLY IF NOT EXISTS listing_images_pending ON listing_images (created_at, listing_id)
    WHERE state = 'pending';
-- The visits of a cycle. An advert is visited every few hours; seeing it on a search page does not touch this.
CREATE INDEX CONCURRENTLY IF NOT EXISTS platform_adverts_visited ON platform_adverts (platform, visited_at);
-- The dead letters that wait, counted without reading them.
CREATE INDEX CONCURRENTLY IF NOT EXISTS dead_letters_open ON dead_letters (queue, class) WHERE state = 'open';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_open;
DROP INDEX CONCURRENTLY IF EXISTS platform_adverts_visited;
DROP INDEX CONCURRENTLY IF EXISTS listing_images_pending;
DROP INDEX CONCURRENTLY IF EXISTS raw_listings_unsettled;
