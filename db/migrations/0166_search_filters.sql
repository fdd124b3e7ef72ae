-- +goose Up
-- A Bloom filter of the terms of the segment; null = not known: there are none, or a process that does not know this
-- column wrote the segment.
ALTER TABLE search_segments ADD COLUMN filter bytea;

-- +goose Down
ALTER TABLE search_segments DROP COLUMN filter;
