-- +goose NO TRANSACTION
-- +goose Up
-- Those that are not hashed by the key.
CREATE INDEX CONCURRENTLY IF NOT EXISTS opt_outs_plain ON opt_outs (tenant, digest) WHERE octet_length(digest) = 16;
CREATE INDEX CONCURRENTLY IF NOT EXISTS opt_ins_plain ON opt_ins (tenant, digest) WHERE octet_length(digest) = 16;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS opt_ins_plain;
DROP INDEX CONCURRENTLY IF EXISTS opt_outs_plain;
