package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
)

// A database that was always partitioned: the last 13 months have partitions of their own, as they would have had.
const sqlVolumeMonths = `
DO $$
DECLARE
    parent text;
    until timestamptz;
    month timestamptz;
BEGIN
    FOREACH parent IN ARRAY ARRAY['listing_events', 'raw_listing_revisions', 'audit'] LOOP
        SELECT upper INTO STRICT until FROM partition_list(parent) WHERE lower IS NULL AND upper IS NOT NULL;
        EXECUTE format('ALTER TABLE %1$I DETACH PARTITION %2$I', parent, parent || '_before');
        month := (date_trunc('month', now() AT TIME ZONE 'UTC') - interval '13 months') AT TIME ZONE 'UTC';
        WHILE month < until LOOP
            PERFORM partition_add(parent, parent || to_char(month AT TIME ZONE 'UTC', '"_"YYYYMM'), month,
                ((month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
            month := ((month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC';
        END LOOP;
        EXECUTE format('INSERT INTO %1$I OVERRIDING SYSTEM VALUE SELECT * FROM %2$I', parent, parent || '_before');
        EXECUTE format('DROP TABLE %I', parent || '_before');
    END LOOP;
END $$`

// What grows by time, over the last year: $3 rows for each advert, without what makes them wide.
var sqlVolumeHistory = []struct{ what, sql string }{
	{"history of listings", `
INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
SELECT id, 1, 'status', now() - random() * interval '365 days', 'active', 'claimed'
FROM bench_adverts, generate_series(1, $3::int) WHERE nr >= $1 AND nr < $2 AND kind NOT IN ('lost', 'duplicate')`},
	{"revisions", `
INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
SELECT id, n + 1, sha256(id::text::bytea), '{}', now(), now() - random() * interval '365 days'
FROM bench_adverts, generate_series(1, $3::int) n WHERE nr >= $1 AND nr < $2`},
	{"attempts of messages", `
INSERT INTO message_attempts (tenant, message, n, took_ms, at, outcome)
SELECT 'bench', gen_random_uuid(), 1, 100, now() - random() * interval '365 days', 'accepted'
FROM bench_adverts, generate_series(1, $3::int) WHERE nr >= $1 AND nr < $2`},
	{"audit", `
INSERT INTO audit (at, actor, action, subject)
SELECT now() - random() * interval '365 days', 'bench-' || nr % 50, 'bench.done', 'bench/' || nr
FROM bench_adverts, generate_series(1, $3::int / 10) WHERE nr >= $1 AND nr < $2`},
	{"dead letters", `
INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class, workflow_id, message_id,
    state, first_at, last_at)
SELECT sha256(convert_to('bench/' || nr, 'UTF8')), 'scraped.kijiji', 'scraped', 'kijiji', '{}', 'bench', 'invalid', '',
    nr::text, CASE nr % 100 WHEN 7 THEN 'open' ELSE 'resolved' END, at, at
FROM bench_adverts WHERE nr >= $1 AND nr < $2 AND nr % 10 = 7 AND $3 > 0`},
}

// fillHistory puts about rows rows into each of the largest tables that grow by time, a hundred thousand adverts at a
// time. Their secondary indexes and their triggers are gone meanwhile.
func (h *system) fillHistory(ctx context.Context, adverts, rows int) error {
	const part = 100_000
	const triggers = "ALTER TABLE listing_events %[1]s TRIGGER USER; ALTER TABLE raw_listing_revisions %[1]s TRIGGER USER"
	if _, err := h.db.Exec(ctx, fmt.Sprintf(triggers, "DISABLE")); err != nil {
		return fmt.Errorf("switch triggers off: %w", err)
	}
	for _, step := range sqlVolumeHistory {
		fmt.Fprintf(os.Stderr, "bench: filling %s …\n", step.what)
		for from := 0; from < adverts; from += part {
			err := db.Tx(ctx, h.db, func(tx pgx.Tx) error {
				for _, set := range []string{"SET LOCAL synchronous_commit = off", "SET LOCAL conveyor.tenant = '*'"} {
					if _, err := tx.Exec(ctx, set); err != nil {
						return err
					}
				}
				_, err := tx.Exec(ctx, step.sql, from, min(adverts, from+part), rows/adverts)
				return err
			})
			if err != nil {
				return fmt.Errorf("fill %s: %w", step.what, err)
			}
		}
	}
	if _, err := h.db.Exec(ctx, fmt.Sprintf(triggers, "ENABLE")); err != nil {
		return fmt.Errorf("switch triggers on: %w", err)
	}
	return nil
}

// measureHistory measures what reads these tables, and the door: how long adverts take from RabbitMQ to their event.
func (h *system) measureHistory(ctx context.Context, report *Report, tell func(Volume)) error {
	month := time.Now().AddDate(0, -6, 0).UTC()
	for _, path := range []string{
		"/dead-letters", "/dead-letters?state=resolved&class=invalid", "/audit", "/audit?actor=bench-7",
		"/audit?since=" + month.Format(time.RFC3339) + "&until=" + month.AddDate(0, 1, 0).Format(time.RFC3339),
	} {
		tell(h.repeat(ctx, "GET "+path, 60, 0, func(int) string { return path }))
	}
	var ids []string
	err := h.db.QueryRow(ctx, "SELECT array_agg(id::text) FROM (SELECT id FROM listings TABLESAMPLE SYSTEM (1) LIMIT 60) l").
		Scan(&ids)
	if err != nil {
		return fmt.Errorf("pick listings: %w", err)
	}
	if len(ids) > 0 {
		tell(h.repeat(ctx, "GET /listings/{id}", len(ids), 0, func(i int) string { return "/listings/" + ids[i] }))
	}
	r, err := h.feed(ctx, h.conveyor(), generateFrom(5_000_000, 200), 10)
	r.Scenario = "all new, 10 a second, among all of these"
	report.Results = append(report.Results, r)
	return err
}

// onAll makes the definition of an index of a partitioned table that of its partitions' indexes, too.
func onAll(definition string) string { return strings.Replace(definition, " ON ONLY ", " ON ", 1) }
