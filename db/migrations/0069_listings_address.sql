-- +goose NO TRANSACTION
-- +goose Up
-- Listings whose street address begins with what was typed, for GET /find. An advert without an address is not in it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_address ON listings (lower(address) COLLATE "C") WHERE address <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS listings_address;
