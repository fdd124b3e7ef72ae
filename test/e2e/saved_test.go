package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/notify"
)

// A hookCall is a request that a hook has answered.
type hookCall struct {
	delivery string
	signed   bool
	status   int
	items    []newsItem
}

// newsItem is what is told of a home.
type newsItem struct {
	Kind         string
	URL          string
	RentCents    int64  `json:"rent_cents"`
	OldRentCents *int64 `json:"old_rent_cents"`
}

// hook is a webhook of a stranger.
type hook struct {
	URL string

	mu     sync.Mutex
	secret string
	fail   int // requests that are answered with 500 before it is well again
	calls  []hookCall
}

func newHook(t *testing.T) *hook {
	t.Helper()

	h := new(hook)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	h.mu.Lock()
	defer h.mu.Unlock()
	call := hookCall{delivery: r.Header.Get(notify.IDHeader), status: http.StatusOK}
	call.signed = r.Header.Get(notify.SignatureHeader) ==
		"v1="+notify.Sign(h.secret, call.delivery, r.Header.Get(notify.TimeHeader), body)
	var told struct{ Items []newsItem }
	_ = json.Unmarshal(body, &told) // what cannot be read has no items
	call.items = told.Items
	if h.fail > 0 {
		h.fail--
		call.status = http.StatusInternalServerError
	}
	h.calls = append(h.calls, call)
	w.WriteHeader(call.status)
}

func (h *hook) set(change func(*hook)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// seen returns the requests so far.
func (h *hook) seen() []hookCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hookCall(nil), h.calls...)
}

// A tenant's saved search tells its webhook and its feed of an advert that meets it, and of a fall of its rent, each
// once, also when the webhook is down at first; of other adverts it tells nothing.
func TestASavedSearchTellsItsNews(t *testing.T) {
	t.Parallel()

	h := newHook(t)
	p := newPost(t, "CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(h.URL, "http://"))
	require.NoError(t, db.NewTenants(p.db).Create(t.Context(),
		db.Tenant{ID: "acme", Name: "acme", Tier: campaign.Standard, CreatedAt: time.Now()}, "test"))
	p.start("api")
	p.start("worker")
	p.start("bridge")
	p.ready()
	p.eventually("the API answers", func() bool { return p.get("/health", nil) == http.StatusOK })

	made, err := http.Post(p.world.api+"/searches?tenant=acme", "application/json", strings.NewReader(
		`{"name":"4½ under 1,500","filter":{"max_price":1500,"bedrooms":[2],"text":"rénové"},
		"targets":[{"kind":"webhook","url":"`+h.URL+`/hook"},{"kind":"feed"}]}`))
	require.NoError(t, err)
	defer made.Body.Close()
	var search struct {
		ID      uuid.UUID
		Targets []struct {
			Secret  string
			AtomURL string `json:"atom_url"`
			JSONURL string `json:"json_url"`
		}
	}
	require.Equal(t, http.StatusCreated, made.StatusCode)
	require.NoError(t, json.NewDecoder(made.Body).Decode(&search))
	require.Len(t, search.Targets, 2)
	h.set(func(h *hook) { h.secret = search.Targets[0].Secret })

	// feed returns the news of the feed, newest first.
	feed := func() []newsItem {
		t.Helper()
		var f struct {
			Items []struct {
				Home newsItem `json:"_conveyor"`
			}
		}
		path, ok := strings.CutPrefix(search.Targets[1].JSONURL, p.world.api)
		require.True(t, ok, "the address of the feed is of the API")
		require.Equal(t, http.StatusOK, p.get(path, &f))
		items := make([]newsItem, len(f.Items))
		for i, item := range f.Items {
			items[i] = item.Home
		}
		return items
	}
	// deliveries counts those of all tenants that meet a condition.
	deliveries := func(where string) (n int) {
		t.Helper()
		b := new(pgx.Batch)
		b.Queue("SELECT set_config('conveyor.tenant', '*', true)")
		b.Queue("SELECT count(*) FROM saved_deliveries WHERE " + where).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		require.NoError(t, p.db.SendBatch(t.Context(), b).Close())
		return n
	}
	// settled waits until so many versions were published, and nothing is left to be compared or told.
	settled := func(versions int) {
		t.Helper()
		p.eventually("everything is told", func() bool {
			return one[int](p.world, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.published'") == versions &&
				one[int](p.world, "SELECT count(*) FROM saved_queue") == 0 &&
				deliveries("state IN ('waiting', 'started')") == 0
		})
	}

	rented := func(cents int) func(map[string]any) {
		return with("price", map[string]any{"amount_cents": cents, "type": "FIXED"})
	}
	p.publish("scraped", "kijiji", advert("9801"), advert("9802", rented(250_000),
		with("address", "4000 Rue Saint-Denis, Montréal, QC H2W 2M5"), with("latitude", 45.5197), with("longitude", -73.5771)))
	settled(2)
	calls := h.seen()
	require.Len(t, calls, 1)
	require.True(t, calls[0].signed)
	require.Len(t, calls[0].items, 1)
	first := calls[0].items[0]
	require.Equal(t, "new", first.Kind)
	require.Equal(t, "https://www.kijiji.ca/v-appartement/9801", first.URL)
	require.Equal(t, []newsItem{first}, feed())

	h.set(func(h *hook) { h.fail = 2 })
	p.publish("scraped", "kijiji", advert("9801", rented(139_500), with("scraped_at", "2026-01-11T12:00:00Z")))
	settled(3)
	calls = h.seen()[1:]
	require.Len(t, calls, 3, "two tries that failed, and one that did not")
	for i, status := range []int{500, 500, 200} {
		require.Equal(t, status, calls[i].status)
		require.True(t, calls[i].signed)
		require.Equal(t, calls[0].delivery, calls[i].delivery)
	}
	require.Len(t, calls[2].items, 1)
	fell := calls[2].items[0]
	require.Equal(t, newsItem{"price_drop", first.URL, 139_500, new(int64(145_000))}, fell)
	require.Equal(t, []newsItem{fell, first}, feed())
	require.Equal(t, 2, deliveries("state = 'sent' AND tries IN (0, 2)"))
}
