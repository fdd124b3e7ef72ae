package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A Saved is what it costs to compare new listings with saved searches.
type Saved struct {
	How      string             `json:"how"`
	Searches int                `json:"searches"`
	Listings int                `json:"listings"`
	Millis   map[string]float64 `json:"lag_ms,omitempty"` // of an event, from its commit until what it met is committed
	CPU      map[string]float64 `json:"cpu_ms_each_by_group"`
	Looked   float64            `json:"looked_each"`  // searches that a listing was compared with
	Matches  float64            `json:"matches_each"` // that it met
	Worker   int                `json:"worker_mib"`
}

// An Indexed is the memory that an index of saved searches takes.
type Indexed struct {
	How      string  `json:"how"`
	Searches int     `json:"searches"`
	MiB      float64 `json:"mib"`
}

// A Triggered is what an event of a listing costs Postgres, with and without the trigger that has it compared.
type Triggered struct {
	Events  int     `json:"events"`
	With    float64 `json:"cpu_us_with"`
	Without float64 `json:"cpu_us_without"`
}

const (
	savedRate = 100 // new listings a second
	savedFor  = 30 * time.Second
	savedMany = 10_000
)

// savedSearches are the scenarios of saved searches.
func (h *system) savedSearches(ctx context.Context, report *Report) []scenario {
	return []scenario{
		{"saved searches: listings", func() error {
			if err := h.savedFeed(ctx, "none, without the trigger", nil, report); err != nil {
				return err
			}
			for _, n := range []int{100, savedMany} {
				searches, err := h.mixOfSearches(ctx, n)
				if err == nil {
					err = h.savedFeed(ctx, fmt.Sprint(n), searches, report)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"saved searches: memory", func() error { return h.savedMemory(ctx, report) }},
		{"saved searches: trigger", func() error { return h.savedTrigger(ctx, report) }},
	}
}

// savedWords are words that one listing in their number has.
const savedWords = 100

// around is a polygon of n corners at about a distance in metres of a place.
func around(dice *rand.Rand, lat, lon, metres float64, n int) (corners [][]float64) {
	for i := range n {
		r, a := metres/111_195*(.7+.3*dice.Float64()), 2*math.Pi*float64(i)/float64(n)
		corners = append(corners, []float64{lon + r*math.Cos(a)/math.Cos(lat*math.Pi/180), lat + r*math.Sin(a)})
	}
	return corners
}

// mixOfSearches makes n searches of the kinds that people save: in a neighbourhood, around a place, in a shape drawn on
// the map, with a word, and a few that ask for the whole city.
func (h *system) mixOfSearches(ctx context.Context, n int) (list []saved.Search, err error) {
	rows, _ := h.db.Query(ctx, "SELECT key FROM neighbourhoods ORDER BY key")
	hoods, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in every run
	for i := range n {
		f := saved.Criteria{MaxPrice: int64(900 + dice.IntN(1200)), Bedrooms: []int{dice.IntN(4)}}
		if dice.IntN(3) == 0 {
			f.Bedrooms = append(f.Bedrooms, f.Bedrooms[0]+1)
		}
		lat, lon := 45.41+dice.Float64()*.28, -73.95+dice.Float64()*.46
		switch p := dice.IntN(100); {
		case p < 40:
			f.Neighbourhood = hoods[dice.IntN(len(hoods))]
		case p < 65:
			f.Near = &saved.Near{Latitude: lat, Longitude: lon, Metres: 500 + 2500*dice.Float64()}
		case p < 80:
			f.Polygon = around(dice, lat, lon, 1000+2000*dice.Float64(), 5+dice.IntN(55))
		case i%500 != 0:
			f.Text = fmt.Sprint("mot", dice.IntN(savedWords))
		}
		pace := saved.Schedule{Pace: saved.Daily, At: time.Now().UTC().Add(12 * time.Hour).Format("15:04"), TimeZone: "UTC"}
		list = append(list, saved.Search{
			ID: uuid.New(), Tenant: "bench-saved", Name: fmt.Sprint("search ", i), Filter: f, Kinds: saved.Kinds, Schedule: pace,
			State: saved.Active,
		})
	}
	return list, nil
}

const sqlBenchSaved = `
WITH gone AS (DELETE FROM saved_searches RETURNING id), touched AS (
    INSERT INTO saved_changes (search, version) SELECT id, nextval('saved_version') FROM (
        SELECT id FROM gone UNION ALL SELECT unnest($1::uuid[])) i (id)
    ON CONFLICT (search) DO UPDATE SET version = excluded.version
), saved AS (
    INSERT INTO saved_searches (id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at)
    SELECT id, 'bench-saved', id::text, filter, '{new,price_drop,back}', schedule, 'active', now(), now(), now()
    FROM unnest($1::uuid[], $2::jsonb[], $3::jsonb[]) s (id, filter, schedule)
)
INSERT INTO saved_targets (id, tenant, search, kind, label, token, created_at, updated_at)
SELECT gen_random_uuid(), 'bench-saved', id, CASE WHEN nr % 2 = 0 THEN 'feed' ELSE 'webhook' END, '',
    sha256(id::text::bytea), now(), now()
FROM unnest($1::uuid[]) WITH ORDINALITY i (id, nr)`

// saveSearches puts searches in place of those that are there: half of them have a feed, half a webhook that is told
// once a day, so that nothing is sent while it is measured.
func (h *system) saveSearches(ctx context.Context, list []saved.Search) error {
	var ids []uuid.UUID
	var filters, schedules []string
	for _, s := range list {
		filter, err := json.Marshal(s.Filter)
		if err != nil {
			return err
		}
		schedule, err := json.Marshal(s.Schedule)
		if err != nil {
			return err
		}
		ids, filters, schedules = append(ids, s.ID), append(filters, string(filter)), append(schedules, string(schedule))
	}
	return h.everyTenant(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlBenchSaved, ids, filters, schedules)
		return err
	})
}

// everyTenant runs statements over the rows of all tenants.
func (h *system) everyTenant(ctx context.Context, do func(pgx.Tx) error) error {
	return db.SystemTx(ctx, h.db, do)
}

// New listings like those that are there, in one transaction, with their homes and events.
const sqlBenchNew = `
WITH sample AS (
    SELECT r.*, l.details, l.words, row_number() OVER (ORDER BY r.id) AS nr
    FROM raw_listings r JOIN listings l USING (id) WHERE r.platform_id < '95' ORDER BY r.id LIMIT 50
), places AS (SELECT array_agg(key ORDER BY key) AS keys FROM neighbourhoods), copies AS MATERIALIZED (
    SELECT s.*, u.id AS new_id, u.id::text AS new_platform_id, 45.41 + random() * 0.28 AS lat,
        -73.95 + random() * 0.46 AS lon, (60000 + random() * 250000)::bigint AS rent, (random() * 4)::int AS rooms,
        keys[1 + (random() * (cardinality(keys) - 1))::int] AS place, ' mot' || (random() * $2)::int AS word
    FROM places, unnest($1::uuid[]) WITH ORDINALITY u (id, nr) JOIN sample s ON s.nr = u.nr % 50 + 1
), raw AS (
    INSERT INTO raw_listings (id, platform, platform_id, url, payload, content_hash, revision, status, normalized,
        normalized_revision, settled_revision, first_scraped_at, last_scraped_at, payload_at, revised_at)
    SELECT new_id, platform, new_platform_id, url, payload, content_hash, 1, 'imported', normalized, 1, 1, now(), now(),
        now(), now()
    FROM copies
), listed AS (
    INSERT INTO listings (id, platform, platform_id, revision, status, url, title, description, rent_cents, bedrooms,
        rooms, property_type, address, latitude, longitude, neighbourhood, details, details_hash, published_at,
        updated_at, words)
    SELECT new_id, platform, new_platform_id, 1, 'active', url, (details->>'title') || word, details->>'description',
        rent, rooms, rooms + 2.5, 'apartment', details->'address'->>'text', lat, lon, place, details,
        new_id::text::bytea, now(), now(), words
    FROM copies
), members AS (
    INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at)
    SELECT new_id, new_id, '{}', rent, now() FROM copies
)
INSERT INTO listing_events (listing_id, revision, kind, at, new_rent_cents, new_status)
SELECT new_id, 1, 'created', clock_timestamp(), rent, 'active' FROM copies RETURNING id`

// newEvents are events that are committed and not compared, as far as is known.
type newEvents struct {
	mu   sync.Mutex
	at   map[int64]time.Time // of its commit
	took []time.Duration
}

// look notes which events are gone from the queue.
func (e *newEvents) look(ctx context.Context, h *system) error {
	e.mu.Lock()
	var asked []int64
	for id := range e.at {
		asked = append(asked, id)
	}
	e.mu.Unlock()
	rows, _ := h.db.Query(ctx, "SELECT event FROM saved_queue WHERE event = ANY ($1)", asked)
	left, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	now, waiting := time.Now(), map[int64]bool{}
	for _, id := range left {
		waiting[id] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range asked {
		if !waiting[id] {
			e.took = append(e.took, now.Sub(e.at[id]))
			delete(e.at, id)
		}
	}
	return nil
}

// publishNew stores new listings, ten at once, at the rate, and returns their IDs when all are compared.
func (h *system) publishNew(ctx context.Context, during time.Duration, events *newEvents) (ids []uuid.UUID, err error) {
	const together = 10
	var looking sync.WaitGroup
	defer looking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looking.Go(func() {
		for ctx.Err() == nil {
			_ = events.look(ctx, h) // the last look says whether it works
			time.Sleep(20 * time.Millisecond)
		}
	})
	tick := time.NewTicker(time.Second * together / savedRate)
	defer tick.Stop()
	for range int(during.Seconds()) * savedRate / together {
		some := make([]uuid.UUID, together)
		for i := range some {
			some[i] = uuid.New()
		}
		rows, _ := h.db.Query(ctx, sqlBenchNew, some, savedWords-1)
		made, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
		events.mu.Lock()
		for _, id := range made {
			events.at[id] = time.Now()
		}
		events.mu.Unlock()
		ids = append(ids, some...)
		<-tick.C
	}
	for waiting := 1; waiting > 0 && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if err := h.db.QueryRow(ctx, "SELECT count(*) FROM saved_queue").Scan(&waiting); err != nil {
			return nil, err
		}
	}
	return ids, events.look(ctx, h)
}

// savedFeed stores new listings at the rate beside some searches; without searches, also without the trigger.
func (h *system) savedFeed(ctx context.Context, how string, searches []saved.Search, report *Report) error {
	if err := h.tenantOfSearches(ctx); err != nil {
		return err
	}
	if err := h.saveSearches(ctx, searches); err != nil {
		return fmt.Errorf("save %d searches: %w", len(searches), err)
	}
	if searches == nil {
		if _, err := h.db.Exec(ctx, "ALTER TABLE listing_events DISABLE TRIGGER saved_enqueue"); err != nil {
			return err
		}
		defer func() { _, _ = h.db.Exec(ctx, "ALTER TABLE listing_events ENABLE TRIGGER saved_enqueue") }()
	}
	if _, err := h.publishNew(ctx, 3*time.Second, &newEvents{at: map[int64]time.Time{}}); err != nil { // they are read now
		return err
	}
	if _, err := h.db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	before, events := processes(), &newEvents{at: map[int64]time.Time{}}
	ids, err := h.publishNew(ctx, savedFor, events)
	if err != nil {
		return err
	}
	r := Saved{How: how, Searches: len(searches), Listings: len(ids), Worker: held()["worker"]}
	r.CPU = cost(before, float64(len(ids))/1000)
	if searches != nil {
		r.Millis = percentiles(events.took)
	}
	var matches int
	if err := h.everyTenant(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT count(*) FROM saved_matches WHERE listing = ANY ($1)", ids).Scan(&matches)
	}); err != nil {
		return err
	}
	r.Matches = float64(matches) / float64(len(ids))
	if r.Looked, err = h.looked(ctx, searches, ids, matches); err != nil {
		return err
	}
	report.Saved = append(report.Saved, r)
	return nil
}

