-- +goose Up
-- What could not be processed and waits for a person.
CREATE TABLE dead_letters (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint  bytea       NOT NULL UNIQUE, -- SHA-256 of what died: archiving the same thing again is no second row
    queue        text        NOT NULL,        -- where it was consumed
    exchange     text        NOT NULL,        -- where a replay publishes it
    routing_key  text        NOT NULL,
    message_id   text        NOT NULL DEFAULT '',
    headers      jsonb       NOT NULL DEFAULT '{}',
    body         bytea       NOT NULL,
    reason       text        NOT NULL,
    class        text        NOT NULL,
    workflow_id  text        NOT NULL DEFAULT '',
    run_id       text        NOT NULL DEFAULT '',
    state        text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'resolved', 'discarded')),
    first_at     timestamptz NOT NULL,
    last_at      timestamptz NOT NULL,
    deaths       int         NOT NULL DEFAULT 1,
    replays      int         NOT NULL DEFAULT 0
);
CREATE INDEX dead_letters_queue ON dead_letters (queue, state, id);
CREATE INDEX dead_letters_workflow ON dead_letters (workflow_id) WHERE workflow_id <> '';

-- +goose Down
DROP TABLE dead_letters;
