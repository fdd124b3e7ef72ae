package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// pageTime is when pages of tests were crawled.
var pageTime = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// incoming is a page of a site.
func incoming(site, path, title, text string, minute int) search.Incoming {
	return search.Incoming{
		Document: search.Document{
			URL: "https://" + site + path, Site: site, Title: title, Text: text, Language: "en", Type: "html",
			CrawledAt: pageTime.Add(time.Duration(minute) * time.Minute),
		},
		StatusCode: 200,
	}
}

// library is pages and their index, in a database of their own.
type library struct {
	*dbsearch.Pages
	index *dbsearch.SearchIndex
	pool  *pgxpool.Pool
}

func newLibrary(t testing.TB) library {
	t.Helper()
	pool := dbtest.New(t)
	return library{dbsearch.NewPages(pool), dbsearch.NewSearchIndex(pool), pool}
}

// put stores and indexes pages.
func (l library) put(t testing.TB, pages ...search.Incoming) []search.Stored {
	t.Helper()
	out, err := l.tryPut(t.Context(), pages)
	require.NoError(t, err)
	return out
}

func (l library) tryPut(ctx context.Context, pages []search.Incoming) ([]search.Stored, error) {
	out, err := l.Store(ctx, pages, time.Now())
	if err != nil {
		return nil, err
	}
	var fresh []search.Page
	for i, s := range out {
		if s.Outcome != search.OutcomeOvertaken && !s.Indexed {
			fresh = append(fresh, search.Page{ID: s.ID, Revision: s.Revision, Document: pages[i].Document})
		}
	}
	return out, l.index.Index(ctx, fresh)
}

func TestPagesStore(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	one := func(p search.Incoming) search.Stored { return l.put(t, p)[0] }
	first := one(incoming("a.example", "/", "One", "text", 0))
	require.Equal(t, search.Stored{ID: first.ID, Revision: 1, Outcome: search.OutcomeStored}, first)
	again := one(incoming("a.example", "/", "One", "text", 0))
	require.Equal(t, search.Stored{ID: first.ID, Revision: 1, Outcome: search.OutcomeUnchanged, Indexed: true}, again)
	require.Equal(t, search.OutcomeOvertaken, one(incoming("a.example", "/", "Old", "text", -1)).Outcome)
	require.Equal(t, search.Stored{ID: first.ID, Revision: 2, Outcome: search.OutcomeStored},
		one(incoming("a.example", "/", "Two", "text", 0)), "crawled at the same time, and different: the last one counts")
	require.Equal(t, int64(3), one(incoming("a.example", "/", "Two", "text", 1)).Revision, "crawled later")

	// Of a batch, the newest version of a URL is kept.
	got := l.put(t, incoming("b.example", "/", "new", "x", 5), incoming("b.example", "/", "old", "x", 4),
		incoming("b.example", "/2", "", "", 0))
	require.Equal(t, []search.Outcome{search.OutcomeStored, search.OutcomeOvertaken, search.OutcomeStored},
		[]search.Outcome{got[0].Outcome, got[1].Outcome, got[2].Outcome})
	page, err := l.Page(t.Context(), got[0].ID, 100)
	require.NoError(t, err)
	require.Equal(t, "new", page.Title)
	require.True(t, page.Indexed)
	require.Equal(t, pageTime.Add(5*time.Minute), page.CrawledAt)

	_, err = l.Page(t.Context(), 12345, 100)
	dbtest.RequireClass(t, fault.Gone, err)
	none, err := l.Store(t.Context(), nil, time.Now())
	require.NoError(t, err)
	require.Empty(t, none)
}

