-- +goose Up
-- When people last took back that they want no messages. A stop that is older is no opt-out, however late it comes. There
-- is no phone or address in it.
CREATE TABLE opt_ins (
    tenant text        NOT NULL,
    digest bytea       NOT NULL, -- as in opt_outs
    at     timestamptz NOT NULL,
    PRIMARY KEY (tenant, digest)
);
ALTER TABLE opt_ins ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON opt_ins USING ((SELECT current_setting('conveyor.tenant', true)) IN ('*', tenant));

-- +goose Down
DROP TABLE opt_ins;
