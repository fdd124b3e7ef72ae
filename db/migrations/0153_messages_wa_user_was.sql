-- +goose Up
-- What WhatsApp called the recipient before wa_user: messages of that time may come after what tells of the change.
ALTER TABLE messages ADD COLUMN wa_user_was text;

-- +goose Down
ALTER TABLE messages DROP COLUMN wa_user_was;
