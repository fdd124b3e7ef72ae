-- +goose NO TRANSACTION
-- +goose Up
-- The newest of a neighbourhood, without sorting all of it.
DROP INDEX CONCURRENTLY IF EXISTS listings_place;
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_place ON listings (neighbourhood, status, published_at DESC, id DESC);

-- An advert's status changes twice on its way. While no index knows it, these updates stay on the row's page (HOT) and
-- touch no index at all; the few who ask by status, replays and the staleness check, read the table.
DROP INDEX CONCURRENTLY IF EXISTS raw_listings_status;

-- +goose Down
CREATE INDEX raw_listings_status ON raw_listings (platform, status, id);
DROP INDEX listings_place;
CREATE INDEX listings_place ON listings (neighbourhood, status);
