package api_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// withoutTurns are the operations that stream, or have more time than others, and yet take no turns; to add one is a
// decision.
var withoutTurns = map[string]string{
	"watch-events":  "has turns of its own, and waits rather than works",
	"watch-upload":  "has turns of its own, and waits rather than works",
	"create-upload": "has turns of its own, by the file",

	"list-crawl-urls": "pages by an index, counted up to 10,000; the console asks for several at once while one scrolls",
	"get-image":       "a file as it lies in the blob store", "get-draft-file": "a file as it lies in the blob store",

	"list-neighbourhoods":  "of 91 districts, read once a minute",
	"list-adverts":         "looks at the next 10,000 by an index",
	"count-advert-reasons": "for callers of the house",

	"retry-crawl-run":     "a change by callers of the house, limited by the rate of changes",
	"replay-dead-letters": "as retry-crawl-run", "discard-dead-letters": "as retry-crawl-run",
	"reseal-tokens": "as retry-crawl-run",
}

// operations are those of all parts.
func operations() map[string]api.Operation {
	p := &apitest.Parts{}
	p.Metrics, p.Registerer = prometheus.NewRegistry(), prometheus.NewRegistry()
	p.Uploads.Limits = apioutreach.UploadLimits{Bytes: 1 << 30, Share: 5000, All: 40_000, Low: 80}
	p.Log, p.Now = apitest.Quiet, func() time.Time { return apitest.Now }
	return api.Operations(p.Options, p.List()...)
}

// A megabyte of JSON may come over a slow link, and its handler has its time all the same.
func TestBodiesHaveTimeToArrive(t *testing.T) {
	t.Parallel()
	seen := 0
	for id, o := range operations() {
		if o.Body > 0 {
			seen++
			require.Equal(t, 20*time.Second, o.Body, id)
		}
	}
	require.Greater(t, seen, 30)
}

// Every operation that is as heavy as an export, or may take longer than others, is in the table of those that take
// turns, or among those which need none.
func TestHeavyOperationsTakeTurns(t *testing.T) {
	t.Parallel()
	all := operations()
	for id, o := range all {
		if _, ok := withoutTurns[id]; o.Heavy == ok && (ok || o.Streamed || o.Within > api.Usual) {
			t.Errorf("%s streams (%t) or may take long (%s): it is in the table of heavy operations (%t), or else among those "+
				"that need no turns (%t)", id, o.Streamed, o.Within, o.Heavy, ok)
		}
		if o.Heavy && o.Rows > 0 {
			require.LessOrEqual(t, o.Limit, o.Rows, "%s has a parameter limit that is greater than its bound of rows", id)
		}
	}
	for _, id := range api.HeavyOperations() {
		require.Contains(t, all, id, "the table of heavy operations names one that there is not")
	}
	for id := range withoutTurns {
		o := all[id]
		require.True(t, o.Streamed || o.Within > api.Usual, "%s needs no reason to take no turns", id)
	}
	setting, ok := reflect.TypeFor[config.Postgres]().FieldByName("MaxConns")
	require.True(t, ok)
	connections, err := strconv.Atoi(setting.Tag.Get("envDefault"))
	require.NoError(t, err)
	require.Equal(t, api.MostTurns(0), api.MostTurns(connections), "the turns are those of the usual pool")
	for n := 2; n < 200; n++ {
		require.LessOrEqual(t, api.MostTurns(n), max(1, n*3/4), "the others have connections, too")
	}
}

