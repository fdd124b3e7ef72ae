-- +goose Up
-- A row a crawl request that an operator has called off, by POST or through RabbitMQ. It has no draft, and gets none.
CREATE TABLE draft_cancels (
    event_id    uuid        PRIMARY KEY,
    canceled_by text        NOT NULL, -- caller of the API
    canceled_at timestamptz NOT NULL
);
CREATE INDEX draft_cancels_oldest ON draft_cancels (canceled_at);

-- +goose Down
DROP TABLE draft_cancels;
