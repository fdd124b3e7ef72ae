-- +goose Up
-- What a scraper remembers is counted when it is written: reading all of it takes seconds at some million adverts.
ALTER TABLE platforms
    ADD COLUMN adverts_known  bigint  NOT NULL DEFAULT 0,     -- not gone
    ADD COLUMN adverts_failed bigint  NOT NULL DEFAULT 0,     -- of those, could not be read on the last visit
    ADD COLUMN adverts_gone   bigint  NOT NULL DEFAULT 0,
    ADD COLUMN counted        boolean NOT NULL DEFAULT false; -- conveyor bootstrap has counted those from before

-- The triggers are per statement, so that a search page of forty adverts is one more update of its platform. They run
-- at the end of the statement: a statement that writes adverts and their cycle locks the platform last.
-- +goose StatementBegin
CREATE FUNCTION platform_adverts_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE platforms p SET adverts_known = p.adverts_known + d.known, adverts_failed = p.adverts_failed + d.failed,
            adverts_gone = p.adverts_gone + d.gone
        FROM (SELECT platform, count(*) FILTER (WHERE gone_at IS NULL) AS known,
                count(*) FILTER (WHERE gone_at IS NULL AND failures > 0) AS failed,
                count(*) FILTER (WHERE gone_at IS NOT NULL) AS gone
            FROM now_there GROUP BY platform) d
        WHERE p.name = d.platform;
    ELSIF TG_OP = 'DELETE' THEN
        UPDATE platforms p SET adverts_known = p.adverts_known - d.known, adverts_failed = p.adverts_failed - d.failed,
            adverts_gone = p.adverts_gone - d.gone
        FROM (SELECT platform, count(*) FILTER (WHERE gone_at IS NULL) AS known,
                count(*) FILTER (WHERE gone_at IS NULL AND failures > 0) AS failed,
                count(*) FILTER (WHERE gone_at IS NOT NULL) AS gone
            FROM was_there GROUP BY platform) d
        WHERE p.name = d.platform;
    ELSE
        UPDATE platforms p SET adverts_known = p.adverts_known + d.known, adverts_failed = p.adverts_failed + d.failed,
            adverts_gone = p.adverts_gone - d.known
        FROM (SELECT platform, coalesce(sum(n.known - o.known), 0) AS known,
                coalesce(sum(n.failed - o.failed), 0) AS failed
            FROM (SELECT platform, platform_id, (gone_at IS NULL)::int AS known,
                    (gone_at IS NULL AND failures > 0)::int AS failed FROM now_there) n
            JOIN (SELECT platform, platform_id, (gone_at IS NULL)::int AS known,
                    (gone_at IS NULL AND failures > 0)::int AS failed FROM was_there) o USING (platform, platform_id)
            GROUP BY platform) d
        WHERE p.name = d.platform AND (d.known <> 0 OR d.failed <> 0);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER platform_adverts_inserted AFTER INSERT ON platform_adverts REFERENCING NEW TABLE AS now_there
    FOR EACH STATEMENT EXECUTE FUNCTION platform_adverts_count();
CREATE TRIGGER platform_adverts_updated AFTER UPDATE ON platform_adverts
    REFERENCING OLD TABLE AS was_there NEW TABLE AS now_there
    FOR EACH STATEMENT EXECUTE FUNCTION platform_adverts_count();
CREATE TRIGGER platform_adverts_deleted AFTER DELETE ON platform_adverts REFERENCING OLD TABLE AS was_there
    FOR EACH STATEMENT EXECUTE FUNCTION platform_adverts_count();

-- +goose Down
DROP TRIGGER platform_adverts_inserted ON platform_adverts;
DROP TRIGGER platform_adverts_updated ON platform_adverts;
DROP TRIGGER platform_adverts_deleted ON platform_adverts;
DROP FUNCTION platform_adverts_count;
ALTER TABLE platforms DROP COLUMN adverts_known, DROP COLUMN adverts_failed, DROP COLUMN adverts_gone,
    DROP COLUMN counted;
