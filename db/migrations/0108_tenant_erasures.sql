-- +goose Up
-- A tenant that is taken out for good: its row stays with nothing but its ID, which is not given out again.
ALTER TABLE tenants ADD COLUMN erasing boolean NOT NULL DEFAULT false;

-- How far the erasure of a tenant is, and afterwards the report of it, which stays. There is no personal data in it.
CREATE TABLE tenant_erasures (
    tenant       text        PRIMARY KEY REFERENCES tenants,
    requested_at timestamptz NOT NULL,
    requested_by text        NOT NULL,
    remote       text        NOT NULL DEFAULT '', -- the origin of the request, as in audit
    request_id   text        NOT NULL DEFAULT '',
    key_id       text        NOT NULL DEFAULT '',
    passes       int         NOT NULL DEFAULT 0,    -- over all tables that have ended
    step         int         NOT NULL DEFAULT 0,    -- of the pass that runs: a table
    at           text        NOT NULL DEFAULT '',   -- the key in that table up to which rows are deleted; '' = none
    rows         jsonb       NOT NULL DEFAULT '{}', -- that were deleted, by table
    files        bigint      NOT NULL DEFAULT 0,    -- uploaded ones
    bytes        bigint      NOT NULL DEFAULT 0,    -- of them and their decoded copies
    finished_at  timestamptz
);
ALTER TABLE tenant_erasures ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenant_erasures USING ((SELECT current_setting('conveyor.tenant', true)) IN ('*', tenant));

-- +goose Down
DROP TABLE tenant_erasures;
ALTER TABLE tenants DROP COLUMN erasing;
