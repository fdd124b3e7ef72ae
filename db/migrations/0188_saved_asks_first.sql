-- +goose NO TRANSACTION
-- +goose Up
-- Questions to confirm an address are begun before news.
CREATE INDEX CONCURRENTLY IF NOT EXISTS saved_deliveries_asks ON saved_deliveries (tenant, due_at) WHERE state = 'waiting' AND confirms;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS saved_deliveries_asks;
