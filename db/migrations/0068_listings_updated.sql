-- +goose NO TRANSACTION
-- +goose Up
-- Listings in the order of their last change.
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_updated ON listings (updated_at DESC, id DESC);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS listings_updated;
