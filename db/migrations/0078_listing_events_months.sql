-- +goose Up
-- Writers of listings lock those first, so no deadlock takes one of them.
-- +goose StatementBegin
DO $migration$
DECLARE
    number bigint;
    bound text := substring(pg_get_constraintdef((SELECT oid FROM pg_constraint
        WHERE conname = 'listing_events_before' AND conrelid = 'listing_events'::regclass)) FROM '''([^'']*)''');
BEGIN
    PERFORM set_config('lock_timeout', '700ms', true);
    LOCK TABLE listings IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE listing_events IN ACCESS EXCLUSIVE MODE;

    number := nextval(pg_get_serial_sequence('listing_events', 'id'));
    ALTER TABLE listing_events ALTER id DROP IDENTITY, DROP CONSTRAINT listing_events_pkey;
    ALTER TABLE listing_events ADD CONSTRAINT listing_events_before_pkey PRIMARY KEY USING INDEX listing_events_key;
    ALTER INDEX listing_events_listing RENAME TO listing_events_before_listing;
    DROP INDEX listing_events_created;
    DROP TRIGGER saved_enqueue ON listing_events;
    ALTER TABLE listing_events RENAME TO listing_events_before;

    CREATE TABLE listing_events (
        LIKE listing_events_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION,
        PRIMARY KEY (id, at),
        FOREIGN KEY (listing_id) REFERENCES listings ON DELETE CASCADE
    ) PARTITION BY RANGE (at);
    ALTER TABLE listing_events DROP CONSTRAINT listing_events_before;
    EXECUTE format('ALTER TABLE listing_events ALTER id ADD GENERATED ALWAYS AS IDENTITY
        (SEQUENCE NAME listing_events_id_seq START WITH %s)', number);
    CREATE INDEX listing_events_listing ON listing_events (listing_id, id);
    CREATE UNIQUE INDEX listing_events_created ON listing_events (listing_id, revision, new_rent_cents, at)
        NULLS NOT DISTINCT WHERE kind = 'created';
    CREATE TRIGGER saved_enqueue AFTER INSERT ON listing_events FOR EACH ROW
        WHEN (NEW.kind <> 'status' OR NEW.old_status = 'archived' AND NEW.new_status = 'active')
        EXECUTE FUNCTION saved_enqueue();
    PERFORM partition_grant('listing_events_before', 'listing_events');
    EXECUTE format('ALTER TABLE listing_events ATTACH PARTITION listing_events_before FOR VALUES FROM (MINVALUE) TO (%L)',
        bound);
    ALTER TABLE listing_events_before DROP CONSTRAINT listing_events_before;
    PERFORM partition_add('listing_events', 'listing_events_default', NULL, NULL);
END $migration$;
-- +goose StatementEnd

-- A step that runs twice writes its history once. The index says so only of one moment; but the listing, whose row its
-- writer holds, was published when the first was written. So what is written at that moment is the first, and costs no
-- look into the months; anything else is looked for from there on.
-- +goose StatementBegin
CREATE FUNCTION listing_event_once() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    since timestamptz := (SELECT l.published_at FROM listings l WHERE l.id = NEW.listing_id);
BEGIN
    IF NEW.at <> since AND EXISTS (
        SELECT FROM listing_events e WHERE e.listing_id = NEW.listing_id AND e.revision = NEW.revision
            AND e.kind = 'created' AND e.new_rent_cents IS NOT DISTINCT FROM NEW.new_rent_cents
            AND e.at >= since AND e.at <= greatest(NEW.at, since) + interval '1 day')
    THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER listing_event_once BEFORE INSERT ON listing_events FOR EACH ROW
    WHEN (NEW.kind = 'created') EXECUTE FUNCTION listing_event_once();

-- +goose Down
-- +goose StatementBegin
DO $migration$
DECLARE
    number bigint;
BEGIN
    LOCK TABLE listings IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE listing_events IN ACCESS EXCLUSIVE MODE;
    number := nextval(pg_get_serial_sequence('listing_events', 'id'));
    ALTER TABLE listing_events RENAME TO listing_events_parts;
    ALTER SEQUENCE listing_events_id_seq RENAME TO listing_events_parts_id_seq;
    CREATE TABLE listing_events (LIKE listing_events_parts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
    PERFORM partition_grant('listing_events_parts', 'listing_events');
    INSERT INTO listing_events SELECT * FROM listing_events_parts;
    DROP TABLE listing_events_parts;
    EXECUTE format('ALTER TABLE listing_events ALTER id ADD GENERATED ALWAYS AS IDENTITY
        (SEQUENCE NAME listing_events_id_seq START WITH %s)', number);
    ALTER TABLE listing_events ADD PRIMARY KEY (id),
        ADD FOREIGN KEY (listing_id) REFERENCES listings ON DELETE CASCADE,
        ADD CONSTRAINT listing_events_before CHECK (at < 'infinity');
    CREATE UNIQUE INDEX listing_events_key ON listing_events (id, at);
    CREATE INDEX listing_events_listing ON listing_events (listing_id, id);
    CREATE UNIQUE INDEX listing_events_created ON listing_events (listing_id, revision, new_rent_cents)
        NULLS NOT DISTINCT WHERE kind = 'created';
    CREATE TRIGGER saved_enqueue AFTER INSERT ON listing_events FOR EACH ROW
        WHEN (NEW.kind <> 'status' OR NEW.old_status = 'archived' AND NEW.new_status = 'active')
        EXECUTE FUNCTION saved_enqueue();
END $migration$;
-- +goose StatementEnd
DROP FUNCTION listing_event_once();
