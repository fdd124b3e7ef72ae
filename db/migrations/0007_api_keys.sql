-- +goose Up
-- Who may call the API. Rows are never deleted: a name in the audit means one key for ever, and a house that ever had a
-- key goes on asking for one.
CREATE TABLE api_keys (
    id           text        PRIMARY KEY CHECK (id ~ '^[a-z2-7]{8}$'), -- part of the key, no secret
    name         text        NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    role         text        NOT NULL CHECK (role IN ('read', 'operate', 'admin')),
    sum          bytea       NOT NULL UNIQUE CHECK (length(sum) = 32), -- SHA-256 of the whole key
    created_at   timestamptz NOT NULL,
    created_by   text        NOT NULL,
    expires_at   timestamptz CHECK (expires_at > created_at),
    revoked_at   timestamptz,
    last_used_at timestamptz -- to the minute or so
);

-- +goose Down
DROP TABLE api_keys;
