-- +goose Up
-- Saved searches of tenants, and what they are told. The tables with a tenant have the policy of 0030_outreach.sql.
CREATE TABLE saved_searches (
    id         uuid        PRIMARY KEY,
    tenant     text        NOT NULL REFERENCES tenants,
    name       text        NOT NULL,
    filter     jsonb       NOT NULL, -- saved.Criteria
    kinds      text[]      NOT NULL, -- of news that it wants
    schedule   jsonb       NOT NULL, -- saved.Schedule
    state      text        NOT NULL CHECK (state IN ('active', 'paused')),
    since      timestamptz NOT NULL, -- what happened before is not told
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

-- Which searches were written or deleted, in the order of the commits: writers take turns by a lock, so that a process
-- that has read up to a version has missed none before it.
CREATE SEQUENCE saved_version;
CREATE TABLE saved_changes (
    search  uuid   PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX saved_changes_version ON saved_changes (version);

-- Where a search tells its news.
CREATE TABLE saved_targets (
    id         uuid        PRIMARY KEY,
    tenant     text        NOT NULL REFERENCES tenants,
    search     uuid        NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
    kind       text        NOT NULL CHECK (kind IN ('webhook', 'feed')),
    label      text        NOT NULL,             -- its address, without what is secret or personal
    box        bytea       NOT NULL DEFAULT '',  -- saved.Address, sealed; empty for a feed
    box_key    text        NOT NULL DEFAULT '',  -- ID of the key in CONVEYOR_SECRET_KEYS
    token      bytea       NOT NULL UNIQUE,      -- SHA-256 of a random token: that of its feed's address
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX saved_targets_search ON saved_targets (search);

-- Events of listings that were not compared with the searches yet. A row is written in the transaction of its event, by
-- a trigger, and deleted in that of its matches.
CREATE TABLE saved_queue (event bigint PRIMARY KEY) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- What a search was told, or will be: the order of feeds, and what keeps it from being told twice.
CREATE TABLE saved_matches (
    tenant         text        NOT NULL,
    search         uuid        NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
    event          bigint      NOT NULL, -- listing_events.id
    listing        uuid        NOT NULL REFERENCES listings ON DELETE CASCADE,
    kind           text        NOT NULL CHECK (kind IN ('new', 'price_drop', 'back')),
    old_rent_cents bigint,               -- of a price_drop
    rent_cents     bigint      NOT NULL, -- when it matched
    at             timestamptz NOT NULL,
    PRIMARY KEY (search, event)
);
CREATE INDEX saved_matches_listing ON saved_matches (listing, search);

-- A message to a target: one is sent for all that is due at one time.
CREATE TABLE saved_deliveries (
    id          uuid        PRIMARY KEY, -- made of target and due_at
    tenant      text        NOT NULL,
    target      uuid        NOT NULL REFERENCES saved_targets ON DELETE CASCADE,
    due_at      timestamptz NOT NULL,
    state       text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'started', 'sent', 'failed', 'dropped')),
    tries       int         NOT NULL DEFAULT 0,
    reason      text        NOT NULL DEFAULT '', -- of the last failure
    started_at  timestamptz, -- when its workflow was started last
    finished_at timestamptz,
    UNIQUE (target, due_at)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX saved_deliveries_due ON saved_deliveries (due_at) WHERE state = 'waiting';
CREATE INDEX saved_deliveries_started ON saved_deliveries (started_at) WHERE state = 'started';
CREATE INDEX saved_deliveries_finished ON saved_deliveries (finished_at) WHERE finished_at IS NOT NULL;

-- What is in a message. The key says that a target is told of an event once.
CREATE TABLE saved_items (
    tenant   text   NOT NULL,
    target   uuid   NOT NULL,
    event    bigint NOT NULL,
    search   uuid   NOT NULL,
    delivery uuid   NOT NULL REFERENCES saved_deliveries ON DELETE CASCADE,
    PRIMARY KEY (target, event),
    FOREIGN KEY (search, event) REFERENCES saved_matches ON DELETE CASCADE
);
CREATE INDEX saved_items_delivery ON saved_items (delivery);
CREATE INDEX saved_items_match ON saved_items (search, event);

-- +goose StatementBegin
DO $migration$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['saved_searches', 'saved_targets', 'saved_matches', 'saved_deliveries', 'saved_items']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant ON %I USING ((SELECT current_setting(''conveyor.tenant'', true)) IN (''*'', tenant))', t);
    END LOOP;
END $migration$;

CREATE FUNCTION saved_enqueue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO saved_queue (event) VALUES (NEW.id);
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE saved_items, saved_deliveries, saved_matches, saved_queue, saved_targets, saved_changes, saved_searches;
DROP SEQUENCE saved_version;
DROP FUNCTION saved_enqueue;
