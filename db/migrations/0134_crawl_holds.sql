-- +goose Up
-- Until when a host was not to be asked for a run, by what its workers said last: URLs of it are no work that waits.
CREATE TABLE crawl_holds (
    run_id bigint      NOT NULL REFERENCES crawl_runs ON DELETE CASCADE,
    host   text        NOT NULL,
    until  timestamptz NOT NULL,
    by     text        NOT NULL, -- what holds it back
    cause  text        NOT NULL, -- of that, in words; '' = not known
    PRIMARY KEY (run_id, host)
);

-- +goose Down
DROP TABLE crawl_holds;
