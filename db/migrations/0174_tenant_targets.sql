-- +goose Up
-- What a tenant may keep, as in 0100_tenant_quotas.sql; NULL = no limit. Until now they were bounds of all tenants.
ALTER TABLE tenants
    ADD COLUMN max_targets    bigint DEFAULT 2000, -- of all its saved searches, each of which has ten at most
    ADD COLUMN max_conditions bigint DEFAULT 200;  -- of one audience, those of its segments included

-- A tenant that may have more searches than usual may go on to have ten targets of each.
SELECT set_config('conveyor.tenant', '*', true); -- of all tenants
UPDATE tenants SET max_targets = CASE WHEN max_searches < 1000000000000 THEN 10 * max_searches END
WHERE id IN (SELECT id FROM tenants WHERE max_searches IS NULL OR max_searches > 200 ORDER BY id LIMIT 10000);

-- +goose Down
ALTER TABLE tenants DROP COLUMN max_conditions, DROP COLUMN max_targets;
