-- +goose Up
-- What must be published, written in the transaction of the change that it tells of.
CREATE TABLE outbox (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id   uuid        NOT NULL UNIQUE, -- the event's ID, made from what happened: a repeated write is no write
    tenant       text        NOT NULL,        -- whose turn it takes; a listing's platform
    exchange     text        NOT NULL,
    routing_key  text        NOT NULL,
    body         bytea       NOT NULL,        -- JSON
    created_at   timestamptz NOT NULL,
    lease_token  uuid,                        -- who is sending it
    leased_until timestamptz,
    refusals     int         NOT NULL DEFAULT 0,  -- times the broker returned or refused it; an absent broker does not count
    last_error   text        NOT NULL DEFAULT '',
    published_at timestamptz
) WITH (fillfactor = 70);
CREATE INDEX outbox_pending ON outbox (tenant, id) WHERE published_at IS NULL;
CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY outbox;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION outbox_notify();

-- +goose Down
DROP TABLE outbox;
DROP FUNCTION outbox_notify;
