-- +goose Up
-- The chunk that has a key first, so that keys can be reserved ahead of storing the rows, and again by a repeat. Chunks
-- reserve in the order of the file. Those that are stored have reserved. The column has a new name so that a worker of
-- the release before, which would take reserved keys for duplicates, fails and is tried again on one of this release.
ALTER TABLE upload_keys RENAME COLUMN digest TO key;
ALTER TABLE upload_keys ADD COLUMN chunk int NOT NULL DEFAULT -1; -- -1 = one that was stored before this release
ALTER TABLE upload_chunks ADD COLUMN reserved boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE upload_chunks DROP COLUMN reserved;
ALTER TABLE upload_keys DROP COLUMN chunk;
ALTER TABLE upload_keys RENAME COLUMN key TO digest;
