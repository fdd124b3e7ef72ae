-- +goose NO TRANSACTION
-- +goose Up
-- A price may return to what it was at one revision, when rules are changed and changed back. As for a change of
-- status, the state before says whether it is new; only the creation needs an index for that.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS listing_events_created
    ON listing_events (listing_id, revision, new_rent_cents) NULLS NOT DISTINCT WHERE kind = 'created';
DROP INDEX CONCURRENTLY IF EXISTS listing_events_once;

-- +goose Down
-- The index of before cannot be built again once a price has returned at one revision.
DROP INDEX CONCURRENTLY IF EXISTS listing_events_created;
