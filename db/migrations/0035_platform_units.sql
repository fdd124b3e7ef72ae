-- +goose Up
-- A row a home of a building that a scraper visits as one advert: the page of platform_id shows it as unit_id, and it is
-- the listing listing_id. What the page no longer shows is gone, and all of it is when the building is.
CREATE TABLE platform_units (
    platform    text NOT NULL,
    platform_id text NOT NULL, -- of the building
    unit_id     text NOT NULL,
    listing_id  uuid NOT NULL, -- raw_listings.id
    PRIMARY KEY (platform, platform_id, unit_id),
    FOREIGN KEY (platform, platform_id) REFERENCES platform_adverts ON DELETE CASCADE
);

-- +goose Down
DROP TABLE platform_units;
