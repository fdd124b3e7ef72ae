-- +goose Up
-- A listing may return any number of times at one revision. That a step which runs twice writes its history once is
-- held by the state before, for changes of status, and by this index for the rest.
ALTER TABLE listing_events DROP CONSTRAINT listing_events_listing_id_revision_kind_new_rent_cents_new__key;
CREATE UNIQUE INDEX listing_events_once ON listing_events (listing_id, revision, kind, new_rent_cents)
    NULLS NOT DISTINCT WHERE kind <> 'status';
CREATE INDEX listing_events_listing ON listing_events (listing_id, id);

-- +goose Down
DROP INDEX listing_events_listing, listing_events_once;
ALTER TABLE listing_events ADD UNIQUE NULLS NOT DISTINCT (listing_id, revision, kind, new_rent_cents, new_status);
