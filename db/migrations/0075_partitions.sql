-- +goose Up
-- Tables that grow by time are partitioned by month (UTC). A partition "<table>_before" is what the table was when it
-- became partitioned, "<table>_default" takes rows for whose time there is no partition: no row is refused.

-- The tables, the column that they are partitioned by, and the age at which a row may be deleted at the earliest (null:
-- any).
CREATE FUNCTION partition_rules() RETURNS TABLE (parent text, key text, floor interval) LANGUAGE sql STABLE AS $$
    SELECT r.parent, r.key, r.floor FROM (VALUES
        ('listing_events', 'at', NULL), ('audit', 'at', interval '90 days'),
        ('raw_listing_revisions', 'received_at', NULL)) r (parent, key, floor)
    WHERE EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(r.parent) AND relkind = 'p')
$$;

-- lower is null of the partition without a lower bound, both are null of the default one.
CREATE FUNCTION partition_list(parent text)
    RETURNS TABLE (part regclass, lower timestamptz, upper timestamptz) LANGUAGE sql STABLE AS $$
    SELECT c.oid::regclass, b.found[1]::timestamptz, b.found[2]::timestamptz
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    LEFT JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid),
        $re$FROM \((?:'([^']*)'|MINVALUE)\) TO \('([^']*)'\)$re$) b (found) ON true
    WHERE i.inhparent = parent::regclass
$$;

