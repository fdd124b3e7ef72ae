-- +goose Up
-- What keeps saved searches from mailing to those who do not want it. Addresses are known by a hash alone: HMAC-SHA256 by
-- a key of this installation, which is sealed.
CREATE TABLE saved_address_key (
    id      uuid  PRIMARY KEY, -- one
    box_key text  NOT NULL,    -- ID of the key in CONVEYOR_SECRET_KEYS
    box     bytea NOT NULL
);
CREATE TABLE saved_addresses (
    sum      bytea       PRIMARY KEY,
    asked_at timestamptz NOT NULL,              -- to confirm, last
    refused  boolean     NOT NULL DEFAULT false -- by its owner, for good
);
CREATE INDEX saved_addresses_asked ON saved_addresses (asked_at) WHERE NOT refused;

-- How many addresses a tenant had asked since a time, about a day ago, that have not confirmed.
CREATE TABLE saved_asks (
    tenant text        PRIMARY KEY REFERENCES tenants,
    since  timestamptz NOT NULL,
    asked  int         NOT NULL
);
ALTER TABLE saved_asks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON saved_asks USING ((SELECT current_setting('conveyor.tenant', true)) IN ('*', tenant));

ALTER TABLE saved_targets ADD COLUMN address bytea; -- saved_addresses.sum; NULL: no e-mail address, or an older one

-- That a search was deleted is kept for a while only.
ALTER TABLE saved_changes ADD COLUMN at timestamptz NOT NULL DEFAULT now();

-- +goose Down
ALTER TABLE saved_changes DROP COLUMN at;
ALTER TABLE saved_targets DROP COLUMN address;
DROP TABLE saved_asks, saved_addresses, saved_address_key;
