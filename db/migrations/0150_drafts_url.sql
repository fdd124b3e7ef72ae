-- +goose NO TRANSACTION
-- +goose Up
-- Drafts by their address: the host alone does not tell one of a shop that has many. Addresses may be longer than an
-- entry of a B-tree.
CREATE INDEX CONCURRENTLY IF NOT EXISTS product_drafts_url ON product_drafts USING hash (url);
CREATE INDEX CONCURRENTLY IF NOT EXISTS product_drafts_final_url ON product_drafts USING hash (final_url);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS product_drafts_url;
DROP INDEX CONCURRENTLY IF EXISTS product_drafts_final_url;
