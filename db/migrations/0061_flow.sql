-- +goose Up
-- What passed through the stations of a pipeline, by minute. Each connection has rows of its own, so that no transaction
-- waits for the counter of another; those of past minutes are added up into rows of backend 0.
CREATE TABLE flow (
    minute  timestamptz NOT NULL,
    line    text        NOT NULL, -- listings
    station text        NOT NULL, -- receive normalize dedupe publish images
    outcome text        NOT NULL,
    source  text        NOT NULL, -- a platform
    took    smallint    NOT NULL, -- time since the advert arrived: 4 * log2(milliseconds), rounded; -1 = not measured
    backend int         NOT NULL, -- pg_backend_pid of the connection that counted
    n       bigint      NOT NULL,
    PRIMARY KEY (minute, line, station, outcome, source, took, backend)
) WITH (fillfactor = 70);
CREATE INDEX flow_apart ON flow (minute) WHERE backend <> 0;

-- The way of each revision of an advert, for longer than Temporal keeps its workflow, and the feed of what came in.
CREATE TABLE listing_steps (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid        xid8        NOT NULL DEFAULT pg_current_xact_id(), -- the feed waits for older transactions: none is missed
    listing_id uuid        NOT NULL REFERENCES raw_listings ON DELETE CASCADE,
    revision   bigint      NOT NULL,
    pass       bigint      NOT NULL, -- 0 = the first; replays are others
    step       text        NOT NULL CHECK (step IN ('received', 'normalized', 'refused', 'twin', 'new', 'changed',
                           'unchanged', 'back', 'withheld', 'archived')),
    again      boolean     NOT NULL, -- the result of an earlier pass, once more
    at         timestamptz NOT NULL,
    UNIQUE (listing_id, revision, pass, step)
);
CREATE INDEX listing_steps_feed ON listing_steps (id)
    WHERE step IN ('refused', 'twin', 'new', 'changed', 'back', 'archived') AND NOT again;
CREATE INDEX listing_steps_at ON listing_steps (at);

-- +goose Down
DROP TABLE listing_steps, flow;
