-- +goose Up
-- Nobody waits for listings.normalized: the relay finds it when it looks by itself, or with the listings.published
-- that follows within milliseconds. Waking it for each would double its cycles while adverts trickle in.
DROP TRIGGER outbox_notify ON outbox;
CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH ROW
    WHEN (NEW.exchange <> 'listings.events' OR NEW.routing_key <> 'listings.normalized') EXECUTE FUNCTION outbox_notify();

-- +goose Down
DROP TRIGGER outbox_notify ON outbox;
CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION outbox_notify();