func (h *system) tenantOfSearches(ctx context.Context) error {
	return h.everyTenant(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO tenants (id, name, tier, created_at, updated_at)
			VALUES ('bench-saved', 'Bench', 'standard', now(), now()) ON CONFLICT DO NOTHING`)
		return err
	})
}

// looked is with how many searches a listing is compared. It fails when a listing meets others than it was told of.
func (h *system) looked(ctx context.Context, searches []saved.Search, ids []uuid.UUID, matches int) (float64, error) {
	index := saved.NewIndex()
	for _, s := range searches {
		index.Put(s)
	}
	rows, _ := h.db.Query(ctx, `SELECT platform, neighbourhood, rent_cents, bedrooms, latitude, longitude, title,
		description, address FROM listings WHERE id = ANY ($1)`, ids)
	listings, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l saved.Listing, err error) {
		return l, row.Scan(&l.Platform, &l.Neighbourhood, &l.RentCents, &l.Bedrooms, &l.Latitude, &l.Longitude, &l.Title,
			&l.Description, &l.Address)
	})
	if err != nil {
		return 0, err
	}
	looked, met := 0, 0
	for i := range listings {
		looked += index.Meet(&listings[i], nil, func(*saved.Search, bool) { met++ })
	}
	if met != matches {
		return 0, fmt.Errorf("%d listings meet searches %d times, and %d matches were stored", len(ids), met, matches)
	}
	return float64(looked) / float64(len(ids)), nil
}

// savedMemory fills indexes with searches of the mix, with polygons of as many corners as there may be, and with
// polygons that also cover a city.
func (h *system) savedMemory(ctx context.Context, report *Report) error {
	mix, err := h.mixOfSearches(ctx, savedMany)
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same in every run
	polygon := func(metres float64, bedrooms ...int) saved.Criteria {
		return saved.Criteria{
			Polygon:  around(dice, 45.41+dice.Float64()*.28, -73.95+dice.Float64()*.46, metres, saved.MaxCorners),
			Bedrooms: bedrooms,
		}
	}
	measure := func(how string, filter func(int) saved.Criteria) {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		index := saved.NewIndex()
		for i := range savedMany {
			index.Put(saved.Search{
				ID: uuid.New(), Tenant: "bench-saved", Name: fmt.Sprint("search ", i), Filter: filter(i), Kinds: saved.Kinds,
				State: saved.Active,
			})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		mib := float64(after.HeapAlloc-before.HeapAlloc) / (1 << 20)
		report.Indexed = append(report.Indexed, Indexed{how, index.Len(), mib})
		runtime.KeepAlive(index)
	}
	measure("the mix", func(i int) saved.Criteria { return mix[i].Filter })
	measure("polygons of 500 corners, 2 km around", func(int) saved.Criteria { return polygon(2000, 2) })
	measure("polygons of 500 corners, 20 km around, ten numbers of bedrooms", func(int) saved.Criteria {
		return polygon(20_000, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	})
	return nil
}

// savedTrigger inserts events of listings one by one, with the trigger and without, in turns, while no role runs.
func (h *system) savedTrigger(ctx context.Context, report *Report) error {
	h.stop()
	defer func() { _ = h.restart() }()
	var listing uuid.UUID
	if err := h.db.QueryRow(ctx, "SELECT id FROM listings LIMIT 1").Scan(&listing); err != nil {
		return err
	}
	const turns, transactions, each = 6, 25, 1000
	cpu := map[bool]time.Duration{}
	rent := 0
	for turn := range 2 * turns {
		with := turn%2 == 0
		verb := "DISABLE"
		if with {
			verb = "ENABLE"
		}
		if _, err := h.db.Exec(ctx, "ALTER TABLE listing_events "+verb+" TRIGGER saved_enqueue"); err != nil {
			return err
		}
		before := processes()["postgres"]
		for range transactions {
			b := new(pgx.Batch)
			for range each {
				rent++
				b.Queue(`INSERT INTO listing_events (listing_id, revision, kind, at, old_rent_cents, new_rent_cents)
					VALUES ($1, 1, 'price', now(), $2, $3)`, listing, rent, rent+1)
			}
			if err := db.Tx(ctx, h.db, func(tx pgx.Tx) error { return tx.SendBatch(ctx, b).Close() }); err != nil {
				return err
			}
		}
		cpu[with] += processes()["postgres"] - before
	}
	const events = turns * transactions * each
	report.Triggered = append(report.Triggered, Triggered{
		events, float64(cpu[true].Microseconds()) / events, float64(cpu[false].Microseconds()) / events,
	})
	_, err := h.db.Exec(ctx, "ALTER TABLE listing_events ENABLE TRIGGER saved_enqueue; TRUNCATE saved_queue")
	return err
}

func (r Report) printSaved(w io.Writer) {
	table(w, fmt.Sprintf("\n%d new listings a second beside saved searches; lag is from commit to commit:", savedRate),
		"searches\tlistings\tlag p50 ms\tp95\tlooked at each\tmet\tworker MiB\t", r.Saved, func(t io.Writer, s Saved) {
			fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f\t%.1f\t%.1f\t%d\t  CPU-ms each: %s\n", s.How, s.Listings, s.Millis["p50"],
				s.Millis["p95"], s.Looked, s.Matches, s.Worker, list(s.CPU, 0.005, "%.2f"))
		})
	for _, i := range r.Indexed {
		fmt.Fprintf(w, "index of %d saved searches, %s: %.1f MiB\n", i.Searches, i.How, i.MiB)
	}
	for _, t := range r.Triggered {
		fmt.Fprintf(w, "an event of a listing, Postgres, of %d: %.1f CPU-µs with the trigger, %.1f without\n", t.Events,
			t.With, t.Without)
	}
}
