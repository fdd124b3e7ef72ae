-- +goose Up
-- Functions that run as the owner of the tables delete history, and Postgres lets every role call a new function. Only
-- the roles of the application, which are those that may delete from the outbox, go on to call them.
-- +goose StatementBegin
DO $migration$
DECLARE
    f regprocedure;
    holder text;
BEGIN
    FOR f IN SELECT oid FROM pg_proc
        WHERE prosecdef AND pronamespace = current_schema()::regnamespace AND proname IN (
            'audit_expire', 'partitions_make', 'partitions_analyze', 'partitions_expire', 'partitions_state',
            'crawl_partitions_make', 'crawl_partitions_analyze', 'crawl_partitions_expire', 'crawl_partitions_state')
    LOOP
        FOR holder IN
            SELECT a.grantee::regrole::text FROM pg_class c, aclexplode(c.relacl) a
            WHERE c.oid = 'outbox'::regclass AND a.privilege_type = 'DELETE' AND a.grantee NOT IN (0, c.relowner)
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', f, holder);
        END LOOP;
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END $migration$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $migration$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT oid FROM pg_proc
        WHERE prosecdef AND pronamespace = current_schema()::regnamespace AND proname IN (
            'audit_expire', 'partitions_make', 'partitions_analyze', 'partitions_expire', 'partitions_state',
            'crawl_partitions_make', 'crawl_partitions_analyze', 'crawl_partitions_expire', 'crawl_partitions_state')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f);
    END LOOP;
END $migration$;
-- +goose StatementEnd
