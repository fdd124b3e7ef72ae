package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

// sqlFill makes adverts with the given IDs and platform IDs like those that are there, spread over the city and the
// last ninety days.
const sqlFill = `
WITH sample AS (
    SELECT r.*, l.published_at, l.details, l.words, row_number() OVER (ORDER BY r.id) AS nr
    FROM raw_listings r JOIN listings l USING (id) ORDER BY r.id LIMIT 200
), copies AS (
    SELECT s.*, u.id AS new_id, u.platform_id AS new_platform_id,
        45.41 + random() * 0.28 AS lat, -73.95 + random() * 0.46 AS lon, (60000 + random() * 250000)::bigint AS rent,
        (random() * 4)::int AS rooms, now() - random() * interval '90 days' AS at
    FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY u (id, platform_id, nr) JOIN sample s ON s.nr = u.nr % 200 + 1
), raw AS (
    INSERT INTO raw_listings (id, platform, platform_id, url, payload, content_hash, revision, status, normalized,
        normalized_revision, settled_revision, first_scraped_at, last_scraped_at, payload_at, revised_at)
    SELECT new_id, platform, new_platform_id, url, payload, content_hash, 1, 'imported', normalized, 1, 1, at, now(),
        at, at
    FROM copies RETURNING id
), revisions AS (
    INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
    SELECT new_id, 1, content_hash, payload, at, at FROM copies
)
INSERT INTO listings (id, platform, platform_id, revision, status, url, title, description, rent_cents, bedrooms, rooms,
    area_sqft, property_type, address, latitude, longitude, neighbourhood, details, details_hash, published_at,
    updated_at, words)
SELECT new_id, platform, new_platform_id, 1, CASE WHEN random() < 0.1 THEN 'archived' ELSE 'active' END, url,
    details->>'title', details->>'description', rent, rooms, rooms + 2.5,
    CASE WHEN random() < 0.4 THEN 250 + random() * 1250 END, 'apartment', details->'address'->>'text', lat,
    lon,
    (SELECT key FROM neighbourhoods ORDER BY hashtext(key || new_id::text) LIMIT 1),
    details || jsonb_build_object('platform_id', new_platform_id, 'latitude', lat, 'longitude', lon, 'rent_cents', rent,
        'bedrooms', rooms, 'address', coalesce(details->'address', '{}') || jsonb_build_object(
            'civic', jsonb_build_array((random() * 9999)::int::text))), new_id::text::bytea, at, at, words
FROM copies WHERE EXISTS (SELECT FROM raw)`

