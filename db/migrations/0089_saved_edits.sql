-- +goose Up
-- An advert that is edited may come to meet a search. Its row in the queue has the next number of listing_events, and
-- no event: a matcher of the release before takes it from the queue and tells nothing.
ALTER TABLE saved_queue
    ADD COLUMN listing uuid,     -- that was edited; NULL = the row is of an event
    ADD COLUMN at timestamptz,
    ADD COLUMN before jsonb;     -- saved.Listing; NULL = it had no picture, and was as it is now

-- Inserting events needs no privilege on the sequence of their column; taking numbers from it does.
-- +goose StatementBegin
DO $migration$
DECLARE
    holder text;
BEGIN
    FOR holder IN
        SELECT a.grantee::regrole::text FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.oid = 'listing_events'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT USAGE ON SEQUENCE listing_events_id_seq TO %s', holder);
    END LOOP;
END $migration$;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE saved_queue DROP COLUMN before, DROP COLUMN at, DROP COLUMN listing;
