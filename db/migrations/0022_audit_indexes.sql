-- +goose NO TRANSACTION
-- +goose Up
-- The newest of all, of an actor; the oldest to expire.
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_at ON audit (at, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_actor ON audit (actor, at, id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS audit_actor;
DROP INDEX CONCURRENTLY IF EXISTS audit_at;
