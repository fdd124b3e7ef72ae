-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS draft_requests_newest
    ON draft_requests (requested_at DESC, event_id DESC); -- for GET /crawl-requests

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS draft_requests_newest;
