-- +goose Up
-- Sessions of browsers. What a session may do is asked of its key at each request, so revoking the key ends it.
CREATE TABLE sessions (
    sum        bytea       PRIMARY KEY CHECK (length(sum) = 32), -- SHA-256 of what the cookie holds
    id         uuid        NOT NULL,                             -- its name in the audit; no secret
    caller     text        NOT NULL,
    key_id     text        NOT NULL,                             -- of the API key that opened it; '' = a person, by OIDC
    key_sum    bytea       NOT NULL,                             -- SHA-256 of that key; empty without one
    role       text        NOT NULL CHECK (role IN ('', 'read', 'operate', 'admin')), -- of a person; '' = that of the key
    created_at timestamptz NOT NULL,
    used_at    timestamptz NOT NULL,                             -- to about a minute
    ends_at    timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sessions_ends ON sessions (ends_at);

-- +goose Down
DROP TABLE sessions;
