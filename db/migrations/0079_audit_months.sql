-- +goose Up
-- +goose StatementBegin
DO $migration$
DECLARE
    number bigint;
    bound text := substring(pg_get_constraintdef((SELECT oid FROM pg_constraint
        WHERE conname = 'audit_before' AND conrelid = 'audit'::regclass)) FROM '''([^'']*)''');
BEGIN
    PERFORM set_config('lock_timeout', '700ms', true);
    LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;

    number := nextval(pg_get_serial_sequence('audit', 'id'));
    ALTER TABLE audit ALTER id DROP IDENTITY, DROP CONSTRAINT audit_pkey;
    ALTER TABLE audit ADD CONSTRAINT audit_before_pkey PRIMARY KEY USING INDEX audit_key;
    ALTER INDEX audit_subject RENAME TO audit_before_subject;
    ALTER INDEX audit_at RENAME TO audit_before_at;
    ALTER INDEX audit_actor RENAME TO audit_before_actor;
    DROP TRIGGER audit_guard ON audit;
    ALTER TABLE audit RENAME TO audit_before;

    CREATE TABLE audit (
        LIKE audit_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION,
        PRIMARY KEY (id, at)
    ) PARTITION BY RANGE (at);
    ALTER TABLE audit DROP CONSTRAINT audit_before;
    EXECUTE format('ALTER TABLE audit ALTER id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME audit_id_seq START WITH %s)',
        number);
    CREATE INDEX audit_subject ON audit (subject, id);
    CREATE INDEX audit_at ON audit (at, id);
    CREATE INDEX audit_actor ON audit (actor, at, id);
    CREATE TRIGGER audit_guard BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_guard();
    CREATE TRIGGER audit_keep BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_guard();
    PERFORM partition_grant('audit_before', 'audit');
    EXECUTE format('ALTER TABLE audit ATTACH PARTITION audit_before FOR VALUES FROM (MINVALUE) TO (%L)', bound);
    ALTER TABLE audit_before DROP CONSTRAINT audit_before;
    PERFORM partition_add('audit', 'audit_default', NULL, NULL);

    -- The function of the release before: it looks at the partitions that have such rows.
    EXECUTE format($make$
        CREATE OR REPLACE FUNCTION audit_expire(before timestamptz, most integer) RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, %1$I, pg_temp AS $body$
        DECLARE
            expired integer;
        BEGIN
            DELETE FROM %1$I.audit WHERE at < least(before, now() - interval '90 days') AND id IN (
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
-- +goose StatementBegin
DO $migration$
DECLARE
    number bigint;
BEGIN
    LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;
    number := nextval(pg_get_serial_sequence('audit', 'id'));
    ALTER TABLE audit RENAME TO audit_parts;
    ALTER SEQUENCE audit_id_seq RENAME TO audit_parts_id_seq;
    CREATE TABLE audit (LIKE audit_parts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
    PERFORM partition_grant('audit_parts', 'audit');
    INSERT INTO audit SELECT * FROM audit_parts;
    DROP TABLE audit_parts;
    EXECUTE format('ALTER TABLE audit ALTER id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME audit_id_seq START WITH %s)',
        number);
    ALTER TABLE audit ADD PRIMARY KEY (id), ADD CONSTRAINT audit_before CHECK (at < 'infinity');
    CREATE UNIQUE INDEX audit_key ON audit (id, at);
    CREATE INDEX audit_subject ON audit (subject, id);
    CREATE INDEX audit_at ON audit (at, id);
    CREATE INDEX audit_actor ON audit (actor, at, id);
    CREATE TRIGGER audit_guard BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_guard();
    CREATE TRIGGER audit_keep BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_guard();
END $migration$;
-- +goose StatementEnd
