package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/listing"
)

// volumeName is the scenario that runs only when it is asked for: filling its tables takes minutes and some 15 GB.
const volumeName = "volume"

// A Volume is how long one thing takes with all adverts in the tables.
type Volume struct {
	What   string             `json:"what"`
	Millis map[string]float64 `json:"millis"` // of those that were answered
	Failed int                `json:"failed"` // of Asked
	Asked  int                `json:"asked"`
	Note   string             `json:"note,omitempty"`
}

// Half of the adverts are active, one in twenty is a duplicate, the others are archived. One in 1,500 is stale and one
// in 100,000 was never brought to its end. Adverts came over a year, in the order of the table. All rows of one advert
// are made of its number.
var sqlVolume = []struct{ what, sql string }{
	{"sample", `
CREATE UNLOGGED TABLE bench_sample AS
SELECT row_number() OVER (ORDER BY r.id) - 1 AS nr, r.url, r.payload, r.content_hash, r.normalized, l.details,
    l.words
FROM raw_listings r JOIN listings l USING (id) ORDER BY r.id LIMIT 200`},
	{"adverts", `
CREATE UNLOGGED TABLE bench_adverts AS
SELECT i.*, now() - (1 - i.nr::float8 / $1) * interval '365 days' AS at, random() AS dice,
    CASE WHEN nr % 100000 = 1 THEN 'lost' WHEN nr % 20 = 3 THEN 'duplicate' WHEN nr % 1500 = 0 THEN 'stale'
        WHEN nr % 2 = 0 THEN 'active' ELSE 'archived' END AS kind
FROM bench_ids i`},
	{"raw_listings", `
INSERT INTO raw_listings (id, platform, platform_id, url, payload, content_hash, status, normalized,
    normalized_revision, settled_revision, duplicate_of, archived_at, first_scraped_at, last_scraped_at, payload_at,
    revised_at)
SELECT a.id, 'kijiji', a.platform_id, s.url, s.payload, s.content_hash,
    CASE kind WHEN 'lost' THEN 'scraped' WHEN 'duplicate' THEN 'duplicate' ELSE 'imported' END,
    CASE WHEN kind <> 'lost' THEN s.normalized END, (kind <> 'lost')::int, (kind <> 'lost')::int,
    CASE WHEN kind = 'duplicate' THEN (SELECT o.id FROM bench_adverts o WHERE o.nr = a.nr + 1) END,
    CASE WHEN kind = 'archived' THEN at END, at,
    CASE WHEN kind IN ('archived', 'stale') THEN least(at, now() - interval '3 days')
        ELSE now() - dice * interval '6 h' END, at, at
FROM bench_adverts a JOIN bench_sample s ON s.nr = a.nr % 200
WHERE a.nr >= $1 AND a.nr < $2`},
	{"listings", `
INSERT INTO listings (id, platform, platform_id, revision, status, url, title, description, rent_cents, bedrooms, rooms,
    property_type, address, latitude, longitude, neighbourhood, details, details_hash, published_at, updated_at, words)
SELECT a.id, 'kijiji', a.platform_id, 1, CASE kind WHEN 'archived' THEN 'archived' ELSE 'active' END, s.url,
    s.details->>'title', left(s.details->>'description', 200) || CASE a.nr % 5000 WHEN 8 THEN ' piscine' ELSE '' END,
    60000 + (dice * 250000)::bigint, a.nr / 7 % 5, a.nr / 7 % 5 + 2.5, 'apartment', s.details->'address'->>'text',
    45.41 + random() * 0.28, -73.95 + random() * 0.46, p.keys[a.nr / 3 % cardinality(p.keys) + 1], s.details,
    sha256(a.id::text::bytea), at, at, s.words || CASE a.nr % 5000 WHEN 8 THEN 'piscine:15000B' ELSE '' END::tsvector
FROM bench_adverts a JOIN bench_sample s ON s.nr = a.nr % 200,
    (SELECT array_agg(key ORDER BY key) AS keys FROM neighbourhoods) p
WHERE a.nr >= $1 AND a.nr < $2 AND kind NOT IN ('lost', 'duplicate')`},
	{"listing_events", `
INSERT INTO listing_events (listing_id, revision, kind, at, new_rent_cents, new_status)
SELECT id, 1, 'created', at, 60000 + (dice * 250000)::bigint, 'active' FROM bench_adverts
WHERE nr >= $1 AND nr < $2 AND kind NOT IN ('lost', 'duplicate')`},
	{"listing_images", `
INSERT INTO listing_images (listing_id, url, sort_order, state, key, thumbnail_key, created_at, settled_at)
SELECT id, 'https://media.example/images/' || platform_id || '.jpg', 0, 'attached', id::text, id::text, at, at
FROM bench_adverts WHERE nr >= $1 AND nr < $2 AND kind IN ('active', 'stale')`},
	{"platform_adverts", `
INSERT INTO platform_adverts (platform, platform_id, url, fingerprint, seen_at, seen_cycle, visited_at,
    visited_fingerprint, gone_at)
SELECT 'kijiji', platform_id, 'https://www.kijiji.ca/v/' || platform_id, 'x', at, 2, at, 'x',
    CASE WHEN kind = 'archived' THEN at END
FROM bench_adverts WHERE nr >= $1 AND nr < $2`},
}

