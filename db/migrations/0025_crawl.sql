-- +goose Up
-- The runs of the crawler. Whoever writes results of a run updates its row first, so seq and the counts are in the order
-- of commits.
CREATE TABLE crawl_runs (
    id                  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seed_url            text        NOT NULL, -- as given
    normalized_seed_url text        NOT NULL,
    root_url            text        NOT NULL, -- the same
    allowed_hosts       text[]      NOT NULL,
    run_config          jsonb       NOT NULL,
    base_run_id         bigint, -- whose validators and links a conditional run uses
    status              text        NOT NULL CHECK (status IN ('RUNNING', 'PAUSED', 'COMPLETED', 'CANCELLED')),
    seq                 bigint      NOT NULL DEFAULT 0, -- that of the last change to its URLs
    discovered          bigint      NOT NULL DEFAULT 0, -- its URLs, those skipped included
    admitted            bigint      NOT NULL DEFAULT 0, -- of those, the ones that may be requested: at most maxPages
    dropped             bigint      NOT NULL DEFAULT 0, -- links that were not stored: too many are beyond the limits
    visited             bigint      NOT NULL DEFAULT 0,
    redirect_301        bigint      NOT NULL DEFAULT 0,
    forbidden           bigint      NOT NULL DEFAULT 0,
    not_found           bigint      NOT NULL DEFAULT 0,
    http_terminal       bigint      NOT NULL DEFAULT 0,
    failed              bigint      NOT NULL DEFAULT 0,
    skipped             bigint      NOT NULL DEFAULT 0,
    fetches             bigint      NOT NULL DEFAULT 0,
    retries             bigint      NOT NULL DEFAULT 0,
    lost_leases         bigint      NOT NULL DEFAULT 0,
    edges               bigint      NOT NULL DEFAULT 0,
    bytes               bigint      NOT NULL DEFAULT 0,
    stable_empty        int         NOT NULL DEFAULT 0, -- consecutive looks at an empty frontier
    created_by          text        NOT NULL DEFAULT '',
    request_key         uuid, -- of the request that made it, so that a repeated one makes no other
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    finished_at         timestamptz
);
CREATE UNIQUE INDEX crawl_runs_request ON crawl_runs (request_key) WHERE request_key IS NOT NULL;
CREATE INDEX crawl_runs_seed ON crawl_runs (normalized_seed_url, id) WHERE status = 'COMPLETED';
CREATE INDEX crawl_runs_open ON crawl_runs (id) WHERE status IN ('RUNNING', 'PAUSED');
CREATE INDEX crawl_runs_finished ON crawl_runs (finished_at, id) WHERE finished_at IS NOT NULL;

-- The frontier: each URL of each run once.
CREATE TABLE crawl_urls (
    run_id                 bigint      NOT NULL REFERENCES crawl_runs ON DELETE CASCADE,
    id                     bigint      GENERATED ALWAYS AS IDENTITY,
    url_key                uuid        NOT NULL, -- the first 16 bytes of the SHA-256 of normalized_url
    seq                    bigint      NOT NULL, -- that of its last change: new ones and those that are finished
    discovered_from_url_id bigint, -- null for the seed and what sitemaps list
    depth                  int         NOT NULL, -- links from the seed, by the shortest way known
    tries                  int         NOT NULL DEFAULT 0, -- times it was requested
    retry_count            int         NOT NULL DEFAULT 0,
    lost_leases            int         NOT NULL DEFAULT 0,
    lease                  bigint      NOT NULL DEFAULT 0, -- counts its claims
    http_status            int,
    links                  int, -- addresses in scope on the page
    took_ms                int,
    content_length         bigint,
    due_at                 timestamptz, -- queued, but not to be tried before; null = now
    claimed_at             timestamptz,
    lease_until            timestamptz,
    visited_at             timestamptz, -- when it came to its final state by a request
    created_at             timestamptz NOT NULL,
    updated_at             timestamptz NOT NULL,
    status                 text        NOT NULL,
    reason                 text, -- of SKIPPED
    host                   text        NOT NULL,
    normalized_url         text        NOT NULL,
    raw_url                text, -- as written on the page; null = as normalized_url
    claimed_by_worker      text,
    content_type           text,
    etag                   text,
    last_modified          text,
    redirect_to            text,
    error                  text,
    error_class            text,
    title                  text,
    body_key               text,
    spread                 boolean     NOT NULL DEFAULT false, -- its depth shrank, and those of its links may follow
    PRIMARY KEY (run_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- What is known of earlier runs says that a new one has no URLs, until the next analyze: each index that begins with
-- run_id would look as good as the one that finds the row. Without statistics a run is a part of the table.
ALTER TABLE crawl_urls ALTER COLUMN run_id SET STATISTICS 0;
CREATE UNIQUE INDEX crawl_urls_key ON crawl_urls (run_id, url_key);
CREATE INDEX crawl_urls_seq ON crawl_urls (run_id, seq, id);
CREATE INDEX crawl_urls_due ON crawl_urls (run_id, host, depth, id) WHERE status = 'QUEUED' AND due_at IS NULL;
CREATE INDEX crawl_urls_later ON crawl_urls (run_id, due_at) WHERE status = 'QUEUED' AND due_at IS NOT NULL;
CREATE INDEX crawl_urls_leased ON crawl_urls (run_id, lease_until) WHERE status = 'IN_PROGRESS';
CREATE INDEX crawl_urls_spread ON crawl_urls (run_id) WHERE spread;
CREATE INDEX crawl_urls_skipped ON crawl_urls (run_id, reason) WHERE status = 'SKIPPED';
CREATE INDEX crawl_urls_body ON crawl_urls (body_key) WHERE body_key IS NOT NULL;
CREATE INDEX crawl_urls_broken ON crawl_urls (run_id, id)
    WHERE status IN ('FORBIDDEN', 'NOT_FOUND', 'HTTP_TERMINAL', 'FAILED');

-- Every link between two URLs of a run: a row a page, with each target once.
CREATE TABLE crawl_links (
    run_id  bigint   NOT NULL REFERENCES crawl_runs ON DELETE CASCADE,
    from_id bigint   NOT NULL,
    to_ids  bigint[] NOT NULL,
    PRIMARY KEY (run_id, from_id)
);

-- Requests that were to be tried again. The last one of a URL is in its row.
CREATE TABLE crawl_tries (
    run_id      bigint      NOT NULL REFERENCES crawl_runs ON DELETE CASCADE,
    url_id      bigint      NOT NULL,
    try         int         NOT NULL, -- from 1
    at          timestamptz NOT NULL,
    worker      text        NOT NULL,
    http_status int,
    error       text,
    error_class text,
    took_ms     int,
    PRIMARY KEY (run_id, url_id, try)
);

-- The pace of a run, by slices of ten seconds.
CREATE TABLE crawl_rates (
    run_id   bigint      NOT NULL REFERENCES crawl_runs ON DELETE CASCADE,
    at       timestamptz NOT NULL, -- the beginning of the slice
    fetches  bigint      NOT NULL,
    finished bigint      NOT NULL,
    failed   bigint      NOT NULL, -- of those finished: broken
    bytes    bigint      NOT NULL,
    took_ms  bigint      NOT NULL, -- of all fetches together
    PRIMARY KEY (run_id, at)
);

-- +goose Down
DROP TABLE crawl_rates, crawl_tries, crawl_links, crawl_urls, crawl_runs;
