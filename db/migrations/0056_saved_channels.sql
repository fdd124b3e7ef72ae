-- +goose Up
-- Saved searches tell their news by e-mail and Telegram, too. An e-mail address is told nothing until its owner has
-- confirmed it: a delivery that confirms asks for that, and has no items.
ALTER TABLE saved_searches
    ADD COLUMN language text NOT NULL DEFAULT 'en', -- of what is written to persons
    ADD CONSTRAINT saved_searches_language CHECK (language IN ('en', 'fr')) NOT VALID;
ALTER TABLE saved_targets
    ADD COLUMN state  text NOT NULL DEFAULT 'active',
    ADD COLUMN reason text NOT NULL DEFAULT '', -- why it is stopped
    ADD CONSTRAINT saved_targets_state CHECK (state IN ('active', 'unconfirmed', 'stopped')) NOT VALID,
    ADD CONSTRAINT saved_targets_channel CHECK (kind IN ('webhook', 'feed', 'email', 'telegram')) NOT VALID,
    DROP CONSTRAINT saved_targets_kind_check;
ALTER TABLE saved_deliveries ADD COLUMN confirms boolean NOT NULL DEFAULT false;

-- +goose Down
SELECT set_config('conveyor.tenant', '*', true); -- of all tenants
DELETE FROM saved_targets WHERE kind IN ('email', 'telegram');
ALTER TABLE saved_deliveries DROP COLUMN confirms;
ALTER TABLE saved_targets
    ADD CONSTRAINT saved_targets_kind_check CHECK (kind IN ('webhook', 'feed')),
    DROP CONSTRAINT saved_targets_channel,
    DROP COLUMN reason,
    DROP COLUMN state;
ALTER TABLE saved_searches DROP COLUMN language;