// Whatever comes from outside is stored, and what cannot be stored is the fault of the page.
func TestPagesStoreHostile(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	p := incoming("a.example", "/\x00", "nul \x00 broken \xff\xfe", "a\x00b '; DROP TABLE pages; --", 0)
	p.Headings = []string{"two\nlines", " ", "NULL", "{a,\"b\"}", "\x00"}
	p.Description = "\xc3("
	s := l.put(t, p)[0]
	page, err := l.Page(t.Context(), s.ID, 3)
	require.NoError(t, err)
	require.Equal(t, "a\ufffdb", page.Text, "no more than was asked for")
	require.Equal(t, "nul \ufffd broken \ufffd", page.Title)
	require.Equal(t, []string{"two lines", "NULL", "{a,\"b\"}", "\ufffd"}, page.Headings)
	require.Equal(t, search.OutcomeUnchanged, l.put(t, p)[0].Outcome)

	p = incoming("a.example", "/time", "", "", 0)
	p.CrawledAt = time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err = l.Store(t.Context(), []search.Incoming{p}, time.Now())
	dbtest.RequireClass(t, fault.Invalid, err)

	big := incoming("a.example", "/big", "Big", strings.Repeat("needle in a haystack ", 250_000), 0)
	s = l.put(t, big)[0]
	page, err = l.Page(t.Context(), s.ID, 10<<20)
	require.NoError(t, err)
	require.Len(t, page.Text, len(big.Text))
}

// Times of messages are finer than those of Postgres.
func TestPagesNanoseconds(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	p := incoming("a.example", "/", "One", "text", 0)
	p.CrawledAt = p.CrawledAt.Add(1999)
	require.Equal(t, search.OutcomeStored, l.put(t, p)[0].Outcome)
	require.Equal(t, search.OutcomeUnchanged, l.put(t, p)[0].Outcome)
}

