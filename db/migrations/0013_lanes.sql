-- +goose Up
-- The outbox is published in turns, a lane each: a platform, or a kind of message. It never was a tenant's.
ALTER TABLE outbox RENAME COLUMN tenant TO lane;
-- The AMQP property "type" of the message.
ALTER TABLE outbox ADD COLUMN type text NOT NULL DEFAULT '';
UPDATE outbox SET type = 'crawler/url.requested' WHERE lane = 'drafts' AND published_at IS NULL;

-- A crawl is something else: these are requests for product drafts.
ALTER TABLE crawl_requests RENAME TO draft_requests;

-- An advert that came normalized, by the message of a later stage, has no raw form to normalize. The door knows which.
ALTER TABLE raw_listings ADD COLUMN staged boolean NOT NULL DEFAULT false;
UPDATE raw_listings SET staged = true WHERE payload ? 'listing' AND NOT payload ? 'title';

-- +goose Down
ALTER TABLE raw_listings DROP COLUMN staged;
ALTER TABLE draft_requests RENAME TO crawl_requests;
ALTER TABLE outbox DROP COLUMN type;
ALTER TABLE outbox RENAME COLUMN lane TO tenant;