-- Partitions are read and written through their table only: its privileges count, and its triggers.
-- +goose StatementBegin
CREATE FUNCTION partition_close(part regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    holder text;
BEGIN
    FOR holder IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
        FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = part AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM %s', part, holder);
    END LOOP;
END $$;
-- +goose StatementEnd

-- partition_grant gives what a table allows to a table that takes its place, and takes what new tables allow away.
-- +goose StatementBegin
CREATE FUNCTION partition_grant(old regclass, new regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    held record;
BEGIN
    PERFORM partition_close(new);
    FOR held IN
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS holder, a.privilege_type AS what
        FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = old AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON %s TO %s', held.what, new, held.holder);
    END LOOP;
    PERFORM partition_close(old);
END $$;
-- +goose StatementEnd

-- partition_bound says of a table that is to become a partition that all it holds is before the beginning of a month,
-- more than four weeks away and later than all there is: with that proven, attaching it reads no row. It is read before it
-- is locked.
-- +goose StatementBegin
CREATE FUNCTION partition_bound(parent text, key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    newest timestamptz;
BEGIN
    PERFORM set_config('lock_timeout', '700ms', true);
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = parent::regclass AND conname = parent || '_before') THEN
        RETURN;
    END IF;
    EXECUTE format('SELECT greatest(now(), max(%I)) FROM %I', key, parent) INTO newest;
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%I < %L) NOT VALID', parent, parent || '_before', key,
        (date_trunc('month', newest AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC');
END $$;
-- +goose StatementEnd

-- partition_add makes a table of the form of parent and attaches it, under locks that let readers and writers of the
-- other partitions pass. Without bounds it is the default one.
-- +goose StatementBegin
CREATE FUNCTION partition_add(parent text, part text, lower timestamptz, upper timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    named text := format('%s.%I', (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = parent::regclass), part);
BEGIN
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE '
        || 'INCLUDING COMPRESSION)', named, parent::regclass);
    PERFORM partition_close(named::regclass);
    IF parent = 'audit' THEN -- triggers of rows come with the table
        EXECUTE format('CREATE TRIGGER audit_keep BEFORE TRUNCATE ON %s FOR EACH STATEMENT '
            || 'EXECUTE FUNCTION audit_guard()', named);
    END IF;
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s %s', parent::regclass, named,
        CASE WHEN lower IS NULL THEN 'DEFAULT' ELSE format('FOR VALUES FROM (%L) TO (%L)', lower, upper) END);
END $$;
-- +goose StatementEnd

-- partitions_make makes the partitions of a table that are missing for the month of a time and the three after it, and
-- returns how many. Rows that are in the default partition keep that of their month from being made. It gives up, with
-- lock_not_available, before a transaction that it waits for could be taken for a part of a deadlock.
-- +goose StatementBegin
CREATE FUNCTION partitions_make(parent text, during timestamptz) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    rule record;
    month timestamptz;
    made integer := 0;
BEGIN
    SELECT * INTO STRICT rule FROM partition_rules() r WHERE r.parent = partitions_make.parent;
    IF during IS NULL OR during NOT BETWEEN now() - interval '1 year' AND now() + interval '1 year' THEN
        RAISE EXCEPTION 'partitions are made for about now, not for %', during USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR ahead IN 0..3 LOOP
        month := (date_trunc('month', during AT TIME ZONE 'UTC') + ahead * interval '1 month') AT TIME ZONE 'UTC';
        CONTINUE WHEN EXISTS (SELECT FROM partition_list(parent) p
            WHERE p.upper > month AND coalesce(p.lower, '-infinity') <= month);
        BEGIN
            PERFORM partition_add(parent, parent || to_char(month AT TIME ZONE 'UTC', '"_"YYYYMM'), month,
                ((month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
            made := made + 1;
        EXCEPTION WHEN check_violation THEN
            RAISE WARNING 'rows of % are in the default partition of %', month, parent;
        END;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd

-- partitions_analyze gives the planner the statistics of a table as a whole: autovacuum looks at partitions alone.
-- +goose StatementBegin
CREATE FUNCTION partitions_analyze(parent text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    rule record;
BEGIN
    SELECT * INTO STRICT rule FROM partition_rules() r WHERE r.parent = partitions_analyze.parent;
    EXECUTE format('ANALYZE %s', rule.parent::regclass);
END $$;
-- +goose StatementEnd

-- partitions_expire makes a step of deleting what is older than a time: it drops the oldest partition that is so as a
-- whole, or deletes such rows of the partitions without a lower bound, in a few pages after the cursor. The rows of a
-- large partition that is dropped are counted as the last ANALYZE found them.
-- +goose StatementBegin
CREATE FUNCTION partitions_expire(parent text, before timestamptz, after text, most integer,
    OUT cursor text, OUT more boolean, OUT deleted bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    rule record;
    old record;
    page bigint;
    pages bigint;
    width bigint := least(greatest(most, 16), 10000) / 16;
BEGIN
    SELECT * INTO STRICT rule FROM partition_rules() r WHERE r.parent = partitions_expire.parent;
    before := least(before, now() - rule.floor);
    SELECT p.part, c.reltuples INTO old FROM partition_list(parent) p JOIN pg_class c ON c.oid = p.part
    WHERE p.upper <= before ORDER BY p.upper LIMIT 1;
    IF FOUND THEN
        deleted := old.reltuples;
        IF deleted < 0 OR pg_table_size(old.part) < 64 * 1024 * 1024 THEN
            EXECUTE format('SELECT count(*) FROM %s', old.part) INTO deleted;
        END IF;
        PERFORM set_config('lock_timeout', '500ms', true);
        EXECUTE format('DROP TABLE %s', old.part);
        cursor := '';
        more := true;
        RETURN;
    END IF;
    cursor := '';
    more := false;
    deleted := 0;
    FOR old IN
        SELECT p.part, c.oid FROM partition_list(parent) p JOIN pg_class c ON c.oid = p.part
        WHERE p.lower IS NULL AND c.oid >= coalesce(nullif(split_part(after, ' ', 1), ''), '0')::oid ORDER BY c.oid
    LOOP
        page := CASE WHEN split_part(after, ' ', 1) = old.oid::text THEN split_part(after, ' ', 2)::bigint ELSE 0 END;
        pages := pg_relation_size(old.part) / current_setting('block_size')::bigint;
        CONTINUE WHEN page >= pages;
        EXECUTE format('DELETE FROM %s WHERE ctid >= %L::tid AND ctid < %L::tid AND %I < $1', old.part,
            format('(%s,0)', page), format('(%s,0)', page + width), rule.key) USING before;
        GET DIAGNOSTICS deleted = ROW_COUNT;
        cursor := old.oid || ' ' || page + width;
        more := true;
        RETURN;
    END LOOP;
END $$;
-- +goose StatementEnd

-- partitions_state says until when there are partitions, and counts the rows of the default ones, up to 1,000.
-- +goose StatementBegin
CREATE FUNCTION partitions_state() RETURNS TABLE (parent text, until timestamptz, strays bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    rule record;
BEGIN
    FOR rule IN SELECT * FROM partition_rules() r ORDER BY r.parent LOOP
        parent := rule.parent;
        SELECT max(p.upper) INTO until FROM partition_list(rule.parent) p;
        EXECUTE format('SELECT count(*) FROM (SELECT FROM %s LIMIT 1000) s', (
            SELECT p.part FROM partition_list(rule.parent) p WHERE p.lower IS NULL AND p.upper IS NULL)) INTO strays;
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
    FOREACH f IN ARRAY ARRAY['partitions_make(text, timestamptz)', 'partitions_analyze(text)', 'partitions_state()',
        'partitions_expire(text, timestamptz, text, integer)']
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', f, current_schema());
    END LOOP;
END $migration$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION partitions_state(), partitions_expire(text, timestamptz, text, integer), partitions_analyze(text),
    partitions_make(text, timestamptz), partition_add(text, text, timestamptz, timestamptz), partition_bound(text, text),
    partition_grant(regclass, regclass),
    partition_close(regclass), partition_list(text), partition_rules();
