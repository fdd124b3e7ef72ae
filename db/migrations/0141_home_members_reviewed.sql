-- +goose NO TRANSACTION
-- +goose Up
-- Adverts of which persons have said something are few among those of all homes.
CREATE INDEX CONCURRENTLY IF NOT EXISTS home_members_reviewed ON home_members (home_id) WHERE reviewed_by <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS home_members_reviewed;
