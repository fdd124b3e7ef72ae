-- +goose Up
-- A row a search of a platform, with the state of its two lanes. The search "default" is that of the settings: its
-- address is platforms.url. What is NULL is as the platform has it.
CREATE TABLE platform_searches (
    platform      text        NOT NULL REFERENCES platforms ON DELETE CASCADE,
    search        text        NOT NULL,
    url           text,                             -- the first search page; NULL = platforms.url
    paused        boolean     NOT NULL DEFAULT false,
    transport     text        CHECK (transport IN ('browser', 'http')),
    delay_ms      bigint      CHECK (delay_ms >= 0),
    max_pages     int         CHECK (max_pages >= 1),
    cooldown_ms   bigint      CHECK (cooldown_ms >= 0),
    look_ms       bigint      CHECK (look_ms >= 0),
    cycle_ms      bigint      CHECK (cycle_ms >= 0),
    proxy_shown   text        NOT NULL DEFAULT '',  -- its address without credentials, or direct; '' = as the platform
    proxy_key     text        NOT NULL DEFAULT '',  -- that its credentials are sealed with; '' = there are none
    proxy_sealed  bytea,
    looked_at     timestamptz,                      -- page 1 was asked for
    next_cycle_at timestamptz,                      -- not before
    results_pages int         NOT NULL DEFAULT 0,   -- search pages 1 to this one had results when last seen
    retry_at      timestamptz,                      -- its proxy failed: no request before
    trouble_at    timestamptz,
    trouble       text        NOT NULL DEFAULT '',
    PRIMARY KEY (platform, search)
) WITH (fillfactor = 50);
INSERT INTO platform_searches (platform, search, looked_at, next_cycle_at, results_pages)
SELECT name, 'default', looked_at, next_cycle_at, results_pages FROM platforms;

-- Of platforms, looked_at, next_cycle_at and results_pages are read no more. They stay for workers of the release before.
ALTER TABLE platforms
    ADD COLUMN suspect_search text NOT NULL DEFAULT 'default', -- whose pages they are
    ADD COLUMN set_transport  text CHECK (set_transport IN ('browser', 'http')),
    ADD COLUMN proxy_shown    text NOT NULL DEFAULT '',        -- as in platform_searches; '' = there is none
    ADD COLUMN proxy_key      text NOT NULL DEFAULT '',
    ADD COLUMN proxy_sealed   bytea;

-- Cycles are numbered by platform, whatever their search.
ALTER TABLE platform_cycles ADD COLUMN search text NOT NULL DEFAULT 'default';

-- Which searches show an advert. platform_adverts.missed is the least of an advert's here: it is missing when all of
-- them miss it.
CREATE TABLE platform_sightings (
    platform    text   NOT NULL,
    platform_id text   NOT NULL,
    search      text   NOT NULL,
    seen_cycle  bigint NOT NULL,
    missed      int    NOT NULL DEFAULT 0, -- complete cycles of the search in a row without it
    PRIMARY KEY (platform, platform_id, search),
    FOREIGN KEY (platform, platform_id) REFERENCES platform_adverts ON DELETE CASCADE
) WITH (fillfactor = 80);

-- +goose Down
DROP TABLE platform_sightings, platform_searches;
ALTER TABLE platform_cycles DROP COLUMN search;
ALTER TABLE platforms DROP COLUMN suspect_search, DROP COLUMN set_transport, DROP COLUMN proxy_key,
    DROP COLUMN proxy_sealed, DROP COLUMN proxy_shown;
