-- +goose Up
-- Writers of adverts lock those first, so no deadlock takes one of them.
-- +goose StatementBegin
DO $migration$
DECLARE
    bound text := substring(pg_get_constraintdef((SELECT oid FROM pg_constraint
        WHERE conname = 'raw_listing_revisions_before' AND conrelid = 'raw_listing_revisions'::regclass))
        FROM '''([^'']*)''');
BEGIN
    PERFORM set_config('lock_timeout', '700ms', true);
    LOCK TABLE raw_listings IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE raw_listing_revisions IN ACCESS EXCLUSIVE MODE;

    ALTER TABLE raw_listing_revisions DROP CONSTRAINT raw_listing_revisions_pkey;
    ALTER TABLE raw_listing_revisions
        ADD CONSTRAINT raw_listing_revisions_before_pkey PRIMARY KEY USING INDEX raw_listing_revisions_key;
    ALTER TABLE raw_listing_revisions RENAME TO raw_listing_revisions_before;

    CREATE TABLE raw_listing_revisions (
        LIKE raw_listing_revisions_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION,
        PRIMARY KEY (listing_id, revision, received_at),
        FOREIGN KEY (listing_id) REFERENCES raw_listings ON DELETE CASCADE
    ) PARTITION BY RANGE (received_at);
    ALTER TABLE raw_listing_revisions DROP CONSTRAINT raw_listing_revisions_before;
    PERFORM partition_grant('raw_listing_revisions_before', 'raw_listing_revisions');
    EXECUTE format('ALTER TABLE raw_listing_revisions ATTACH PARTITION raw_listing_revisions_before
        FOR VALUES FROM (MINVALUE) TO (%L)', bound);
    ALTER TABLE raw_listing_revisions_before DROP CONSTRAINT raw_listing_revisions_before;
    PERFORM partition_add('raw_listing_revisions', 'raw_listing_revisions_default', NULL, NULL);
END $migration$;
-- +goose StatementEnd

-- A revision has the time at which its advert got it, so the key tells it from a repetition. A payload that came too late
-- to be one (its number is negative) may come twice at once, to two writers who wait for each other at the advert's row.
-- +goose StatementBegin
CREATE FUNCTION raw_listing_revision_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM raw_listing_revisions v WHERE v.listing_id = NEW.listing_id AND v.revision = NEW.revision) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER raw_listing_revision_once BEFORE INSERT ON raw_listing_revisions FOR EACH ROW
    WHEN (NEW.revision < 0) EXECUTE FUNCTION raw_listing_revision_once();

-- +goose Down
-- +goose StatementBegin
DO $migration$
BEGIN
    LOCK TABLE raw_listings IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE raw_listing_revisions IN ACCESS EXCLUSIVE MODE;
    ALTER TABLE raw_listing_revisions RENAME TO raw_listing_revisions_parts;
    CREATE TABLE raw_listing_revisions (LIKE raw_listing_revisions_parts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
    PERFORM partition_grant('raw_listing_revisions_parts', 'raw_listing_revisions');
    INSERT INTO raw_listing_revisions SELECT * FROM raw_listing_revisions_parts;
    DROP TABLE raw_listing_revisions_parts;
    ALTER TABLE raw_listing_revisions ADD PRIMARY KEY (listing_id, revision),
        ADD FOREIGN KEY (listing_id) REFERENCES raw_listings ON DELETE CASCADE,
        ADD CONSTRAINT raw_listing_revisions_before CHECK (received_at < 'infinity');
    CREATE UNIQUE INDEX raw_listing_revisions_key ON raw_listing_revisions (listing_id, revision, received_at);
END $migration$;
-- +goose StatementEnd
DROP FUNCTION raw_listing_revision_once();