// fill puts n listings into the tables.
func (h *system) fill(ctx context.Context, n int) error {
	ids, platformIDs := make([]uuid.UUID, n), make([]string, n)
	for i := range n {
		ref := listing.Ref{Platform: "kijiji", PlatformID: strconv.Itoa(7_000_000_000 + i)}
		ids[i], platformIDs[i] = ref.ID(), ref.PlatformID
	}
	if _, err := h.db.Exec(ctx, sqlFill, ids, platformIDs); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if err := h.enrol(ctx); err != nil {
		return err
	}
	_, err := h.db.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// enrol makes each listing that has no home a home of its own.
func (h *system) enrol(ctx context.Context) error {
	var members [][]any
	rows, _ := h.db.Query(ctx, `SELECT details FROM listings l
		WHERE NOT EXISTS (SELECT FROM home_members WHERE listing_id = l.id)`)
	var l listing.Listing
	_, err := pgx.ForEachRow(rows, []any{&l}, func() error {
		members = append(members, []any{l.ID(), l.ID(), append([]int64{}, listing.HomeKeys(l)...), l.RentCents, time.Now()})
		l = listing.Listing{}
		return nil
	})
	if err == nil {
		_, err = h.db.CopyFrom(ctx, pgx.Identifier{"home_members"},
			[]string{"listing_id", "home_id", "keys", "rent_cents", "judged_at"}, pgx.CopyFromRows(members))
	}
	if err != nil {
		return fmt.Errorf("enrol: %w", err)
	}
	return nil
}

// homes decides anew which homes 2,000 listings are of, one after the other.
func (h *system) homes(ctx context.Context, report *Report) error {
	rows, _ := h.db.Query(ctx, `SELECT details FROM listings WHERE status = 'active' ORDER BY random() LIMIT 2000`)
	listings, err := pgx.CollectRows(rows, pgx.RowTo[listing.Listing])
	if err != nil {
		return err
	}
	store := dblistings.NewListings(h.db)
	var took []time.Duration
	var compared int
	for _, l := range listings {
		began := time.Now()
		v := listing.Version{Listing: l, Revision: 1, ReceivedAt: began}
		_, others, err := store.JoinHome(ctx, v, nil, listing.Run{}, began)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		compared += others
	}
	report.Volumes = append(report.Volumes, Volume{
		What: "decide the home of a listing", Note: fmt.Sprintf("compared with %d others in all", compared),
		Asked: len(took), Millis: percentiles(took),
	})
	return nil
}

// replay takes every listing that is there through the pipeline again, at the usual rate, until stop is called.
func (h *system) replay(ctx context.Context) (stop func() error, err error) {
	id := uuid.NewString()
	body := fmt.Sprintf(`{"id": %q, "stage": "normalize", "filter": {"status": ["imported"]}}`, id)
	if _, err := ask(ctx, http.MethodPost, h.api+"/replays", body); err != nil {
		return nil, err
	}
	return func() error {
		var started int
		err := h.db.QueryRow(ctx, "SELECT started FROM replays WHERE id = $1", id).Scan(&started)
		if err == nil && started == 0 {
			err = errors.New("the replay has started nothing, so nothing was measured")
		}
		fmt.Fprintf(os.Stderr, "bench: %d were replayed meanwhile\n", started)
		_, end := ask(ctx, http.MethodDelete, h.api+"/replays/"+id, "")
		return errors.Join(err, end)
	}, nil
}

// A Search is one filter of GET /listings and how long answers took, in milliseconds.
type Search struct {
	Query         string  `json:"query"`
	P50, P95, P99 float64 `json:"-"`
	Millis        map[string]float64
}

// searches are every filter, alone and with others. # is another number each time.
var searches = []string{
	"", "limit=100", "sort=price", "sort=-price", "status=archived", "status=any", "status=any&sort=price",
	"platform=kijiji", "platform=nobody", "neighbourhood=@", "neighbourhood=@&bedrooms=2&sort=price",
	"min_price=#", "max_price=#", "min_price=#&max_price=3000&sort=price", "min_price=#&sort=-price",
	"bedrooms=2", "bedrooms=0,3&max_price=#", "min_bedrooms=4", "min_bedrooms=9",
	"bbox=-73.60,45.50,-73.58,45.52", "bbox=-74,45,-73,46&sort=price", "bbox=-73.6,45.5,-73.59,45.51&bedrooms=2",
	"text=m%C3%A9tro", "text=balcon+chauffage", "text=%22chauffage+et+eau%22&max_price=#", "text=introuvable",
	"text=r%C3%A9nov%C3%A9&neighbourhood=@&bedrooms=1", "text=no+@", "text=appartements", "text=chauff*",
	"text=-introuvable", "text=-no", "text=-chauffage", "text=-chauffage&sort=price", "text=-balcon+-eau",
	"pets=cats", "pets=no&bedrooms=2", "furnished=yes&parking=indoor", "lease=month-to-month&sort=price", "min_area=800",
	"min_area=1495",
	"parking=yes&pets=dogs&max_price=#", "available_by=2099-01-01", "available_by=2000-01-01", "rooms=4.5&sort=price",
	"text=m%C3%A9tro&sort=relevance", "text=balcon+chauffage&sort=relevance", "text=introuvable&sort=relevance",
}

// search asks each of them a hundred times, the pages behind the first included.
func (h *system) search(ctx context.Context, report *Report) error {
	var places []string
	if err := h.db.QueryRow(ctx, "SELECT array_agg(key) FROM neighbourhoods").Scan(&places); err != nil {
		return err
	}
	for _, q := range searches {
		var took []time.Duration
		for i := range 100 {
			query := strings.NewReplacer("#", strconv.Itoa(700+i*10), "@", places[rand.IntN(len(places))]).Replace(q) //nolint:gosec // any will do
			began := time.Now()
			if _, err := ask(ctx, http.MethodGet, h.api+"/listings?"+query, ""); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		p := percentiles(took[5:]) // the first ones fill caches
		report.Search = append(report.Search, Search{Query: q, P50: p["p50"], P95: p["p95"], P99: p["p99"], Millis: p})
	}
	return nil
}

// ask sends a request and reads the answer, which must be a good one.
func ask(ctx context.Context, method, address, body string) (answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, req.URL.Redacted(), resp.Status, answer)
	}
	return answer, err
}

// Memory is the resident memory of one role while adverts went through, in MiB.
type Memory struct {
	Role  string `json:"role"`
	Early int    `json:"after_10_percent"`
	Half  int    `json:"after_50_percent"`
	End   int    `json:"at_the_end"`
	Most  int    `json:"most"`
}

// see notes the memory held when done of n adverts are through.
func (m *Memory) see(mib, done, n int) {
	m.Most = max(m.Most, mib)
	if done <= max(1, n/10) {
		m.Early = mib
	}
	if done <= n/2 {
		m.Half = mib
	}
	m.End = mib
}

// memory feeds about n messages of the real mix and looks at the roles' memory ten times a part.
func (h *system) memory(ctx context.Context, p *pipeline, adverts []advert, n int, report *Report) error {
	const parts = 10
	roles := h.roles
	seen := make([]Memory, len(roles))
	rounds := max(1, n/parts/len(adverts))
	for part := range parts {
		r, err := h.feed(ctx, p, rescrape(adverts, 11+part*rounds, rounds), 0)
		if err != nil {
			return err
		}
		if part == parts-1 {
			report.Results = append(report.Results, r)
		}
		for i, role := range roles {
			seen[i].Role = strings.Join(role.Args[1:], " ")
			seen[i].see(resident(role.Process.Pid), part+1, parts)
		}
	}
	report.Memory = append(report.Memory, seen...)
	return nil
}
