-- +goose Up
-- What people did: written in the transaction of the change where there is one.
CREATE TABLE audit (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text        NOT NULL, -- name of the API key, subject of the token, or anonymous
    action  text        NOT NULL, -- noun.past-tense: dead_letter.replayed
    subject text        NOT NULL, -- what it was done to: dead-letter/12, replay/<uuid>
    detail  jsonb       NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_subject ON audit (subject, id);

-- +goose Down
DROP TABLE audit;
