-- +goose Up
-- Files of the blob store that nothing referred to when they were looked at. One is deleted at due_at if that is still
-- so. A store that is about to write the file takes the row away first, and waits for a deletion that is under way.
CREATE TABLE unused_blobs (
    key    text        PRIMARY KEY,
    due_at timestamptz NOT NULL
);
CREATE INDEX unused_blobs_due ON unused_blobs (due_at);

-- Adverts that were forgotten and may not come back.
CREATE TABLE blocked_adverts (
    id         uuid        PRIMARY KEY, -- that of the advert: a hash of its platform and number
    blocked_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE blocked_adverts, unused_blobs;
