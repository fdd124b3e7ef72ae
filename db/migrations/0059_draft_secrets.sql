-- +goose Up
-- Headers and cookies of crawl requests that have no draft yet.
CREATE TABLE draft_secrets (
    event_id  uuid        PRIMARY KEY,
    box       bytea       NOT NULL, -- draft.Secrets, sealed
    box_key   text        NOT NULL, -- ID of the key in CONVEYOR_SECRET_KEYS
    sealed_at timestamptz NOT NULL
);
CREATE INDEX draft_secrets_oldest ON draft_secrets (sealed_at);
ALTER TABLE draft_requests ADD COLUMN sealed boolean NOT NULL DEFAULT false; -- it has, or had, a row there

-- +goose Down
ALTER TABLE draft_requests DROP COLUMN sealed;
DROP TABLE draft_secrets;
