-- +goose Up
-- What waited in each queue, twice a minute for two days, for the curves of the console.
CREATE TABLE backlog_samples (
    at        timestamptz      NOT NULL,
    kind      text             NOT NULL, -- rabbitmq workflow activity postgres
    queue     text             NOT NULL,
    ready     bigint           NOT NULL,
    in_rate   double precision, -- a second; NULL = not known
    done_rate double precision,
    PRIMARY KEY (at, kind, queue)
);

-- +goose Down
DROP TABLE backlog_samples;
