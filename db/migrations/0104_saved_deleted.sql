-- +goose Up
-- When a search was deleted: nobody sees it from then on, and retention empties it. Releases before this one see it as
-- paused, its targets as stopped.
ALTER TABLE saved_searches ADD COLUMN deleted_at timestamptz;

-- +goose Down
SELECT set_config('conveyor.tenant', '*', true); -- of all tenants
DELETE FROM saved_searches WHERE deleted_at IS NOT NULL;
ALTER TABLE saved_searches DROP COLUMN deleted_at;