// status sends a request and returns the status of the answer, 0 where there is no answer.
func status(ctx context.Context, method, address, body string) int {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A hundred heavy requests of a tenant are as many turns as it has, and 429 for the others. Other tenants, and what is
// cheap, are answered all the while.
func TestHeavyRequestsLeaveRoom(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	apitest.Tenant(t, d.Pool, "rival")
	segment, err := d.Contacts.Store.PutSegment(t.Context(), "acme", dboutreach.Segment{ID: uuid.New(), Name: "x"}, "test", apitest.Now)
	require.NoError(t, err)
	waiting, release := dbtest.Locked(t, d.Pool, "contacts")
	heavy := []func() int{
		func() int {
			return status(t.Context(), http.MethodPost, d.Address+"/contacts/export?tenant=acme", "{}")
		},
		func() int {
			return status(t.Context(), http.MethodPost, d.Address+"/contacts/search?tenant=acme", "{}")
		},
		func() int { return status(t.Context(), http.MethodPost, d.Address+"/contacts/count?tenant=acme", "{}") },
		func() int {
			return status(t.Context(), http.MethodGet, d.Address+"/segments/"+segment.ID.String()+"?tenant=acme", "")
		},
		func() int { return status(t.Context(), http.MethodGet, d.Address+"/opt-outs?tenant=acme", "") },
	}
	const all, turns = 100, 3 // an export, and two searches
	answers := make(chan int, all)
	for i := range all {
		go func() { answers <- heavy[i%len(heavy)]() }()
	}
	waiting(turns)
	for range 20 { // while the others wait for a turn, or have got none
		require.Equal(t, 200, d.Get(t, "/listings?limit=1").Status)
		require.Equal(t, 200, d.Get(t, "/searches?tenant=rival").Status)
	}
	for range all - turns {
		require.Equal(t, http.StatusTooManyRequests, <-answers)
	}
	waiting(turns)
	again := d.Ask(t, http.MethodPost, "/contacts/export?tenant=acme", "{}")
	p := apitest.Refused(t, again, http.StatusTooManyRequests)
	require.NotEmpty(t, again.Header.Get("Retry-After"))
	require.Contains(t, p.Detail, "too many exports at once, of the tenant acme or of all: wait until one has ended")
	go func() {
		answers <- status(t.Context(), http.MethodPost, d.Address+"/contacts/search?tenant=rival", "{}")
	}()
	waiting(turns + 1)
	release()
	for range turns + 1 {
		require.Equal(t, 200, <-answers)
	}
	require.Equal(t, 200, d.Ask(t, http.MethodPost, "/contacts/export?tenant=acme", "{}").Status)
}

// Counts of listings leave connections to what is cheap.
func TestCountsTakeTurns(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	waiting, release := dbtest.Locked(t, d.Pool, "listings")
	const all, turns = 30, 2
	answers := make(chan int, all)
	for range all {
		go func() { answers <- status(t.Context(), http.MethodGet, d.Address+"/listings/count?min_area=99999", "") }()
	}
	waiting(turns)
	for range all - turns {
		require.Equal(t, http.StatusTooManyRequests, <-answers)
		require.Equal(t, 200, d.Get(t, "/searches?tenant=acme").Status)
	}
	release()
	for range turns {
		require.Equal(t, 200, <-answers)
	}
}

// Searches of listings leave connections to what is cheap, also where all are of one caller. Those by what indexes have
// take no turn.
func TestSearchesOfListingsTakeTurns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path  string
		turns int
	}{
		{"/listings?text=balcony&sort=relevance", 2},
		{"/listings?text=balcony&sort=price", 6},
		{"/listings?available_by=1990-01-01", 6},
		{"/listings/cells?bbox=-180,-90,180,90", 6},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			d, _ := apitest.Outreach(t)
			waiting, release := dbtest.Locked(t, d.Pool, "listings")
			const all, few = 12, 3
			answers, light := make(chan int, all), make(chan int, all)
			for range all {
				go func() { answers <- status(t.Context(), http.MethodGet, d.Address+tt.path, "") }()
			}
			waiting(tt.turns)
			for range all - tt.turns {
				require.Equal(t, http.StatusTooManyRequests, <-answers)
				require.Equal(t, 200, d.Get(t, "/searches?tenant=acme").Status)
			}
			for range few {
				go func() {
					light <- status(t.Context(), http.MethodGet, d.Address+"/listings?max_price=900&bedrooms=2&sort=price", "")
				}()
			}
			waiting(tt.turns + few)
			release()
			for range tt.turns {
				require.Equal(t, 200, <-answers)
			}
			for range few {
				require.Equal(t, 200, <-light)
			}
		})
	}
}

// Changes that wait for one another's rows hold one connection of the pool.
func TestChangesTakeTurns(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	list, err := d.Contacts.Store.CreateList(t.Context(), "acme", "people", "test", apitest.Now)
	require.NoError(t, err)
	waiting, release := dbtest.Locked(t, d.Pool, "contact_list_members")
	const all = 5
	answers := make(chan int, all)
	for range all {
		go func() {
			answers <- status(t.Context(), http.MethodPost, d.Address+"/contact-lists/"+list.ID.String()+"/members?tenant=acme", `{"add":[1]}`)
		}()
	}
	for range all - 1 {
		require.Equal(t, http.StatusTooManyRequests, <-answers)
	}
	waiting(1)
	release()
	require.Equal(t, 200, <-answers)
}

// A caller that goes away gives its turn back, whether it is waited for in the handler or while the answer is written.
func TestHeavyRequestsThatGoAway(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	run := dbtest.CrawlSite(t, d.Pool)
	for _, r := range []struct{ table, method, path, body string }{
		{"contacts", http.MethodPost, "/contacts/search?tenant=acme", "{}"},
		{"crawl_urls", http.MethodGet, fmt.Sprintf("/crawl-runs/%d/export?format=csv", run), ""},
	} {
		waiting, release := dbtest.Locked(t, d.Pool, r.table)
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan int)
			go func() { gone <- status(ctx, r.method, d.Address+r.path, r.body) }()
			waiting(1) // so it has a turn, of which there are fewer than five
			cancel()
			require.Zero(t, <-gone)
			waiting(0)
		}
		release()
		require.Eventually(t, func() bool {
			return status(t.Context(), r.method, d.Address+r.path, r.body) == 200
		}, servicetest.Patience(), 5*time.Millisecond)
	}
}
