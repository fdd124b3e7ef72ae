-- +goose Up
-- The tenant that a person is of, who logged in by OIDC; '' = none, or the session is of a key, which has its own.
ALTER TABLE sessions ADD COLUMN caller_tenant text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sessions DROP COLUMN caller_tenant;
