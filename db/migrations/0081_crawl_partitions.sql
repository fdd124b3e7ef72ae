-- +goose Up
-- The URLs of crawl runs, their links and tries are partitioned by ranges of runs, the same of all three tables. A
-- range has about as many runs as are started in a week. "<table>_before" is what the table was when it became
-- partitioned, "<table>_default" takes runs beyond the last range: no run is refused.

-- lower is null of the partition without a lower bound, both are null of the default one.
CREATE FUNCTION crawl_partition_list() RETURNS TABLE (parent text, part regclass, lower bigint, upper bigint)
LANGUAGE sql STABLE AS $$
    SELECT p.relname::text, c.oid::regclass, b.found[1]::bigint, b.found[2]::bigint
    FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
    LEFT JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid),
        $re$FROM \((?:'?(-?\d+)'?|MINVALUE)\) TO \('?(-?\d+)'?\)$re$) b (found) ON true
    WHERE p.oid IN (to_regclass('crawl_urls'), to_regclass('crawl_links'), to_regclass('crawl_tries'))
$$;

-- crawl_run_next is the ID of the next run, at the earliest.
CREATE FUNCTION crawl_run_next() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('crawl_runs', 'id')::regclass), 0) + 1
$$;

-- crawl_run_pace is how many runs were started in the four weeks before a time.
CREATE FUNCTION crawl_run_pace(during timestamptz) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT crawl_run_next() - 1 - coalesce(
        (SELECT id FROM crawl_runs WHERE created_at < during - interval '28 days' ORDER BY id DESC LIMIT 1),
        (SELECT min(id) - 1 FROM crawl_runs), crawl_run_next() - 1)
$$;

-- crawl_partition_bound says of a table that is to become a partition that its runs are before one that is four
-- weeks away: with that proven, attaching it reads no row.
-- +goose StatementBegin
CREATE FUNCTION crawl_partition_bound(parent text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    bound bigint := substring(pg_get_constraintdef((SELECT oid FROM pg_constraint
        WHERE conname = 'crawl_urls_before' AND conrelid = 'crawl_urls'::regclass)) FROM '< ''?(\d+)');
BEGIN
    PERFORM set_config('lock_timeout', '700ms', true);
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = parent::regclass AND conname = parent || '_before') THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (run_id < %L::bigint) NOT VALID', parent,
        parent || '_before', coalesce(bound, crawl_run_next() + greatest(100, crawl_run_pace(now()))));
END $$;
-- +goose StatementEnd

-- crawl_partition_add makes a table of the form of parent and attaches it, under locks that let readers pass.
-- Without bounds it is the default one. Whoever writes to these tables locks crawl_runs first, which their foreign
-- keys need here.
-- +goose StatementBegin
CREATE FUNCTION crawl_partition_add(parent text, part text, lower bigint, upper bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    named text := format('%s.%I', (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = parent::regclass), part);
BEGIN
    LOCK TABLE crawl_runs IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE '
        || 'INCLUDING COMPRESSION)', named, parent::regclass);
    PERFORM partition_close(named::regclass);
    IF parent = 'crawl_urls' THEN -- neither comes with the table
        EXECUTE format('ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = 0.05, '
            || 'autovacuum_analyze_scale_factor = 0.05), ALTER COLUMN run_id SET STATISTICS 0', named);
    END IF;
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s %s', parent::regclass, named,
        CASE WHEN lower IS NULL THEN 'DEFAULT' ELSE format('FOR VALUES FROM (%L) TO (%L)', lower, upper) END);
END $$;
-- +goose StatementEnd

-- crawl_partitions_make makes the next range, where there are fewer than three weeks of runs ahead, and returns 1,
-- or 0 when there is nothing to be done. Where more runs were started than there were ranges for, their rows are in
-- the default partitions: those become the partitions of a range by three steps, so that no row is read under a lock
-- and none is moved, and there are new default ones. It gives up, with lock_not_available, before a transaction that
-- it waits for could be taken for a part of a deadlock.
-- +goose StatementBegin
CREATE FUNCTION crawl_partitions_make(during timestamptz) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    next bigint := crawl_run_next();
    width bigint;
    top bigint;
    bound bigint;
    parent text;
    proven boolean;
BEGIN
    IF during IS NULL OR during NOT BETWEEN now() - interval '1 year' AND now() + interval '1 year' THEN
        RAISE EXCEPTION 'partitions are made for about now, not for %', during
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    width := greatest(25, (crawl_run_pace(during) + 3) / 4);
    SELECT coalesce(max(p.upper), next) INTO top FROM crawl_partition_list() p;
    IF top >= next + greatest(100, 3 * width) THEN
        RETURN 0;
    END IF;
    IF top >= next THEN
        FOREACH parent IN ARRAY ARRAY['crawl_urls', 'crawl_tries', 'crawl_links'] LOOP
            PERFORM crawl_partition_add(parent, parent || '_' || top, top, top + width);
        END LOOP;
        RETURN 1;
    END IF;

    SELECT c.convalidated, substring(pg_get_constraintdef(c.oid) FROM '< ''?(\d+)') INTO proven, bound
    FROM pg_constraint c WHERE c.conrelid = 'crawl_links_default'::regclass AND c.conname = 'crawl_links_closed';
    IF NOT FOUND THEN -- until it is attached, runs from beyond four weeks are refused
        FOREACH parent IN ARRAY ARRAY['crawl_urls', 'crawl_tries', 'crawl_links'] LOOP
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (run_id >= %L::bigint AND run_id < %L::bigint) '
                || 'NOT VALID', parent || '_default', parent || '_closed', top, next + greatest(100, 4 * width));
        END LOOP;
    ELSIF NOT proven THEN
        FOREACH parent IN ARRAY ARRAY['crawl_urls', 'crawl_tries', 'crawl_links'] LOOP
            EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', parent || '_default', parent || '_closed');
        END LOOP;
    ELSE
        LOCK TABLE crawl_runs IN ACCESS EXCLUSIVE MODE;
        FOREACH parent IN ARRAY ARRAY['crawl_urls', 'crawl_tries', 'crawl_links'] LOOP
            EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, parent || '_default');
            EXECUTE format('ALTER TABLE %I RENAME TO %I', parent || '_default', parent || '_' || top);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent,
                parent || '_' || top, top, bound);
            EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', parent || '_' || top, parent || '_closed');
            PERFORM crawl_partition_add(parent, parent || '_default', NULL, NULL);
        END LOOP;
    END IF;
    RETURN 1;
