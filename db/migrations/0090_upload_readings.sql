-- +goose Up

-- Readings of the whole file that have begun in a row and not ended: their workers died. The file is refused after a few.
ALTER TABLE uploads ADD COLUMN readings int NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE uploads DROP COLUMN readings;
