-- +goose Up
-- What a tenant may keep, so that none fills the disk or the memory of all. NULL = no limit.
ALTER TABLE tenants
    ADD COLUMN max_searches    bigint DEFAULT 200,          -- saved searches
    ADD COLUMN max_notices_day bigint DEFAULT 10000,        -- messages of saved searches that are begun in a day, UTC
    ADD COLUMN max_lists       bigint DEFAULT 500,          -- of contacts
    ADD COLUMN max_segments    bigint DEFAULT 500,
    ADD COLUMN max_bytes       bigint DEFAULT 21474836480;  -- of uploaded files and their copies: 20 GiB

-- How many messages of saved searches of a tenant were begun on the last day on which there was one.
CREATE TABLE saved_told (
    tenant text   PRIMARY KEY REFERENCES tenants,
    day    date   NOT NULL, -- UTC
    n      bigint NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE saved_told ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON saved_told USING ((SELECT current_setting('conveyor.tenant', true)) IN ('*', tenant));

-- In how many places of the index a search is filed: what it takes of the memory of a worker.
ALTER TABLE saved_searches ADD COLUMN slots int NOT NULL DEFAULT 16;

-- Of the decoded copy, while there is one. Copies that were made before count nothing.
ALTER TABLE uploads ADD COLUMN copy_bytes bigint NOT NULL DEFAULT 0;

-- A target to which nothing could be delivered for days is stopped.
ALTER TABLE saved_targets ADD COLUMN failing_since timestamptz; -- the first failure after the last success

-- +goose Down
ALTER TABLE saved_targets DROP COLUMN failing_since;
ALTER TABLE uploads DROP COLUMN copy_bytes;
ALTER TABLE saved_searches DROP COLUMN slots;
DROP TABLE saved_told;
ALTER TABLE tenants DROP COLUMN max_bytes, DROP COLUMN max_segments, DROP COLUMN max_lists, DROP COLUMN max_notices_day,
    DROP COLUMN max_searches;
