-- +goose Up
-- The newest of a neighbourhood, without sorting all of it.
DROP INDEX listings_place;
CREATE INDEX listings_place ON listings (neighbourhood, status, published_at DESC, id DESC);

-- +goose Down
DROP INDEX listings_place;
CREATE INDEX listings_place ON listings (neighbourhood, status);
