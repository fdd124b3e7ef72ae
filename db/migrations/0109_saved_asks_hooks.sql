-- +goose Up
-- Since when the server of a delivery's target could not be reached, by all tries since; NULL = the last one reached it.
-- Such tries are not counted in tries for a while.
ALTER TABLE saved_deliveries ADD COLUMN unreached_since timestamptz;

-- How many webhooks a tenant had asked since a time, about a day ago, that have not confirmed. asked is of e-mail
-- addresses; releases before this one count both there.
ALTER TABLE saved_asks ADD COLUMN hooks_since timestamptz, ADD COLUMN hooks int NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE saved_asks DROP COLUMN hooks_since, DROP COLUMN hooks;
ALTER TABLE saved_deliveries DROP COLUMN unreached_since;
