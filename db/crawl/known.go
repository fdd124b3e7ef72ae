package crawl

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// maxKnown is how many URLs a process remembers of all its runs together, some 70 bytes each.
const maxKnown = 500_000

// knownURLs are URLs that are in the frontier, and how far from the seed at most. Rows of a run neither go nor grow in
// depth, so what is remembered stays true, unless Postgres loses commits: sqlCrawlLockKnown. Most links
// of a page need not be sent to Postgres: pages of a site link to the same ones over and over.
type knownURLs struct {
	mu    sync.Mutex
	runs  map[int64]*knownRun
	count int
}

type knownRun struct {
	all  *knownURLs
	urls map[uuid.UUID]knownURL
	from learnedFrom
}

// learnedFrom says when the last URL was learned.
type learnedFrom struct {
	seq    int64      // of the run
	server *time.Time // when the server was started that said so; nil = none has
}

type knownURL struct {
	id    int64
	depth int32
}

// of returns what is known of a run. When too much is known, all of it is forgotten.
func (k *knownURLs) of(run int64) *knownRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.count > maxKnown {
		k.runs, k.count = nil, 0
	}
	if k.runs == nil {
		k.runs = map[int64]*knownRun{}
	}
	r := k.runs[run]
	if r == nil {
		r = &knownRun{all: k, urls: map[uuid.UUID]knownURL{}}
		k.runs[run] = r
	}
	return r
}

// forget makes nothing known of a run.
func (k *knownURLs) forget(run int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.runs[run]; r != nil {
		k.count -= len(r.urls)
		delete(k.runs, run)
	}
}

func (r *knownRun) learned() learnedFrom {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	return r.from
}

// linkedPages are the pages of a batch and their links, by columns.
type linkedPages struct {
	ids    []int64
	known  []string // the links that are known, an array of bigint as text
	leases []int64
}

// foundURLs are links that are not known, or not by so short a way, by columns.
type foundURLs struct {
	keys              []uuid.UUID
	urls, raws, hosts []string
	parents           []int64
	learned           map[uuid.UUID]knownURL
}

// sort splits the links of results. A URL that several pages of the batch link to is found once for each.
func (r *knownRun) sort(results []crawl.Result) (pages linkedPages, found foundURLs) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	var have strings.Builder
	for _, p := range results {
		if len(p.Links) == 0 {
			continue
		}
		have.Reset()
		for _, l := range p.Links {
			key := db.URLKey(l.URL)
			if k, ok := r.urls[key]; ok && int(k.depth) <= p.Depth+1 {
				appendNumber(&have, k.id)
				continue
			}
			found.keys, found.parents = append(found.keys, key), append(found.parents, p.ID)
			found.urls, found.hosts = append(found.urls, db.Storable(l.URL)), append(found.hosts, l.Host)
			found.raws = append(found.raws, db.Storable(l.Raw))
		}
		pages.ids, pages.leases = append(pages.ids, p.ID), append(pages.leases, p.Lease)
		pages.known = append(pages.known, "{"+have.String()+"}")
	}
	return pages, found
}

func appendNumber(b *strings.Builder, n int64) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(strconv.FormatInt(n, 10))
}

// learn reads the result of sqlCrawlConnect.
func (f *foundURLs) learn(rows pgx.Rows) error {
	f.learned = make(map[uuid.UUID]knownURL, len(f.keys))
	var ord, id int64
	var depth int32
	_, err := pgx.ForEachRow(rows, []any{&ord, &id, &depth}, func() error {
		f.learned[f.keys[ord-1]] = knownURL{id, depth}
		return nil
	})
	return err
}

// add remembers what was found, after the commit that it was learned from.
func (r *knownRun) add(f foundURLs, from learnedFrom) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	from.seq = max(r.from.seq, from.seq)
	r.from = from
	before := len(r.urls)
	maps.Copy(r.urls, f.learned)
	r.all.count += len(r.urls) - before
}
