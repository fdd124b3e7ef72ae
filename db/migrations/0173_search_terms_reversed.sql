-- +goose NO TRANSACTION
-- +goose Up
-- Words by their ends: a word that no page has may be the last part of a compound.
CREATE INDEX CONCURRENTLY IF NOT EXISTS search_terms_reversed ON search_terms (reverse(term));

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS search_terms_reversed;
