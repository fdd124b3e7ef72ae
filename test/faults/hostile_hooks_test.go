package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	crawling "github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// hostileManners are those of the hostile tenant's webhooks, each a host of its own: what one of them takes of the
// turns of a host, it takes of its tenant, too.
var hostileManners = []string{"angry", "mute", "silent"}

// hostileHooks are webhooks that never take anything: angry ones answer 500, mute ones hang up, silent ones do not
// answer. Those below /sworn confirm that they want news first. Once they are calm, all say that they are gone.
type hostileHooks struct {
	calm  chan struct{}
	asked atomic.Int64 // how often
}

func (h *hostileHooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var told struct{ Challenge string }
	manner := strings.TrimPrefix(r.URL.Path, "/sworn")
	if manner != r.URL.Path && json.Unmarshal(body, &told) == nil && told.Challenge != "" {
		_, _ = io.WriteString(w, told.Challenge)
		return
	}
	select {
	case <-h.calm:
		w.WriteHeader(http.StatusGone)
		return
	default:
	}
	switch manner {
	case "/angry":
		w.WriteHeader(http.StatusInternalServerError)
	case "/mute":
		panic(http.ErrAbortHandler)
	case "/silent":
		select {
		case <-r.Context().Done():
		case <-h.calm:
			w.WriteHeader(http.StatusGone)
		}
	}
}

// newHostileHooks starts the webhooks, and returns the hosts of their manners.
func newHostileHooks(t *testing.T) (h *hostileHooks, hosts []string) {
	t.Helper()
	h = &hostileHooks{calm: make(chan struct{})}
	for i := range hostileManners {
		hosts = append(hosts, strings.TrimPrefix(serveAt(t, fmt.Sprintf("127.0.3.%d", i+1))(h).URL, "http://"))
	}
	return h, hosts
}

// hostileSearch is a search that most adverts are news of, with ten webhooks: four confirm that they want news. Some of
// these searches take much room in the index.
func hostileSearch(hosts []string, n int) string {
	filter := "{}"
	if n%10 == 9 {
		filter = fmt.Sprintf(`{"bbox":[%d,30,%d,60]}`, -120+n%40, -100+n%40)
	}
	targets := make([]string, 10)
	for i := range targets {
		at := i % len(hosts)
		path := "/" + hostileManners[at]
		if i < 4 {
			path = "/sworn" + path
		}
		targets[i] = fmt.Sprintf(`{"kind":"webhook","url":"http://%s%s?%d"}`, hosts[at], path, i)
	}
	return fmt.Sprintf(`{"name":"%d %s","filter":%s,"targets":[%s]}`, n, uuid.New(), filter, strings.Join(targets, ","))
}

// A hostileTarget is a webhook of a search.
type hostileTarget struct{ search, target uuid.UUID }

// searched notes a search that was saved.
func (m *mallory) searched(answer []byte) {
	var s struct {
		ID      uuid.UUID
		Targets []struct {
			ID   uuid.UUID
			Kind string
		}
	}
	if json.Unmarshal(answer, &s) != nil {
		return
	}
	for _, t := range s.Targets {
		if t.Kind == "webhook" {
			m.targets = append(m.targets, hostileTarget{s.ID, t.ID})
		}
	}
}

// challenge is the path by which the i-th of its webhooks is asked again whether it wants news, in turn.
func (m *mallory) challenge(i int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var t hostileTarget
	if len(m.targets) > 0 {
		t = m.targets[i%len(m.targets)]
	}
	return fmt.Sprintf("/searches/%s/targets/%s/challenge", t.search, t.target)
}

// forget deletes its searches: the next attack may have as many.
func (m *mallory) forget(ctx context.Context) error {
	m.mu.Lock()
	left := map[uuid.UUID]bool{}
	for _, t := range m.targets {
		left[t.search] = true
	}
	m.targets = nil
	m.mu.Unlock()
	for search := range left {
		var code int
		if err := eventually(ctx, servicetest.Patience(), func() (ok bool) {
			code, _, _ = m.w.ask(ctx, m.client, "mallory", "DELETE", fmt.Sprintf("/searches/%s", search), nil)
			return code/100 == 2
		}); err != nil {
			return fmt.Errorf("delete search %s: answered %d: %w", search, code, err)
		}
	}
	return nil
}

// crawled crawls a site twice, for those who follow one run and compare it with the other.
func (w *world) crawled(site string, pages int) (runs [2]int64) {
	settings := crawling.Defaults
	settings.MaxDepth, settings.MaxPages = 1000, 10*pages
	var both sync.WaitGroup
	for i := range runs {
		both.Go(func() {
			run, err := w.startCrawl(site+"/", settings)
			if err == nil {
				err = eventually(w.ctx, 2*servicetest.Patience(), func() bool { return w.crawlState(run) == crawling.Completed })
			}
			if err != nil {
				w.t.Errorf("run %d: %v: %s", run, err, w.crawlProgress(run))
			}
			runs[i] = run
		})
	}
	both.Wait()
	require.False(w.t, w.t.Failed())
	return runs
}