END $$;
-- +goose StatementEnd

-- crawl_partitions_analyze gives the planner the statistics of the tables as a whole: autovacuum looks at partitions
-- alone.
-- +goose StatementBegin
CREATE FUNCTION crawl_partitions_analyze() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    ANALYZE crawl_urls, crawl_links, crawl_tries;
END $$;
-- +goose StatementEnd

-- crawl_partitions_expire drops the partitions of the first range whose runs all ended before a time, and none of
-- whose runs an open one is compared with. Their rows in crawl_runs stay. The URLs of large partitions are counted
-- as the last ANALYZE found them.
-- +goose StatementBegin
CREATE FUNCTION crawl_partitions_expire(before timestamptz, OUT more boolean, OUT deleted bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    next bigint := crawl_run_next();
    old record;
    held record;
BEGIN
    more := false;
    deleted := 0;
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR old IN
        SELECT p.lower, p.upper, p.part, c.reltuples FROM crawl_partition_list() p JOIN pg_class c ON c.oid = p.part
        WHERE p.parent = 'crawl_urls' AND p.upper <= next AND NOT EXISTS (
            SELECT FROM crawl_runs r WHERE r.id >= coalesce(p.lower, 0) AND r.id < p.upper
                AND (r.finished_at < before AND r.status IN ('COMPLETED', 'CANCELLED')) IS NOT TRUE)
        ORDER BY p.upper
    LOOP
        -- A run that is retried, or that another is to be compared with, waits for this, or is seen here.
        PERFORM FROM crawl_runs r WHERE r.id >= coalesce(old.lower, 0) AND r.id < old.upper FOR UPDATE;
        CONTINUE WHEN EXISTS (
            SELECT FROM crawl_runs r WHERE r.id >= coalesce(old.lower, 0) AND r.id < old.upper
                AND ((r.finished_at < before AND r.status IN ('COMPLETED', 'CANCELLED')) IS NOT TRUE OR EXISTS (
                    SELECT FROM crawl_runs o WHERE o.base_run_id = r.id AND o.status IN ('RUNNING', 'PAUSED'))));
        deleted := old.reltuples;
        IF deleted < 0 OR pg_table_size(old.part) < 64 * 1024 * 1024 THEN
            EXECUTE format('SELECT count(*) FROM %s', old.part) INTO deleted;
        END IF;
        FOR held IN
            SELECT p.part FROM crawl_partition_list() p
            WHERE p.upper = old.upper ORDER BY p.parent DESC -- as writers do
        LOOP
            EXECUTE format('DROP TABLE %s', held.part);
        END LOOP;
        more := true;
        RETURN;
    END LOOP;
END $$;
-- +goose StatementEnd

-- crawl_partitions_state counts the rows of the default partitions, up to 1,000, and the runs that there are ranges
-- for.
-- +goose StatementBegin
CREATE FUNCTION crawl_partitions_state() RETURNS TABLE (parent text, runs bigint, strays bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    FOREACH parent IN ARRAY ARRAY['crawl_links', 'crawl_tries', 'crawl_urls'] LOOP
        SELECT greatest(max(p.upper) - crawl_run_next(), 0) INTO runs
        FROM crawl_partition_list() p WHERE p.parent = crawl_partitions_state.parent;
        CONTINUE WHEN runs IS NULL;
        EXECUTE format('SELECT count(*) FROM (SELECT FROM %I LIMIT 1000) s', parent || '_default') INTO strays;
        RETURN NEXT;
    END LOOP;
END $$;
-- +goose StatementEnd

-- These run as the owner of the tables, so their search_path is the schema of this migration alone.
-- +goose StatementBegin
DO $migration$
DECLARE
    f text;
BEGIN
    FOREACH f IN ARRAY ARRAY['crawl_partitions_make(timestamptz)', 'crawl_partitions_analyze()',
        'crawl_partitions_state()', 'crawl_partitions_expire(timestamptz)']
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', f, current_schema());
    END LOOP;
END $migration$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION crawl_partitions_state(), crawl_partitions_expire(timestamptz), crawl_partitions_analyze(),
    crawl_partitions_make(timestamptz), crawl_partition_add(text, text, bigint, bigint), crawl_partition_bound(text),
    crawl_run_pace(timestamptz), crawl_run_next(), crawl_partition_list();
