-- +goose Up
-- Whoever writes results of a run locks that first, so no deadlock takes one of them. The foreign keys of tables
-- that become partitions change its triggers.
-- +goose StatementBegin
DO $migration$
DECLARE
    number bigint;
    parent text;
    bound text := substring(pg_get_constraintdef((SELECT oid FROM pg_constraint
        WHERE conname = 'crawl_urls_before' AND conrelid = 'crawl_urls'::regclass)) FROM '< ''?(\d+)');
BEGIN
    PERFORM set_config('lock_timeout', '700ms', true);
    LOCK TABLE crawl_runs IN ACCESS EXCLUSIVE MODE;
    LOCK TABLE crawl_urls, crawl_tries, crawl_links IN ACCESS EXCLUSIVE MODE;

    number := nextval(pg_get_serial_sequence('crawl_urls', 'id'));
    ALTER TABLE crawl_urls ALTER id DROP IDENTITY;
    ALTER INDEX crawl_urls_pkey RENAME TO crawl_urls_before_pkey;
    ALTER INDEX crawl_urls_key RENAME TO crawl_urls_before_key;
    ALTER INDEX crawl_urls_seq RENAME TO crawl_urls_before_seq;
    ALTER INDEX crawl_urls_due RENAME TO crawl_urls_before_due;
    ALTER INDEX crawl_urls_later RENAME TO crawl_urls_before_later;
    ALTER INDEX crawl_urls_leased RENAME TO crawl_urls_before_leased;
    ALTER INDEX crawl_urls_spread RENAME TO crawl_urls_before_spread;
    ALTER INDEX crawl_urls_skipped RENAME TO crawl_urls_before_skipped;
    ALTER INDEX crawl_urls_body RENAME TO crawl_urls_before_body;
    ALTER INDEX crawl_urls_broken RENAME TO crawl_urls_before_broken;
    ALTER INDEX crawl_tries_pkey RENAME TO crawl_tries_before_pkey;
    ALTER INDEX crawl_links_pkey RENAME TO crawl_links_before_pkey;
    ALTER TABLE crawl_urls RENAME TO crawl_urls_before;
    ALTER TABLE crawl_tries RENAME TO crawl_tries_before;
    ALTER TABLE crawl_links RENAME TO crawl_links_before;

    CREATE TABLE crawl_urls (
        LIKE crawl_urls_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION,
        FOREIGN KEY (run_id) REFERENCES crawl_runs ON DELETE CASCADE
    ) PARTITION BY RANGE (run_id);
    CREATE TABLE crawl_tries (
        LIKE crawl_tries_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION,
        PRIMARY KEY (run_id, url_id, try),
        FOREIGN KEY (run_id) REFERENCES crawl_runs ON DELETE CASCADE
    ) PARTITION BY RANGE (run_id);
    CREATE TABLE crawl_links (
        LIKE crawl_links_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION,
        PRIMARY KEY (run_id, from_id),
        FOREIGN KEY (run_id) REFERENCES crawl_runs ON DELETE CASCADE
    ) PARTITION BY RANGE (run_id);
    EXECUTE format('ALTER TABLE crawl_urls ALTER id ADD GENERATED ALWAYS AS IDENTITY
        (SEQUENCE NAME crawl_urls_id_seq START WITH %s)', number);
    -- As of the table: without statistics a run is a part of a partition, whatever is known of the runs before it.
    ALTER TABLE crawl_urls ALTER COLUMN run_id SET STATISTICS 0;
    CREATE INDEX crawl_urls_seq ON crawl_urls (run_id, seq, id);
    CREATE INDEX crawl_urls_due ON crawl_urls (run_id, host, depth, id) WHERE status = 'QUEUED' AND due_at IS NULL;
    CREATE INDEX crawl_urls_later ON crawl_urls (run_id, due_at) WHERE status = 'QUEUED' AND due_at IS NOT NULL;
    CREATE INDEX crawl_urls_leased ON crawl_urls (run_id, lease_until) WHERE status = 'IN_PROGRESS';
    CREATE INDEX crawl_urls_spread ON crawl_urls (run_id) WHERE spread;
    CREATE INDEX crawl_urls_skipped ON crawl_urls (run_id, reason) WHERE status = 'SKIPPED';
    CREATE INDEX crawl_urls_body ON crawl_urls (body_key) WHERE body_key IS NOT NULL;
    CREATE INDEX crawl_urls_broken ON crawl_urls (run_id, id)
        WHERE status IN ('FORBIDDEN', 'NOT_FOUND', 'HTTP_TERMINAL', 'FAILED');
    -- In a partition that is empty all indexes look as good to a plan that is kept. The last one is taken, and partitions
    -- get theirs in this order.
    CREATE UNIQUE INDEX crawl_urls_key ON crawl_urls (run_id, url_key);
    ALTER TABLE crawl_urls ADD PRIMARY KEY (run_id, id);

    FOREACH parent IN ARRAY ARRAY['crawl_urls', 'crawl_tries', 'crawl_links'] LOOP
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', parent, parent || '_before');
        PERFORM partition_grant((parent || '_before')::regclass, parent::regclass);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', parent,
            parent || '_before', bound);
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', parent || '_before', parent || '_before');
        PERFORM crawl_partition_add(parent, parent || '_default', NULL, NULL);
    END LOOP;
END $migration$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $migration$
DECLARE
    number bigint;
    parent text;
BEGIN
    LOCK TABLE crawl_runs IN ACCESS EXCLUSIVE MODE;
    LOCK TABLE crawl_urls, crawl_tries, crawl_links IN ACCESS EXCLUSIVE MODE;
    number := nextval(pg_get_serial_sequence('crawl_urls', 'id'));
    ALTER SEQUENCE crawl_urls_id_seq RENAME TO crawl_urls_parts_id_seq;
    FOREACH parent IN ARRAY ARRAY['crawl_urls', 'crawl_tries', 'crawl_links'] LOOP
        EXECUTE format('ALTER TABLE %I RENAME TO %I', parent, parent || '_parts');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', parent,
            parent || '_parts');
        PERFORM partition_grant((parent || '_parts')::regclass, parent::regclass);
        EXECUTE format('INSERT INTO %I SELECT * FROM %I', parent, parent || '_parts');
        EXECUTE format('DROP TABLE %I', parent || '_parts');
        EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (run_id) REFERENCES crawl_runs ON DELETE CASCADE,
            ADD CONSTRAINT %I CHECK (run_id < 9223372036854775807)', parent, parent || '_before');
    END LOOP;
    EXECUTE format('ALTER TABLE crawl_urls ALTER id ADD GENERATED ALWAYS AS IDENTITY
        (SEQUENCE NAME crawl_urls_id_seq START WITH %s)', number);
    ALTER TABLE crawl_urls ADD PRIMARY KEY (run_id, id);
    ALTER TABLE crawl_tries ADD PRIMARY KEY (run_id, url_id, try);
    ALTER TABLE crawl_links ADD PRIMARY KEY (run_id, from_id);
    ALTER TABLE crawl_urls SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
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
END $migration$;
-- +goose StatementEnd
