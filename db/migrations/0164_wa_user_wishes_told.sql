-- +goose Up
-- A wish may be much older than the delivery that tells it, as in the chats that a number brings along. It is kept as
-- long as that delivery is.
ALTER TABLE wa_user_wishes ADD COLUMN told_at timestamptz NOT NULL DEFAULT now();

-- +goose Down
ALTER TABLE wa_user_wishes DROP COLUMN told_at;
