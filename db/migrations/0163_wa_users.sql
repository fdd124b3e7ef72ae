-- +goose Up
-- What Meta has told of people by their user IDs, which comes in any order: that WhatsApp calls a person otherwise, and
-- wishes of those of whom nothing else is known yet. Both count for messages of which it is told later whose they are.
CREATE TABLE wa_user_changes (
    tenant  text        NOT NULL,
    was     text        NOT NULL, -- what WhatsApp called a person within the business of the tenant
    wa_user text        NOT NULL, -- what it calls the person since
    at      timestamptz NOT NULL,
    PRIMARY KEY (tenant, was)
);
ALTER TABLE wa_user_changes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON wa_user_changes
    USING ((SELECT current_setting('conveyor.tenant', true)) IN ('*', tenant));

CREATE TABLE wa_user_wishes (
    tenant  text        NOT NULL,
    wa_user text        NOT NULL,
    wish    text        NOT NULL CHECK (wish IN ('stop', 'resume')),
    at      timestamptz NOT NULL, -- of the latest of the kind
    PRIMARY KEY (tenant, wa_user, wish)
);
ALTER TABLE wa_user_wishes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON wa_user_wishes
    USING ((SELECT current_setting('conveyor.tenant', true)) IN ('*', tenant));

-- +goose Down
DROP TABLE wa_user_wishes;
DROP TABLE wa_user_changes;
