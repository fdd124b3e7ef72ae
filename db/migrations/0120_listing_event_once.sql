-- +goose Up
-- As in 0078, but that the months are named only where they are looked into. In one condition with the comparison they
-- belonged to the statement of every first event of a listing, which locks each partition and its indexes first.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listing_event_once() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    since timestamptz := (SELECT l.published_at FROM listings l WHERE l.id = NEW.listing_id);
BEGIN
    IF NEW.at <> since THEN
        IF EXISTS (
            SELECT FROM listing_events e WHERE e.listing_id = NEW.listing_id AND e.revision = NEW.revision
                AND e.kind = 'created' AND e.new_rent_cents IS NOT DISTINCT FROM NEW.new_rent_cents
                AND e.at >= since AND e.at <= greatest(NEW.at, since) + interval '1 day')
        THEN
            RETURN NULL;
        END IF;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listing_event_once() RETURNS trigger LANGUAGE plpgsql AS $$
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
