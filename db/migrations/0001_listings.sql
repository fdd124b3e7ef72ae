-- +goose Up
CREATE EXTENSION IF NOT EXISTS unaccent;

-- unaccent() is only STABLE, for its dictionary may change; ours does not, and an index needs IMMUTABLE.
-- +goose StatementBegin
CREATE FUNCTION search_text(title text, body text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT setweight(to_tsvector('simple', public.unaccent('public.unaccent', coalesce(title, ''))), 'A')
        || setweight(to_tsvector('simple', public.unaccent('public.unaccent', left(coalesce(body, ''), 4000))), 'B')
$$;
-- +goose StatementEnd

-- One row an advert as its platform shows it: the audit trail, and the safety net for reprocessing. id is the
-- UUIDv5 of platform/platform_id, and so the listing's id as well.
CREATE TABLE raw_listings (
    id               uuid        PRIMARY KEY,
    platform         text        NOT NULL,
    platform_id      text        NOT NULL,
    url              text        NOT NULL,
    payload          jsonb       NOT NULL,            -- the newest message, members we do not know included
    content_hash     bytea       NOT NULL,            -- listing.ContentHash of payload
    revision         bigint      NOT NULL DEFAULT 1,  -- counts different payloads
    status           text        NOT NULL DEFAULT 'scraped'
                     CHECK (status IN ('scraped', 'normalized', 'imported', 'duplicate', 'rejected')),
    reasons          jsonb       NOT NULL DEFAULT '[]', -- why it was rejected or is a duplicate: every reason
    normalized       jsonb,                           -- the listing made of a payload, with sources and warnings
    normalized_revision bigint   NOT NULL DEFAULT 0,  -- of that payload: a newer one may have arrived since
    duplicate_of     uuid,                            -- the listing that is the same home
    settled_revision bigint      NOT NULL DEFAULT 0,  -- the last revision brought to its end; < revision = work left
    scrapes          bigint      NOT NULL DEFAULT 1,  -- messages received
    first_scraped_at timestamptz NOT NULL,
    last_scraped_at  timestamptz NOT NULL,
    payload_at       timestamptz NOT NULL,            -- scraped_at of payload; an older message never replaces it
    revised_at       timestamptz NOT NULL,            -- when this revision arrived
    -- Two bridges that store a new advert at the same time meet in both unique indexes, and ON CONFLICT (id) forgives
    -- only the one it names. A deferred constraint looks again at commit, when the row that lost is gone; that id is
    -- made from platform and platform_id makes both say the same.
    UNIQUE (platform, platform_id) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 85); -- room for HOT updates: most messages only move last_scraped_at
CREATE INDEX raw_listings_status ON raw_listings (platform, status, id);

-- Each different payload of an advert.
CREATE TABLE raw_listing_revisions (
    listing_id   uuid        NOT NULL REFERENCES raw_listings ON DELETE CASCADE,
    revision     bigint      NOT NULL,
    content_hash bytea       NOT NULL,
    payload      jsonb       NOT NULL,
    scraped_at   timestamptz NOT NULL,
    received_at  timestamptz NOT NULL,
    PRIMARY KEY (listing_id, revision)
);

CREATE TABLE neighbourhoods (
    key     text PRIMARY KEY,
    name    text NOT NULL,
    borough text NOT NULL,
    city    text NOT NULL
);

CREATE TABLE listings (
    id              uuid        PRIMARY KEY REFERENCES raw_listings,
    platform        text        NOT NULL,
    platform_id     text        NOT NULL,
    revision        bigint      NOT NULL,            -- the raw revision it was made of
    status          text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'claimed')),
    url             text        NOT NULL,
    title           text        NOT NULL,
    description     text        NOT NULL,
    rent_cents      bigint      NOT NULL CHECK (rent_cents > 0), -- CAD a month
    bedrooms        int         NOT NULL CHECK (bedrooms >= 0),  -- 0 = studio
    rooms           numeric(4,1),
    bathrooms       numeric(4,1),
    area_sqft       int,
    property_type   text        NOT NULL DEFAULT '',
    address         text        NOT NULL DEFAULT '',
    postal_code     text        NOT NULL DEFAULT '',
    latitude        double precision,
    longitude       double precision,
    neighbourhood   text        REFERENCES neighbourhoods,
    details         jsonb       NOT NULL,            -- the whole normalized listing
    details_hash    bytea       NOT NULL,            -- SHA-256 of details: tells a change from a repetition
    repost_of       uuid,                            -- an earlier advert for this home on the same platform
    posted_at       timestamptz,
    published_at    timestamptz NOT NULL,            -- first time visible
    updated_at      timestamptz NOT NULL,
    search          tsvector    GENERATED ALWAYS AS (search_text(title, description)) STORED,
    UNIQUE (platform, platform_id)
);
CREATE INDEX listings_newest  ON listings (status, published_at DESC, id DESC);
CREATE INDEX listings_price   ON listings (status, rent_cents, id);
CREATE INDEX listings_newest_any ON listings (published_at DESC, id DESC);
CREATE INDEX listings_price_any  ON listings (rent_cents, id);
CREATE INDEX listings_place   ON listings (neighbourhood, status);
CREATE INDEX listings_search  ON listings USING gin (search);
CREATE INDEX listings_map     ON listings (latitude, longitude) WHERE status = 'active';
-- The dedupe step looks for homes nearby with the same bedrooms.
CREATE INDEX listings_home    ON listings (bedrooms, latitude, longitude);

CREATE TABLE listing_images (
    listing_id    uuid        NOT NULL REFERENCES listings ON DELETE CASCADE,
    url           text        NOT NULL,
    sort_order    int         NOT NULL,
    state         text        NOT NULL DEFAULT 'pending'
                  CHECK (state IN ('pending', 'attached', 'repeated', 'failed', 'dropped')),
    sha256        bytea,
    key           text,                               -- content-addressed, in the blob store
    thumbnail_key text,
    content_type  text,
    bytes         bigint,
    width         int,
    height        int,
    attempts      int         NOT NULL DEFAULT 0,     -- failed fetches
    reason        text        NOT NULL DEFAULT '',    -- why it failed
    created_at    timestamptz NOT NULL,
    settled_at    timestamptz,
    PRIMARY KEY (listing_id, url)
);

-- Price and status history.
CREATE TABLE listing_events (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    listing_id     uuid        NOT NULL REFERENCES listings ON DELETE CASCADE,
    revision       bigint      NOT NULL,
    kind           text        NOT NULL CHECK (kind IN ('created', 'price', 'status')),
    at             timestamptz NOT NULL,
    old_rent_cents bigint,
    new_rent_cents bigint,
    old_status     text,
    new_status     text
);
CREATE INDEX listing_events_listing ON listing_events (listing_id, id);
-- A step that runs twice writes its history once. A listing may return any number of times at one revision, so for
-- changes of status the state before holds that.
CREATE UNIQUE INDEX listing_events_once ON listing_events (listing_id, revision, kind, new_rent_cents)
    NULLS NOT DISTINCT WHERE kind <> 'status';

-- +goose Down
DROP TABLE listing_events, listing_images, listings, neighbourhoods, raw_listing_revisions, raw_listings;
DROP FUNCTION search_text;
