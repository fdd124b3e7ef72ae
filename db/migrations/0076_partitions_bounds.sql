-- +goose NO TRANSACTION
-- +goose Up
-- One table is locked at a time. Until the tables are partitioned, which is minutes, a row from beyond is refused.
SELECT partition_bound('listing_events', 'at');
SELECT partition_bound('audit', 'at');
SELECT partition_bound('raw_listing_revisions', 'received_at');

-- +goose Down
ALTER TABLE raw_listing_revisions DROP CONSTRAINT IF EXISTS raw_listing_revisions_before;
ALTER TABLE audit DROP CONSTRAINT IF EXISTS audit_before;
ALTER TABLE listing_events DROP CONSTRAINT IF EXISTS listing_events_before;
