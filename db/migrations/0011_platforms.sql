-- +goose Up
-- A row a platform: how it is scraped and how that goes. What conveyor bootstrap writes from the settings stands beside
-- what an operator has set since, which wins until it is taken back.
CREATE TABLE platforms (
    name             text        PRIMARY KEY,
    url              text        NOT NULL,            -- the first search page
    transport        text        NOT NULL CHECK (transport IN ('browser', 'http')),
    enabled          boolean     NOT NULL,
    delay_ms         bigint      NOT NULL CHECK (delay_ms >= 0),    -- between two requests
    max_pages        int         NOT NULL CHECK (max_pages >= 1),   -- a cycle
    cooldown_ms      bigint      NOT NULL CHECK (cooldown_ms >= 0), -- between two cycles
    set_enabled      boolean,
    set_delay_ms     bigint      CHECK (set_delay_ms >= 0),
    set_max_pages    int         CHECK (set_max_pages >= 1),
    set_cooldown_ms  bigint      CHECK (set_cooldown_ms >= 0),
    paused           boolean     NOT NULL DEFAULT false,
    next_cycle_at    timestamptz,                     -- not before
    next_request_at  timestamptz,                     -- whoever asks the site next takes this turn
    last_success_at  timestamptz,                     -- a page was read
    refusals         int         NOT NULL DEFAULT 0,  -- in a row
    refused_reason   text        NOT NULL DEFAULT '', -- of the last
    blocked_until    timestamptz,
    suspect_at       timestamptz,                     -- since when it is not what it was
    suspect_of       text        NOT NULL DEFAULT '', -- search detail cycle: a good one of that kind takes it back
    suspect_reason   text        NOT NULL DEFAULT '',
    trouble_at       timestamptz,                     -- a page could not be read, and nobody refused
    trouble          text        NOT NULL DEFAULT '',
    results_pages    int         NOT NULL DEFAULT 0   -- search pages 1 to this one had results when last seen
) WITH (fillfactor = 50); -- written at each request

-- A row a time through the search pages.
CREATE TABLE platform_cycles (
    platform   text        NOT NULL REFERENCES platforms ON DELETE CASCADE,
    cycle      bigint      NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    complete   boolean     NOT NULL DEFAULT false, -- came to the last search page: who was not seen is missing
    note       text        NOT NULL DEFAULT '',    -- why it is not
    pages      int         NOT NULL DEFAULT 0,     -- search pages read
    total      int,                                -- adverts of the search, as the site said last
    seen       int         NOT NULL DEFAULT 0,     -- adverts on search pages; counted at the end
    skipped    int         NOT NULL DEFAULT 0,     -- those with nothing new, not visited; counted at the end
    new        int         NOT NULL DEFAULT 0,     -- visited and stored: never seen before,
    changed    int         NOT NULL DEFAULT 0,     -- with another title, price, … on the search page,
    stale      int         NOT NULL DEFAULT 0,     -- not visited for hours,
    returned   int         NOT NULL DEFAULT 0,     -- or back after it was gone
    failed     int         NOT NULL DEFAULT 0,     -- visits that gave no advert
    gone       int         NOT NULL DEFAULT 0,     -- marked as gone
    refusals   int         NOT NULL DEFAULT 0,
    PRIMARY KEY (platform, cycle)
) WITH (fillfactor = 50);

-- What a scraper remembers of an advert. raw_listings has what the advert says.
CREATE TABLE platform_adverts (
    platform            text        NOT NULL,
    platform_id         text        NOT NULL,
    url                 text        NOT NULL,
    fingerprint         text        NOT NULL,        -- of its card on a search page
    seen_at             timestamptz NOT NULL,        -- on a search page
    seen_cycle          bigint      NOT NULL,
    missed              int         NOT NULL DEFAULT 0, -- complete cycles in a row without it
    visited_at          timestamptz,                 -- its detail page was stored
    visited_fingerprint text,                        -- what the card said then
    failures            int         NOT NULL DEFAULT 0, -- visits in a row that gave no advert
    failure             text        NOT NULL DEFAULT '',
    retry_at            timestamptz,                 -- no visit before
    gone_at             timestamptz,
    gone_reason         text        NOT NULL DEFAULT '',
    PRIMARY KEY (platform, platform_id)
) WITH (fillfactor = 80);

-- The platform does not offer it any more. A newer scrape takes that back.
ALTER TABLE raw_listings ADD COLUMN gone_at timestamptz;

-- +goose Down
ALTER TABLE raw_listings DROP COLUMN gone_at;
DROP TABLE platform_adverts, platform_cycles, platforms;
