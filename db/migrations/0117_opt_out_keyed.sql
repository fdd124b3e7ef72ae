-- +goose Up
-- The HMAC-SHA256 of a digest by the key of opt-outs, whose pads are the other two; null without a key. The planner puts
-- its body in its place.
CREATE FUNCTION opt_out_keyed(digest bytea, inside bytea, outside bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT sha256(outside || sha256(inside || digest)) $$;

-- +goose Down
DROP FUNCTION opt_out_keyed(bytea, bytea, bytea);