func TestInbox(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	now := time.Now().UTC().Truncate(time.Microsecond)
	bodies := [][]byte{[]byte("one"), []byte("two"), []byte("one"), {0, 255}}
	keys, err := l.Inbox(ctx, bodies, now)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{dbsearch.InboxKey(bodies[0]), dbsearch.InboxKey(bodies[1]), keys[0], dbsearch.InboxKey(bodies[3])}, keys)
	again, err := l.Inbox(ctx, bodies, now)
	require.NoError(t, err)
	require.Equal(t, keys, again)

	read, err := l.Unread(ctx, []uuid.UUID{keys[3], uuid.New(), keys[1]})
	require.NoError(t, err)
	require.Equal(t, []search.Letter{{Key: keys[3], Body: bodies[3]}, {Key: keys[1], Body: bodies[1]}}, read)

	require.NoError(t, l.Refuse(ctx, keys[1], "no \x00 good"))
	counts, err := l.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, dbsearch.PageCounts{Waiting: 2, Refused: 1}, counts)
	left, err := l.Left(ctx, now.Add(time.Second), 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []uuid.UUID{keys[0], keys[3]}, left)

	n, err := l.Sweep(ctx, now, 10)
	require.NoError(t, err)
	require.Zero(t, n, "it is not old enough")
	_, err = l.Inbox(ctx, bodies[1:2], now.Add(time.Hour))
	require.NoError(t, err)
	n, err = l.Sweep(ctx, now.Add(2*time.Hour), 10)
	require.NoError(t, err)
	require.Zero(t, n, "a message that comes again is tried again")
	require.NoError(t, l.Refuse(ctx, keys[1], "still no good"))
	n, err = l.Sweep(ctx, now.Add(2*time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	require.NoError(t, l.Done(ctx, append(keys, uuid.New())))
	read, err = l.Unread(ctx, keys)
	require.NoError(t, err)
	require.Empty(t, read)
}

// A page that is being deleted is gone for those that index it, once it is removed from the other engines; it stays when
// they do not answer.
func TestPagesGone(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	kept := l.put(t, incoming("a.example", "/1", "One", "text", 0), incoming("a.example", "/2", "Two", "text", 0))
	ids := []int64{kept[0].ID, kept[1].ID, 12345}
	first := dbsearch.PagesWhere{URL: "https://a.example/1"}
	n, err := l.Delete(ctx, first, 1, func(context.Context, []int64) error { return errors.New("away") })
	require.ErrorContains(t, err, "away")
	require.Zero(t, n)
	gone, err := l.Gone(ctx, ids)
	require.NoError(t, err)
	require.Equal(t, []int64{12345}, gone)

	var group errgroup.Group
	n, err = l.Delete(ctx, first, 1, func(_ context.Context, removed []int64) error {
		require.Equal(t, ids[:1], removed)
		group.Go(func() (err error) {
			gone, err = l.Gone(ctx, ids)
			return err
		})
		require.Eventually(t, func() bool {
			var waits bool
			err := l.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits)
			return err == nil && waits
		}, servicetest.Patience(), 5*time.Millisecond, "it does not wait for the deletion")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, group.Wait())
	require.Equal(t, []int64{ids[0], 12345}, gone)
}

func TestPagesDelete(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	var pages []search.Incoming
	for _, site := range []string{
		"example.org", "www.example.org", "a.www.example.org", "notexample.org", "example.org:81", "org",
	} {
		for i := range 3 {
			pages = append(pages, incoming(site, fmt.Sprintf("/%d", i), site, "text", 0))
		}
	}
	l.put(t, pages...)
	for site, want := range map[string]int{
		"example.org": 9, "www.example.org": 6, "org": 15, "example.org:81": 3, "xample.org": 0, "%": 0, "": 0,
	} {
		n, err := l.Count(ctx, dbsearch.PagesWhere{Site: site})
		require.NoError(t, err)
		require.Equal(t, want, n, site)
	}
	n, err := l.Delete(ctx, dbsearch.PagesWhere{URL: "https://example.org/1"}, 10, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = l.Delete(ctx, dbsearch.PagesWhere{URL: "https://example.org/1"}, 10, nil)
	require.NoError(t, err)
	require.Zero(t, n)
	for _, want := range []int{5, 3, 0} {
		n, err := l.Delete(ctx, dbsearch.PagesWhere{Site: "example.org"}, 5, nil)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	counts, err := l.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, 9, counts.Pages)
	stats, err := l.index.Stats(ctx)
	require.NoError(t, err)
	require.Equal(t, 9, stats.Pages, "deleted pages cannot be found")

	// A page that is deleted may come again, with any time.
	back := l.put(t, incoming("example.org", "/1", "back", "text", -60))[0]
	require.Equal(t, search.OutcomeStored, back.Outcome)
}

func TestPagesAfter(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	var pages []search.Incoming
	for i := range 25 {
		pages = append(pages, incoming("a.example", fmt.Sprintf("/%d", i), "", strings.Repeat("long ", 200_000), 0))
	}
	stored, err := l.Store(t.Context(), pages, time.Now())
	require.NoError(t, err)
	seen := map[int64]bool{}
	for after, calls := int64(0), 0; ; calls++ {
		got, err := l.After(t.Context(), after, 20)
		require.NoError(t, err)
		if len(got) == 0 {
			require.Greater(t, calls, 1)
			break
		}
		require.Less(t, len(got), 20, "as much text as memory may hold")
		for _, p := range got {
			require.Greater(t, p.ID, after)
			after = p.ID
			seen[p.ID] = true
		}
	}
	require.Len(t, seen, 25)
	current, err := l.Current(t.Context(), []int64{stored[3].ID, 98765})
	require.NoError(t, err)
	require.Len(t, current, 1)
	require.Equal(t, pages[3].Document.URL, current[0].URL)
}

// Writers of the same URLs neither block one another for ever nor lose the newest version, and the index has it.
func TestPagesConcurrently(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	const urls, writers, rounds = 30, 8, 12
	var group errgroup.Group
	for w := range writers {
		rng := rand.New(rand.NewPCG(1, uint64(w)))
		group.Go(func() error {
			for range rounds {
				batch := make([]search.Incoming, 0, urls)
				for _, i := range rng.Perm(urls)[:1+rng.IntN(urls)] {
					minute := rng.IntN(1000)
					text := fmt.Sprintf("minute%d", minute)
					batch = append(batch, incoming("a.example", fmt.Sprintf("/%d", i), "page", text, minute))
				}
				if _, err := l.tryPut(t.Context(), batch); err != nil {
					return err
				}
				if rng.IntN(4) == 0 {
					if _, err := l.Delete(t.Context(), dbsearch.PagesWhere{URL: batch[0].URL}, 1, nil); err != nil {
						return err
					}
				}
				if _, err := l.index.Compact(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	last := make([]search.Incoming, urls)
	for i := range last {
		last[i] = incoming("a.example", fmt.Sprintf("/%d", i), "page", "minute1000", 1000)
	}
	l.put(t, last...)
	l.requireExact(t)
}

// A page that is gone is deleted, and what was crawled before does not bring it back, whichever message comes first and
// however often. What was crawled later does.
func TestPagesRemove(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	var told []int64
	remove := func(minute int, paths ...string) int {
		var gone []search.Incoming
		for _, path := range paths {
			gone = append(gone, incoming("a.example", path, "", "", minute))
		}
		n, err := l.Remove(ctx, gone, time.Now(), func(_ context.Context, ids []int64) error {
			told = append(told, ids...)
			return nil
		})
		require.NoError(t, err)
		return n
	}
	kept := l.put(t, incoming("a.example", "/1", "One", "needle", 1), incoming("a.example", "/2", "Two", "needle", 5))
	require.Equal(t, 1, remove(3, "/1", "/2", "/3"), "one was crawled later, and one is not kept")
	require.Equal(t, []int64{kept[0].ID}, told)
	require.Zero(t, remove(3, "/1", "/1", "/2"))
	require.Zero(t, remove(2, "/1"), "an older one changes nothing")
	stats, err := l.index.Stats(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, stats.Pages, "it cannot be found")

	for _, minute := range []int{1, 3} {
		late := l.put(t, incoming("a.example", "/1", "One", "needle", minute), incoming("a.example", "/3", "Three", "needle", minute))
		require.Equal(t, []search.Outcome{search.OutcomeOvertaken, search.OutcomeOvertaken},
			[]search.Outcome{late[0].Outcome, late[1].Outcome})
	}
	require.Equal(t, search.OutcomeStored, l.put(t, incoming("a.example", "/1", "One", "needle", 4))[0].Outcome, "it is back")
	require.Equal(t, 1, remove(6, "/1"))

	// An engine that is away keeps the page, and the removal is made again.
	l.put(t, incoming("a.example", "/1", "One", "needle", 7))
	_, err = l.Remove(ctx, []search.Incoming{incoming("a.example", "/1", "", "", 8)}, time.Now(),
		func(context.Context, []int64) error { return errors.New("away") })
	require.ErrorContains(t, err, "away")
	require.Equal(t, 1, remove(8, "/1"))
	n, err := l.Count(ctx, dbsearch.PagesWhere{Site: "a.example"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// A version that is being stored while its page is removed is deleted, or overtaken: never kept.
func TestPagesRemoveMeanwhile(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	var group errgroup.Group
	const pages = 40
	for i := range pages {
		path := fmt.Sprintf("/%d", i)
		group.Go(func() error {
			_, err := l.tryPut(t.Context(), []search.Incoming{incoming("a.example", path, "One", "needle", 1)})
			return err
		})
		group.Go(func() error {
			_, err := l.Remove(t.Context(), []search.Incoming{incoming("a.example", path, "", "", 2)}, time.Now(), nil)
			return err
		})
	}
	require.NoError(t, group.Wait())
	n, err := l.Count(t.Context(), dbsearch.PagesWhere{Site: "a.example"})
	require.NoError(t, err)
	require.Zero(t, n)
	stats, err := l.index.Stats(t.Context())
	require.NoError(t, err)
	require.Zero(t, stats.Pages)
}
