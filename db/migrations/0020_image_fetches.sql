-- +goose Up

-- Fetches that have begun in a row and not ended: their workers died. An image is given up after a few.
ALTER TABLE listing_images ADD COLUMN begun int NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE listing_images DROP COLUMN begun;
