-- +goose Up
-- The key of this installation by which opt_outs and opt_ins are hashed, sealed. A digest of 32 bytes in them is the
-- HMAC-SHA256 of one of 16 bytes, which contacts and messages have; while there is no row here, there is none.
CREATE TABLE opt_out_key (
    id      uuid  PRIMARY KEY, -- one
    box_key text  NOT NULL,    -- ID of the key in CONVEYOR_SECRET_KEYS
    box     bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now() -- for a minute after it nothing is hashed: all processes look it up first
);

-- +goose Down
DROP TABLE opt_out_key;
