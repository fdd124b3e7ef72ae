-- +goose Up
-- What is known of a listing beyond its advert's fields. Written after the listing is published; nothing waits for it.
CREATE TABLE listing_enrichments (
    listing_id   uuid        PRIMARY KEY REFERENCES raw_listings ON DELETE CASCADE,
    revision     bigint      NOT NULL,              -- of the advert that it was made of
    facts        jsonb       NOT NULL,              -- that rules read: listing.Fact
    places       jsonb       NOT NULL,              -- listing.Nearby, the nearest first
    attribution  text        NOT NULL DEFAULT '',   -- of the files that places are from
    text_hash    bytea       NOT NULL,              -- of the question to the model: an answer to an equal one is taken over
    model_facts  jsonb,                             -- that the model read; NULL = not asked, or no answer
    updated_at   timestamptz NOT NULL
);
CREATE INDEX listing_enrichments_answered ON listing_enrichments (text_hash) WHERE model_facts IS NOT NULL;

-- Questions to the language model, of all processes together. Old days are deleted by the first question of a new one.
CREATE TABLE enrichment_questions (
    day   date    PRIMARY KEY, -- UTC
    asked integer NOT NULL
);

-- +goose Down
DROP TABLE enrichment_questions, listing_enrichments;
