-- +goose Up
-- When a delivery of the tenant was begun last: where that is lately, its others wait for their turns, and are not late.
ALTER TABLE saved_told ADD COLUMN begun_at timestamptz;

-- When it was begun first: it is not late before it is its turn.
ALTER TABLE saved_deliveries ADD COLUMN begun_at timestamptz;

-- +goose Down
ALTER TABLE saved_deliveries DROP COLUMN begun_at;
ALTER TABLE saved_told DROP COLUMN begun_at;
