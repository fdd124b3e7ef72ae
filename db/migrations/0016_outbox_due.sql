-- +goose Up
-- When a message that the broker returned or refused is due again. It is part of the index that leases use (0017), so
-- that messages which wait are not visited; leased_until, which changes with each lease, is part of none.
ALTER TABLE outbox ADD COLUMN due_at timestamptz NOT NULL DEFAULT '-infinity';

-- A transaction that notifies holds a lock of the whole cluster until its commit is on disk, so writers' commits took
-- turns. Writers wake the relay after their commit instead.
DROP TRIGGER outbox_notify ON outbox;
DROP FUNCTION outbox_notify;

-- +goose Down
-- +goose StatementBegin
CREATE FUNCTION outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY outbox;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH ROW
    WHEN (NEW.exchange <> 'listings.events' OR NEW.routing_key <> 'listings.normalized') EXECUTE FUNCTION outbox_notify();
ALTER TABLE outbox DROP COLUMN due_at;
