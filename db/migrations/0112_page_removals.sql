-- +goose Up
-- Addresses whose pages a crawl found to be gone, or not to be indexed: no version of theirs that was crawled before
-- comes back, however late its message is.
CREATE TABLE page_removals (
    url_key    uuid        PRIMARY KEY, -- as in pages
    removed_at timestamptz NOT NULL, -- when it was crawled
    stored_at  timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- +goose Down
DROP TABLE page_removals;
