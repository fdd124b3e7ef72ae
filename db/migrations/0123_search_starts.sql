-- +goose Up
-- The first term of each 16th block of the segment, ascending, from that of the first one on; null = not known: there
-- are none, or a process that does not know this column wrote the segment.
ALTER TABLE search_segments ADD COLUMN starts text[] COLLATE "C";

-- +goose Down
ALTER TABLE search_segments DROP COLUMN starts;