const sqlVolumeCycles = `
INSERT INTO platform_cycles (platform, cycle, started_at, ended_at, complete, pages)
VALUES ('kijiji', 1, now() - interval '3 h', now() - interval '2 h', true, 250),
    ('kijiji', 2, now() - interval '1 h', NULL, false, 100)`

// Messages in the hands of a relay that takes its time.
const sqlVolumeOutbox = `
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at, leased_until)
SELECT gen_random_uuid(), 'bench-' || n % 20, 'listings.events', 'listings.published', '{}',
    now() - interval '1 h', now() + interval '2 h'
FROM generate_series(1, 500000) n`

// volume fills the tables with n adverts, and those that grow by time with history rows each, and measures what reads
// or walks all of them.
func (h *system) volume(ctx context.Context, n, history int, report *Report) error {
	began := time.Now()
	if err := h.fillVolume(ctx, n, history); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bench: filled in %s\n", time.Since(began).Round(time.Second))
	tell := func(v Volume) {
		report.Volumes = append(report.Volumes, v)
		fmt.Fprintf(os.Stderr, "bench: %s\n", v)
	}
	for _, path := range []string{"/metrics", "/queues", "/platforms", "/platforms/kijiji"} {
		tell(h.repeat(ctx, "GET "+path, 20, 1100*time.Millisecond, func(int) string { return path }))
	}
	for _, q := range []string{"", "sort=price&min_price=#", "neighbourhood=@&bedrooms=2&sort=price",
		"status=any&min_price=#", "min_bedrooms=9", "platform=nobody", "bbox=-73.60,45.50,-73.58,45.52",
		"text=piscine", "text=introuvable", "text=r%C3%A9nov%C3%A9&neighbourhood=@", "text=-piscine",
		"text=balcon+chauffage&sort=relevance", "text=piscine&sort=relevance"} {
		var places []string
		if err := h.db.QueryRow(ctx, "SELECT array_agg(key) FROM neighbourhoods").Scan(&places); err != nil {
			return err
		}
		tell(h.repeat(ctx, "GET /listings?"+q, 60, 0, func(i int) string {
			return "/listings?" + strings.NewReplacer("#", strconv.Itoa(700+i*10), "@", places[i%len(places)]).Replace(q)
		}))
	}
	if history > 0 {
		if err := h.measureHistory(ctx, report, tell); err != nil {
			return err
		}
	}
	tell(h.firstAnswers(ctx))
	tell(h.staleness(ctx))
	if _, err := h.db.Exec(ctx, sqlVolumeOutbox); err != nil {
		return fmt.Errorf("fill outbox: %w", err)
	}
	tell(h.repeat(ctx, "GET /metrics, 500,000 events wait", 10, 1100*time.Millisecond,
		func(int) string { return "/metrics" }))
	return nil
}

// fillVolume puts n adverts into the tables, without their secondary indexes until all are there.
func (h *system) fillVolume(ctx context.Context, n, history int) error {
	if _, err := h.db.Exec(ctx, sqlVolumeMonths); err != nil {
		return fmt.Errorf("make partitions of the last year: %w", err)
	}
	if _, err := h.db.Exec(ctx, "CREATE UNLOGGED TABLE bench_ids (nr int, id uuid, platform_id text)"); err != nil {
		return err
	}
	_, err := h.db.CopyFrom(ctx, pgx.Identifier{"bench_ids"}, []string{"nr", "id", "platform_id"},
		pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			ref := listing.Ref{Platform: "kijiji", PlatformID: strconv.Itoa(7_000_000_000 + i)}
			return []any{i, ref.ID(), ref.PlatformID}, nil
		}))
	if err != nil {
		return err
	}
	rebuild, err := h.dropIndexes(ctx)
	if err != nil {
		return err
	}
	for _, step := range sqlVolume {
		fmt.Fprintf(os.Stderr, "bench: filling %s …\n", step.what)
		if err := h.fillStep(ctx, step.sql, n); err != nil {
			return fmt.Errorf("fill %s: %w", step.what, err)
		}
	}
	if history > 0 {
		if err := h.fillHistory(ctx, n, history); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "bench: making indexes …")
	for _, sql := range append(rebuild, sqlVolumeCycles, "DROP TABLE bench_ids, bench_adverts, bench_sample",
		"VACUUM ANALYZE") {
		if _, err := h.db.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	bootstrap := exec.CommandContext(ctx, h.binary, "bootstrap") // as after an upgrade
	bootstrap.Env, bootstrap.Stderr = h.env, os.Stderr
	return bootstrap.Run()
}

