-- +goose Up
-- What a replay and the staleness check need to know of an advert.
ALTER TABLE raw_listings
    -- Counts how often a revision was brought to its end: who notes it before a start sees when that has ended.
    ADD COLUMN settlements bigint NOT NULL DEFAULT 0,
    -- When its listing was archived because nobody saw the advert any more: the next scrape brings it back, changed or
    -- not. It stands here and not only in listings, because the door must read it from the row that it locks.
    ADD COLUMN archived_at timestamptz,
    -- Since when what the advert says cannot be published, while an earlier version of it may still be visible.
    ADD COLUMN refused_at  timestamptz;
UPDATE raw_listings SET refused_at = revised_at WHERE status = 'rejected';
UPDATE raw_listings r SET archived_at = l.updated_at FROM listings l
WHERE l.id = r.id AND l.status = 'archived' AND r.status <> 'rejected';
-- Duplicates are asked for when what they repeat is archived.
CREATE INDEX raw_listings_duplicates ON raw_listings (duplicate_of) WHERE duplicate_of IS NOT NULL;

-- Stored adverts on their way through the pipeline again.
CREATE TABLE replays (
    id         uuid        PRIMARY KEY,
    state      text        NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'canceled', 'failed')),
    stage      text        NOT NULL CHECK (stage IN ('normalize', 'dedupe', 'import')),
    filter     jsonb       NOT NULL,
    rate       int         NOT NULL CHECK (rate > 0),    -- adverts a second
    total      bigint      NOT NULL,                     -- adverts that matched when it was made
    last_id    uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- of the last that was looked at
    exhausted  boolean     NOT NULL DEFAULT false,       -- all were looked at
    started    bigint      NOT NULL DEFAULT 0,
    imported   bigint      NOT NULL DEFAULT 0,           -- those started, by how they ended
    duplicate  bigint      NOT NULL DEFAULT 0,
    rejected   bigint      NOT NULL DEFAULT 0,
    handed_on  bigint      NOT NULL DEFAULT 0,
    failed     bigint      NOT NULL DEFAULT 0,           -- came to no end in time
    skipped_staged         bigint NOT NULL DEFAULT 0,
    skipped_not_normalized bigint NOT NULL DEFAULT 0,
    skipped_archived       bigint NOT NULL DEFAULT 0,
    reason     text        NOT NULL DEFAULT '',          -- why it failed
    started_by text        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    ended_at   timestamptz
);
CREATE INDEX replays_newest ON replays (created_at DESC, id DESC);

-- The adverts of a replay that are under way; a few dozen rows a running replay.
CREATE TABLE replay_items (
    replay_id   uuid        NOT NULL REFERENCES replays ON DELETE CASCADE,
    listing_id  uuid        NOT NULL,
    settlements bigint      NOT NULL, -- of the advert before it was started
    started_at  timestamptz NOT NULL,
    PRIMARY KEY (replay_id, listing_id)
);

-- +goose Down
DROP TABLE replay_items, replays;
DROP INDEX raw_listings_duplicates;
ALTER TABLE raw_listings DROP COLUMN settlements, DROP COLUMN archived_at, DROP COLUMN refused_at;
