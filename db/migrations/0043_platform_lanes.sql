-- +goose Up
-- The two lanes of a scraper: looks at the newest search pages between its other requests, and the time that a cycle
-- through all of them, with re-visits, should take.
ALTER TABLE platforms
    ADD COLUMN look_ms      bigint NOT NULL DEFAULT 0 CHECK (look_ms >= 0),  -- between two looks; 0 = there are none
    ADD COLUMN cycle_ms     bigint NOT NULL DEFAULT 0 CHECK (cycle_ms >= 0), -- that a cycle should take
    ADD COLUMN set_look_ms  bigint CHECK (set_look_ms >= 0),
    ADD COLUMN set_cycle_ms bigint CHECK (set_cycle_ms >= 0),
    ADD COLUMN looked_at    timestamptz;                                     -- page 1 was asked for

-- +goose Down
ALTER TABLE platforms DROP COLUMN look_ms, DROP COLUMN cycle_ms, DROP COLUMN set_look_ms, DROP COLUMN set_cycle_ms,
    DROP COLUMN looked_at;
