-- +goose Up
-- When the deletion of a list began: it is there for nobody from then on, and its members are deleted in batches.
-- Releases before this one show it by the name that it has since, its ID.
ALTER TABLE contact_lists ADD COLUMN deleted_at timestamptz;

-- +goose Down
SELECT set_config('conveyor.tenant', '*', true); -- of all tenants
DELETE FROM contact_list_members WHERE list IN (SELECT id FROM contact_lists WHERE deleted_at IS NOT NULL);
DELETE FROM contact_lists WHERE deleted_at IS NOT NULL;
ALTER TABLE contact_lists DROP COLUMN deleted_at;
