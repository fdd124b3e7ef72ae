-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE listing_events VALIDATE CONSTRAINT listing_events_before;
ALTER TABLE audit VALIDATE CONSTRAINT audit_before;
ALTER TABLE raw_listing_revisions VALIDATE CONSTRAINT raw_listing_revisions_before;

-- The key of a partitioned table holds what it is partitioned by.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS listing_events_key ON listing_events (id, at);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS listing_events_before_created
    ON listing_events (listing_id, revision, new_rent_cents, at) NULLS NOT DISTINCT WHERE kind = 'created';
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS audit_key ON audit (id, at);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS raw_listing_revisions_key
    ON raw_listing_revisions (listing_id, revision, received_at);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS raw_listing_revisions_key;
DROP INDEX CONCURRENTLY IF EXISTS audit_key;
DROP INDEX CONCURRENTLY IF EXISTS listing_events_before_created;
DROP INDEX CONCURRENTLY IF EXISTS listing_events_key;
