-- +goose Up
-- All that is remembered was shown by the one search that there was. What workers of the release before see from here on
-- has a sighting as soon as a search page shows it again.
INSERT INTO platform_sightings (platform, platform_id, search, seen_cycle, missed)
SELECT platform, platform_id, 'default', seen_cycle, missed FROM platform_adverts
ON CONFLICT DO NOTHING;

-- +goose Down
SELECT 1;
