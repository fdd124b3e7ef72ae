-- +goose Up

-- A wish for a draft that came in by REST: what is answered before the draft is there. Its message is in the outbox.
CREATE TABLE crawl_requests (
    event_id     uuid        PRIMARY KEY,
    url          text        NOT NULL,
    out_dir      text        NOT NULL, -- as asked for; '' = out
    requested_by text        NOT NULL, -- caller of the API
    requested_at timestamptz NOT NULL
);

-- One row a crawl request that came to its end, good or bad.
CREATE TABLE product_drafts (
    id           uuid        PRIMARY KEY,        -- UUIDv5 of event_id
    event_id     uuid        NOT NULL UNIQUE,    -- idempotency key of the request
    url          text        NOT NULL,           -- that was asked for
    host         text        NOT NULL,           -- of url, lower case
    final_url    text,                           -- where redirects led; NULL = there was no answer
    out_dir      text        NOT NULL,           -- where the files are, on the worker
    outcome      text        NOT NULL CHECK (outcome IN ('succeeded', 'failed')),
    class        text        NOT NULL DEFAULT '', -- fault class of a failure
    error        text        NOT NULL DEFAULT '', -- why it failed
    http_status  int,
    name         text,
    brand        text,
    price        numeric     CHECK (price >= 0),
    currency     text,
    availability text,
    sku          text,
    gtin         text,
    mpn          text,
    document     jsonb,                          -- draft.json: every value with source and confidence
    files        jsonb       NOT NULL DEFAULT '[]', -- [{name, key, sha256, bytes}] in the blob store
    crawled_at   timestamptz NOT NULL,
    took_ms      bigint      NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);
CREATE INDEX product_drafts_newest  ON product_drafts (created_at DESC, id DESC);
CREATE INDEX product_drafts_outcome ON product_drafts (outcome, created_at DESC, id DESC);
CREATE INDEX product_drafts_host    ON product_drafts (host, created_at DESC, id DESC);
CREATE INDEX product_drafts_gtin    ON product_drafts (gtin, created_at DESC, id DESC) WHERE gtin IS NOT NULL;
CREATE INDEX product_drafts_sku     ON product_drafts (sku, created_at DESC, id DESC) WHERE sku IS NOT NULL;
CREATE INDEX product_drafts_mpn     ON product_drafts (mpn, created_at DESC, id DESC) WHERE mpn IS NOT NULL;
CREATE INDEX product_drafts_brand   ON product_drafts (lower(brand), created_at DESC, id DESC) WHERE brand IS NOT NULL;
CREATE INDEX dead_letters_message   ON dead_letters (message_id) WHERE message_id <> '';

-- +goose Down
DROP INDEX dead_letters_message;
DROP TABLE product_drafts;
DROP TABLE crawl_requests;
