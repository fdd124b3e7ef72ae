-- +goose Up
-- The decision that a pair follows from: adverts that are posted anew inherit pairs, and its undoing takes back all.
-- NULL = of before there was this column: it is found among the decisions when the pair is inherited.
ALTER TABLE home_apart ADD COLUMN verdict bigint;

-- +goose Down
ALTER TABLE home_apart DROP COLUMN verdict;
