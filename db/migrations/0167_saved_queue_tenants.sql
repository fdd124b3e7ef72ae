-- +goose Up
-- What of one tenant cannot be told now stays in the queue for that tenant alone. A matcher of the release before takes
-- such a row for one of all tenants, to whom it tells nothing twice.
ALTER TABLE saved_queue
    ADD COLUMN tenants text[],         -- whose searches the event is compared with; NULL = all
    ADD COLUMN not_before timestamptz; -- it is not compared until then; NULL = it is due

-- +goose Down
ALTER TABLE saved_queue DROP COLUMN not_before, DROP COLUMN tenants;