// fillStep runs a statement of sqlVolume: in parts of 100,000 adverts where it has a part to do.
func (h *system) fillStep(ctx context.Context, sql string, n int) error {
	const part = 100_000
	switch {
	case !strings.Contains(sql, "$"):
		_, err := h.db.Exec(ctx, sql)
		return err
	case !strings.Contains(sql, "$2"):
		sql = strings.ReplaceAll(sql, "$1", strconv.Itoa(n)) // a new table takes no arguments
		_, err := h.db.Exec(ctx, sql+"; CREATE UNIQUE INDEX ON bench_adverts (nr); ANALYZE bench_adverts")
		return err
	}
	for from := 0; from < n; from += part {
		err := db.Tx(ctx, h.db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sql, from, min(n, from+part))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropIndexes drops the indexes that are no constraints, and the foreign keys. It returns the statements that make them
// again.
func (h *system) dropIndexes(ctx context.Context) (rebuild []string, err error) {
	rows, _ := h.db.Query(ctx, `
SELECT format('DROP INDEX %I', i.indexname), i.indexdef FROM pg_indexes i
WHERE i.tablename = ANY ($1::text[]) AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conname = i.indexname)
UNION ALL
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY ($1::text[]::regclass[])`,
		[]string{"raw_listings", "listings", "listing_events", "raw_listing_revisions", "listing_images", "platform_adverts"})
	var drop, again string
	var drops []string
	_, err = pgx.ForEachRow(rows, []any{&drop, &again}, func() error {
		drops, rebuild = append(drops, drop), append(rebuild, onAll(again))
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = h.db.Exec(ctx, strings.Join(drops, "; "))
	return rebuild, err
}

// repeat asks for a path several times, with a pause in between. Refusals are counted.
func (h *system) repeat(
	ctx context.Context, what string, times int, every time.Duration, path func(int) string,
) Volume {
	v := Volume{What: what, Asked: times}
	var took []time.Duration
	for i := range times {
		began := time.Now()
		answer, err := ask(ctx, http.MethodGet, h.api+path(i), "")
		if err != nil {
			v.Failed++
			v.Note = err.Error()
		} else {
			took = append(took, time.Since(began))
		}
		if strings.HasPrefix(path(i), "/metrics") && (!bytes.Contains(answer, []byte("conveyor_outbox_pending ")) ||
			!bytes.Contains(answer, []byte("conveyor_platform_adverts{"))) {
			v.Failed++
			v.Note = "without metrics of the outbox or of platforms"
		}
		_ = pause(ctx, every) // where ctx has ended, all requests fail
	}
	v.Millis = percentiles(took)
	return v
}

// firstAnswers requests replays of adverts that hardly exist, and cancels each.
func (h *system) firstAnswers(ctx context.Context) Volume {
	v := Volume{What: "POST /replays", Asked: 5}
	var took []time.Duration
	for range v.Asked {
		id := uuid.NewString()
		body := fmt.Sprintf(`{"id": %q, "stage": "normalize", "filter": {"status": ["rejected"], "reason": "nothing"}}`, id)
		began := time.Now()
		if _, err := ask(ctx, http.MethodPost, h.api+"/replays", body); err != nil {
			v.Failed, v.Note = v.Failed+1, fmt.Sprintf("%.60s", err.Error())
		} else {
			took = append(took, time.Since(began))
		}
		_, _ = ask(ctx, http.MethodDelete, h.api+"/replays/"+id, "") // it may have ended
	}
	v.Millis = percentiles(took)
	return v
}

// staleness runs a check for stale listings to its end, for ten minutes at most.
func (h *system) staleness(ctx context.Context) Volume {
	v := Volume{What: "POST /staleness/run, to the end of its workflow", Asked: 1}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	_, err := ask(ctx, http.MethodPost, h.api+"/staleness/run", "")
	var result json.RawMessage
	if err == nil {
		err = h.temporal.GetWorkflow(limited, "staleness-by-hand", "").Get(limited, &result)
	}
	v.Note = string(result)
	if err != nil {
		v.Failed, v.Note = 1, err.Error()
	} else {
		v.Millis = percentiles([]time.Duration{time.Since(began)})
	}
	return v
}

func (v Volume) String() string {
	return fmt.Sprintf("%s: p50 %.1f ms, p95 %.1f ms, failed %d of %d %s", v.What, v.Millis["p50"], v.Millis["p95"],
		v.Failed, v.Asked, v.Note)
}
