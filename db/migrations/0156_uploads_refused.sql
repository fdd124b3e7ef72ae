-- +goose Up

-- Of the rows of an upload that were refused: how many are counted only, and what is kept of the others, in bytes, which
-- counts for the max_bytes of its tenant. Those of a version before count nothing.
ALTER TABLE uploads ADD COLUMN unlisted bigint NOT NULL DEFAULT 0, ADD COLUMN refused_bytes bigint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE uploads DROP COLUMN refused_bytes, DROP COLUMN unlisted;
