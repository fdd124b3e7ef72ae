-- +goose Up
-- Where an action came from. Empty: not by a request, or before this migration.
ALTER TABLE audit
    ADD COLUMN remote     text NOT NULL DEFAULT '', -- address of the caller
    ADD COLUMN request_id text NOT NULL DEFAULT '', -- X-Request-Id of the response
    ADD COLUMN key_id     text NOT NULL DEFAULT ''; -- id of the API key: two keys of one name differ in it

-- The audit is added to. Rows are never changed, and never deleted in their first 90 days, by no role.
-- +goose StatementBegin
CREATE FUNCTION audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '90 days' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_guard BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_guard();
CREATE TRIGGER audit_keep BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_guard();

-- audit_expire deletes up to most rows that are older than before, and than 90 days, the oldest first, and returns how
-- many. It runs as the owner of the table, so that the role of the application needs no right to delete. Its
-- search_path is the schema of this migration alone.
-- +goose StatementBegin
DO $migration$
BEGIN
    EXECUTE format($make$
        CREATE FUNCTION audit_expire(before timestamptz, most integer) RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, %1$I, pg_temp AS $body$
        DECLARE
            expired integer;
        BEGIN
            DELETE FROM %1$I.audit WHERE id IN (
                SELECT a.id FROM %1$I.audit a WHERE a.at < least(before, now() - interval '90 days')
                ORDER BY a.at, a.id LIMIT greatest(most, 0)
            );
            GET DIAGNOSTICS expired = ROW_COUNT;
            RETURN expired;
        END $body$
    $make$, current_schema());
END $migration$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION audit_expire(timestamptz, integer);
DROP TRIGGER audit_keep ON audit;
DROP TRIGGER audit_guard ON audit;
DROP FUNCTION audit_guard();
ALTER TABLE audit DROP COLUMN remote, DROP COLUMN request_id, DROP COLUMN key_id;
