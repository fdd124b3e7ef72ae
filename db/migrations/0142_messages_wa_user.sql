-- +goose Up
-- What WhatsApp calls the recipient within the business, as its reports tell: who writes may be known by nothing else.
ALTER TABLE messages ADD COLUMN wa_user text;

-- +goose Down
ALTER TABLE messages DROP COLUMN wa_user;
