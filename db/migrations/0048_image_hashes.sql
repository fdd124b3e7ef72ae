-- +goose Up
-- What a picture looks like, for finding copies: domain/picture. NULL = it says too little, or was stored before.
ALTER TABLE listing_images ADD COLUMN perceptual bigint;

-- +goose Down
ALTER TABLE listing_images DROP COLUMN perceptual;
