package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/searchtest"
)

// requireExact compares the index with one that is built anew of the pages: the documents, the lengths of their fields,
// and for many words how many documents have them, the answers and their scores.
func (l library) requireExact(t *testing.T) {
	t.Helper()

	ctx := t.Context()
	require.Zero(t, dbtest.Query[int](t, l.pool,
		"SELECT count(*)::int FROM pages WHERE doc IS NULL OR doc_revision <> revision")[0], "pages whose version is not in the index")
	b := search.NewBuilder()
	for after := int64(0); ; {
		pages, err := l.After(ctx, after, 500)
		require.NoError(t, err)
		if len(pages) == 0 {
			break
		}
		for _, p := range pages {
			after = p.ID
			b.Add(after, p)
		}
	}
	segment := b.Segment()
	columns, err := search.DecodeColumns(segment.Columns)
	require.NoError(t, err)
	fresh := search.NewSnapshot([]search.Part{{ID: 1, Columns: columns}})
	kept, rows := l.readIndex(t)
	require.Equal(t, fresh.Docs(), kept.Docs(), "documents")
	require.Equal(t, fresh.Lengths(), kept.Lengths(), "lengths")
	require.NotEmpty(t, segment.Terms)

	anew := map[string][]search.Posted{}
	for _, term := range segment.Terms {
		anew[term.Term] = []search.Posted{{
			Term: term.Term, Segment: 1, Postings: term.Postings, Positions: term.Positions,
		}}
	}
	asked := 0
	for _, term := range segment.Terms {
		if search.IsStem(term.Term) || asked == 2000 {
			continue
		}
		asked++
		ask := search.Ask{Clauses: []search.Clause{{Words: []string{term.Term}}}, Words: 1}
		answer := func(s *search.Snapshot, rows map[string][]search.Posted) (int, []search.Ranked) {
			plan := search.NewPlan(ask, search.Query{Limit: 20})
			var read []search.Posted
			for _, term := range plan.Terms() {
				read = append(read, rows[term]...)
			}
			r, err := search.Rank(s, plan, read)
			require.NoError(t, err)
			hits, _ := r.Hits(nil, 20)
			for i := range hits {
				hits[i].Doc = 0
			}
			return r.Found(0), hits
		}
		want, wantHits := answer(fresh, anew)
		got, gotHits := answer(kept, rows)
		require.Equal(t, want, got, "documents with %q", term.Term)
		require.Equal(t, wantHits, gotHits, "answers to %q", term.Term)
	}
}

// readIndex reads the whole index.
func (l library) readIndex(t *testing.T) (*search.Snapshot, map[string][]search.Posted) {
	t.Helper()

	var parts []search.Part
	rows, err := l.pool.Query(t.Context(), "SELECT id, columns, kills FROM search_segments WHERE collection > 0 ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var p search.Part
		var columns, kills []byte
		require.NoError(t, rows.Scan(&p.ID, &columns, &kills))
		p.Columns, err = search.DecodeColumns(columns)
		require.NoError(t, err)
		p.Kills, err = search.DecodeKills(kills)
		require.NoError(t, err)
		parts = append(parts, p)
	}
	require.NoError(t, rows.Err())
	posted := map[string][]search.Posted{}
	rows, err = l.pool.Query(t.Context(),
		`SELECT segment, term, last, postings, positions FROM search_postings
		WHERE segment IN (SELECT id FROM search_segments WHERE collection > 0) ORDER BY 1, 2`)
	require.NoError(t, err)
	for rows.Next() {
		var segment int64
		var b search.Block
		require.NoError(t, rows.Scan(&segment, &b.First, &b.Last, &b.Postings, &b.Positions))
		require.NoError(t, b.Terms(func(p search.TermPostings) bool {
			posted[p.Term] = append(posted[p.Term], search.Posted{
				Term: p.Term, Segment: segment, Postings: p.Postings, Positions: p.Positions,
			})
			return true
		}))
	}
	require.NoError(t, rows.Err())
	return search.NewSnapshot(parts), posted
}

// Documents have numbers for as long as pages are indexed: four bytes of them last weeks where many pages change.
func TestSearchManyNumbers(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	dbtest.Alter(t, l.pool, "ALTER SEQUENCE search_documents RESTART 4294967290")
	for n := range 4 {
		l.put(t, incoming("a.example", "/one", "One", fmt.Sprint("text ", n), n),
			incoming("a.example", fmt.Sprint("/", n), "Other", fmt.Sprint("text ", n), n))
	}
	for more := true; more; {
		var err error
		more, err = l.index.Compact(t.Context())
		require.NoError(t, err)
	}
	l.requireExact(t)
}

// After 10,000 random operations by several writers, while segments are merged, the statistics are those of the pages.
func TestSearchExact(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	const urls, writers, operations = 400, 4, 10_000
	var writing, merging errgroup.Group
	wrote := make(chan struct{}, operations)
	for n := range writers {
		w := newWriter(uint64(n + 10))
		writing.Go(func() error {
			for done := 0; done < operations/writers; {
				batch := make([]search.Incoming, 1+w.rng.IntN(60))
				for i := range batch {
					batch[i] = incoming(fmt.Sprintf("site%d.example", i%3), fmt.Sprintf("/%d", w.rng.IntN(urls)),
						w.words(3), w.words(1+w.rng.IntN(40)), w.rng.IntN(5000))
				}
				if _, err := l.tryPut(t.Context(), batch); err != nil {
					return err
				}
				done += len(batch)
				wrote <- struct{}{}
				if w.rng.IntN(3) == 0 {
					n, err := l.Delete(t.Context(), dbsearch.PagesWhere{Site: "site1.example"}, 1+w.rng.IntN(20), nil)
					if err != nil {
						return err
					}
					done += n
				}
			}
			return nil
		})
	}
	merging.Go(func() error {
		for range wrote {
			for more := true; more; {
				var err error
				if more, err = l.index.Compact(t.Context()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	err := writing.Wait()
	close(wrote)
	require.NoError(t, err)
	require.NoError(t, merging.Wait())
	l.requireExact(t)

	// What is emptied leaves nothing.
	for _, site := range []string{"site0.example", "site1.example", "site2.example"} {
		for n := 1; n > 0; {
			n, err = l.Delete(t.Context(), dbsearch.PagesWhere{Site: site}, 1000, nil)
			require.NoError(t, err)
		}
	}
	for more := true; more; {
		more, err = l.index.Compact(t.Context())
		require.NoError(t, err)
	}
	stats, err := l.index.Stats(t.Context())
	require.NoError(t, err)
	require.Zero(t, stats.Pages)
	require.Zero(t, dbtest.Query[int](t, l.pool, "SELECT count(*)::int FROM search_postings")[0])
}

// Renewing pages indexes them again, while all can be found.
func TestSearchRenew(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	w := newWriter(3)
	for n := range 20 {
		l.put(t, w.page(n))
	}
	docs := func() int { return dbtest.Query[int](t, l.pool, "SELECT sum(docs)::int FROM search_segments")[0] }
	before := docs()
	pages, err := l.After(ctx, 0, 100)
	require.NoError(t, err)
	require.NoError(t, l.index.Index(ctx, pages))
	require.Equal(t, before, docs(), "they are in the index")
	require.NoError(t, l.index.Renew(ctx, pages))
	require.Equal(t, before+20, docs())
	require.NoError(t, l.index.Remove(ctx, []int64{pages[0].ID}))
	require.NoError(t, l.index.Remove(ctx, []int64{pages[0].ID}))
	stats, err := l.index.Stats(ctx)
	require.NoError(t, err)
	require.Equal(t, 19, stats.Pages)
	require.NoError(t, l.index.Index(ctx, pages))
	l.requireExact(t)
}

// A merge that fails at any statement leaves the index as it was, and what it has written goes with the next.
func TestSearchCompactKilled(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()

	l := newLibrary(t)
	w := newWriter(4)
	for n := range 9 {
		l.put(t, w.page(n))
	}
	const segments = "SELECT id FROM search_segments WHERE collection > 0 ORDER BY id"
	before := dbtest.Query[int64](t, l.pool, segments)
	for after := time.Millisecond; ; after = min(after+max(after/4, time.Millisecond), 10*time.Second) {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		more, err := l.index.Compact(ctx)
		cancel()
		if err == nil && more { // without an error it may be that the try before still holds the lock
			break
		}
		now := dbtest.Query[int64](t, l.pool, segments)
		if len(now) == 1 { // it was committed, and the answer came too late
			break
		}
		require.Equal(t, before, now)
	}
	require.Len(t, dbtest.Query[int64](t, l.pool, segments), 1)
	l.requireExact(t)
	_, err := l.index.Compact(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{1}, dbtest.Query[int](t, l.pool, "SELECT count(*)::int FROM search_segments"), "nothing is left behind")
}

// The index in Postgres answers as every engine does.
func TestSearchEngine(t *testing.T) {
	t.Parallel()

	searchtest.EngineTest(t, func(t *testing.T) (search.Engine, searchtest.Store) {
		t.Helper()
		l := newLibrary(t)
		return l.index, func(ctx context.Context, docs []search.Document) ([]search.Page, error) {
			in := make([]search.Incoming, len(docs))
			for i, d := range docs {
				in[i] = search.Incoming{Document: d, StatusCode: 200}
			}
			stored, err := l.Store(ctx, in, time.Now())
			pages := make([]search.Page, len(stored))
			for i, s := range stored {
				pages[i] = search.Page{ID: s.ID, Revision: s.Revision, Document: docs[i]}
			}
			return pages, err
		}
	})
}

// A merge takes minutes to hours, and all it writes is written by transactions that are short: while one that has written
// is open, no row that was deleted since can go from any table. What a merge left that ended early goes with the next.
func TestSearchCompactIsShort(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	l.index.InSteps()
	dbtest.Alter(t, l.pool, "CREATE TABLE steps (op text, xid xid8, writers int)")
	dbtest.Alter(t, l.pool, `CREATE FUNCTION step() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO steps SELECT TG_OP, pg_current_xact_id(), count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND backend_xid IS NOT NULL; RETURN NULL; END $$`)
	dbtest.Alter(t, l.pool, "CREATE TRIGGER step AFTER INSERT OR DELETE ON search_postings FOR EACH STATEMENT EXECUTE FUNCTION step()")
	for i := range 8 {
		var text strings.Builder
		for n := range 300 {
			fmt.Fprintf(&text, "word%d ", i*200+n)
		}
		l.put(t, incoming("a.example", fmt.Sprintf("/%d", i), "page", text.String(), i))
	}
	dbtest.Exec(t, l.pool, `INSERT INTO search_segments (collection, level, docs, columns, kills)
		SELECT -collection, level, docs, columns, kills FROM search_segments ORDER BY id LIMIT 1`)
	dbtest.Exec(t, l.pool, `INSERT INTO search_postings SELECT (SELECT id FROM search_segments WHERE collection < 0), term, last, postings,
		positions FROM search_postings WHERE segment = (SELECT min(id) FROM search_segments)`)
	dbtest.Exec(t, l.pool, "DELETE FROM steps")
	more, err := l.index.Compact(t.Context())
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, []string{"DELETE t t", "INSERT t t"}, dbtest.Query[string](t, l.pool,
		"SELECT op || ' ' || (count(DISTINCT xid) > 8)::text::char || ' ' || (max(writers) = 1)::text::char FROM steps GROUP BY op ORDER BY 1"))
	require.Equal(t, []int16{1}, dbtest.Query[int16](t, l.pool, "SELECT collection FROM search_segments"))
	require.Zero(t, dbtest.Query[int](t, l.pool,
		"SELECT count(*)::int FROM search_postings WHERE segment NOT IN (SELECT id FROM search_segments)")[0])
	l.requireExact(t)
}

// A merge that fails is tried again and again: all that it leaves is what the last try has written.
func TestSearchCompactFails(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	l.index.InSteps()
	for i := range 8 {
		l.put(t, incoming("a.example", fmt.Sprintf("/%d", i), "page", fmt.Sprintf("word%d one two three four five six", i), i))
	}
	dbtest.Alter(t, l.pool, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF EXISTS (SELECT FROM search_segments WHERE id = NEW.segment AND collection < 0) THEN
			RAISE 'the disk is full'; END IF; RETURN NEW; END $$`)
	dbtest.Alter(t, l.pool, "CREATE TRIGGER refuse BEFORE INSERT ON search_postings FOR EACH ROW EXECUTE FUNCTION refuse()")
	const left = "SELECT count(*)::int FROM search_segments WHERE collection < 0"
	for range 3 {
		_, err := l.index.Compact(t.Context())
		require.ErrorContains(t, err, "the disk is full")
		require.Equal(t, []int{1}, dbtest.Query[int](t, l.pool, left))
	}
	dbtest.Alter(t, l.pool, "DROP TRIGGER refuse ON search_postings")
	_, err := l.index.Compact(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{0}, dbtest.Query[int](t, l.pool, left))
	l.requireExact(t)
}

func TestSearchCompact(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 200 {
		l.put(t, incoming("a.example", fmt.Sprintf("/%d", rng.IntN(80)), "page", fmt.Sprintf("word%d word%d", i, i/2), i))
		for {
			more, err := l.index.Compact(ctx)
			require.NoError(t, err)
			if !more {
				break
			}
		}
		full, err := l.index.Full(ctx)
		require.NoError(t, err)
		require.False(t, full)
	}
	l.requireExact(t)
	stats, err := l.index.Stats(ctx)
	require.NoError(t, err)
	require.Less(t, stats.Segments, 24)
	require.Zero(t, dbtest.Query[int](t, l.pool,
		"SELECT count(*)::int FROM search_postings WHERE segment NOT IN (SELECT id FROM search_segments)")[0])
}

// Words whose documents are gone leave the dictionary, a day later. Those that are written again meanwhile stay, by
// processes that learnt them long ago too.
func TestSearchForgetsWords(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	at := time.Now()
	l.index.At(func() time.Time { return at })
	terms := func(of string) []string {
		return dbtest.Query[string](t, l.pool, "SELECT term FROM "+of+" ORDER BY 1")
	}
	compact := func() {
		for more := true; more; {
			var err error
			more, err = l.index.Compact(ctx)
			require.NoError(t, err)
		}
	}
	later := func() { dbtest.Exec(t, l.pool, "UPDATE search_terms_doubted SET since = since - interval '25 hours'") }
	l.put(t, incoming("keep.example", "/", "", "common", 0))
	for i, word := range []string{"zebra", "giraffe", "okapi", "gnu"} {
		l.put(t, incoming("gone.example", fmt.Sprintf("/%d", i), "", "common "+word, i))
	}
	before := terms("search_terms")
	require.Subset(t, before, []string{"common", "zebra", "giraffe", "okapi", "gnu"})
	n, err := l.Delete(ctx, dbsearch.PagesWhere{Site: "gone.example"}, 100, nil)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	compact()
	require.Subset(t, terms("search_terms_doubted"), []string{"zebra", "giraffe", "okapi", "gnu"})
	require.Contains(t, terms("search_terms_doubted"), "common", "one of the documents that had it")
	require.Equal(t, before, terms("search_terms"), "not at once")

	// A process that has just learnt a word does not look; another one ends the doubt.
	l.put(t, incoming("keep.example", "/g", "", "giraffe", 0))
	require.Contains(t, terms("search_terms_doubted"), "giraffe")
	other := library{l.Pages, dbsearch.NewSearchIndex(l.pool), l.pool}
	other.put(t, incoming("keep.example", "/o", "", "okapi", 0))
	require.NotContains(t, terms("search_terms_doubted"), "okapi")
	later()
	compact()
	require.Empty(t, terms("search_terms_doubted"))
	after := terms("search_terms")
	require.Subset(t, after, []string{"common", "giraffe", "okapi"})
	require.NotContains(t, after, "zebra")
	require.NotContains(t, after, "gnu")

	at = at.Add(time.Hour + time.Second)
	l.put(t, incoming("keep.example", "/z", "", "zebra", 0))
	require.Contains(t, terms("search_terms"), "zebra", "it is learnt anew")

	// Many words, and words of segments without any living document.
	many := make([]byte, 0, 1<<15)
	for i := range 3000 {
		many = append(append(many, "qu"+wordOf(uint64(i))...), ' ')
	}
	l.put(t, incoming("gone.example", "/many", "", string(many), 9))
	require.Greater(t, len(terms("search_terms")), 2500)
	for _, site := range []string{"gone.example", "keep.example"} {
		_, err = l.Delete(ctx, dbsearch.PagesWhere{Site: site}, 100, nil)
		require.NoError(t, err)
	}
	compact()
	later()
	compact()
	require.Empty(t, terms("search_terms"))
	require.Empty(t, terms("search_terms_doubted"))
}

// What is read after a look at the sizes of postings answers as what is read at once; and segments whose starts and
// filters are not known, because the release before wrote them, answer as those whose are.
func TestSearchLooksFirst(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	const pages = 1500
	all := make([]search.Incoming, pages)
	for i := range all {
		text := fmt.Sprintf("red road %s page%d", []string{"shoes", "shoe", "boots"}[i%3], i)
		all[i] = incoming("a.example", fmt.Sprintf("/%d", i), "Road", text+strings.Repeat(" filler", i%7), i)
	}
	l.put(t, all[:1200]...)
	l.put(t, all[1200:]...)
	require.NotZero(t, dbtest.Query[int](t, l.pool,
		"SELECT count(*)::int FROM search_postings WHERE term = last AND octet_length(postings) > 1000")[0], "large postings")
	careful := dbsearch.NewSearchIndex(l.pool)
	careful.LookFirst()
	half, unaware := dbsearch.NewSearchIndex(l.pool), dbsearch.NewSearchIndex(l.pool)
	known := func(x *dbsearch.SearchIndex) (n int) {
		_, err := x.Docs(t.Context())
		require.NoError(t, err)
		for _, of := range x.Starts() {
			n += len(of)
		}
		return n
	}
	starts := known(l.index)
	require.Greater(t, starts, 4, "starts")
	require.Equal(t, starts, known(careful))
	dbtest.Exec(t, l.pool, "UPDATE search_segments SET starts = NULL, filter = NULL WHERE docs = 300")
	require.Less(t, known(half), starts)
	require.NotZero(t, known(half))
	dbtest.Exec(t, l.pool, "UPDATE search_segments SET starts = NULL, filter = NULL")
	require.Zero(t, known(unaware))
	for _, text := range []string{
		"red", "red shoes", "red shoes page7", `"red road"`, `"red road shoes" page12`, "road -boots", "sho* red", "fillre",
		"red road shoes boots filler page1 page2 page3 page4 paeg5",
	} {
		q := search.Query{Text: text, Limit: 20, Facets: true}
		want, err := l.index.Search(t.Context(), q)
		require.NoError(t, err)
		want.Took = 0
		for _, x := range []*dbsearch.SearchIndex{careful, half, unaware} {
			got, err := x.Search(t.Context(), q)
			require.NoError(t, err)
			got.Took = 0
			require.NotZero(t, got.Total, text)
			require.Equal(t, want, got, text)
		}
	}
}

// What a process has read of a term it does not read again, nor that a segment does not have it; it answers as one that
// reads. A segment that took the ID of another, as after a failover that took back a transaction, is read anew.
func TestSearchKeepsPostings(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	ask := func(x *dbsearch.SearchIndex, text string) search.Results {
		t.Helper()
		r, err := x.Search(ctx, search.Query{Text: text, Limit: 20})
		require.NoError(t, err)
		r.Took = 0
		return r
	}
	page := func(n int, text string) search.Incoming {
		return incoming("a.example", fmt.Sprintf("/%d", n), fmt.Sprintf("Page %d", n), text, n)
	}
	l.put(t, page(1, "red road shoes"), page(2, "green road boots"))
	l.put(t, page(3, "blue road"))
	texts := []string{"road", "shoes", "red road", `"red road"`, "road -boots", "sandals"}
	first := map[string]search.Results{}
	for _, text := range texts {
		first[text] = ask(l.index, text)
	}
	require.Equal(t, 3, first["road"].Total)
	for _, text := range texts {
		require.Equal(t, first[text], ask(l.index, text), text)
	}
	l.put(t, page(1, "red street")) // its first version is void, and a third segment has another
	require.Equal(t, 2, ask(l.index, "road").Total)
	require.Zero(t, ask(l.index, "shoes").Total)
	require.Equal(t, ask(dbsearch.NewSearchIndex(l.pool), "road").Hits, ask(l.index, "road").Hits)

	for _, text := range texts {
		first[text] = ask(l.index, text)
	}
	dbtest.Exec(t, l.pool, "DELETE FROM search_postings")
	for _, text := range texts { // the positions of a phrase, and of words that are near, too
		require.Equal(t, first[text], ask(l.index, text), "%s, without a look at the postings", text)
	}
	require.Zero(t, ask(dbsearch.NewSearchIndex(l.pool), "road").Total)

	dbtest.Exec(t, l.pool, "UPDATE search_segments SET created_at = created_at + interval '1 s'")
	require.Zero(t, ask(l.index, "road").Total, "other segments with the same IDs")
}

// Each segment has the first term of each sixteenth of its blocks, as it was written and as it was merged, of segments of
// the release before too; and a process that learns them reads no postings.
func TestSearchStarts(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	for part := range 8 {
		pages := make([]search.Incoming, 100)
		for i := range pages {
			n := part*100 + i
			pages[i] = incoming("a.example", fmt.Sprintf("/%d", n), "page", fmt.Sprintf("one%d two%d three%d", n, n, n), n)
		}
		l.put(t, pages...)
	}
	learnt := func() map[int64][]string {
		t.Helper()
		x := dbsearch.NewSearchIndex(l.pool)
		n, err := x.Docs(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 800, n)
		return x.Starts()
	}
	check := func(segments, least int) {
		t.Helper()
		list := learnt()
		require.Len(t, list, segments)
		for id, starts := range list {
			require.Equal(t, dbtest.Query[string](t, l.pool, fmt.Sprintf(`
				SELECT b.term FROM (
					SELECT term, row_number() OVER (ORDER BY term) AS n FROM search_postings WHERE segment = %d) b
				WHERE b.n %% 16 = 1 ORDER BY b.n`, id)), starts)
			require.GreaterOrEqual(t, len(starts), least)
		}
	}
	check(8, 1)
	dbtest.Exec(t, l.pool, "UPDATE search_segments SET starts = NULL, filter = NULL WHERE id % 2 = 0")
	more, err := l.index.Compact(ctx)
	require.NoError(t, err)
	require.True(t, more)
	check(1, 3)
	l.requireExact(t)
	dbtest.Alter(t, l.pool, "ALTER TABLE search_postings RENAME TO hidden")
	require.Len(t, learnt(), 1)
}

// Only segments that may have a term are asked for it, as they were written and as they were merged.
func TestSearchFilters(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	ctx := t.Context()
	for i := range 7 {
		l.put(t, incoming("a.example", fmt.Sprintf("/%d", i), "page", fmt.Sprintf("road word%d", i), i))
	}
	asked := func(term string) int {
		t.Helper()
		x := dbsearch.NewSearchIndex(l.pool)
		_, err := x.Docs(ctx)
		require.NoError(t, err)
		return x.Lookups(term)
	}
	require.Equal(t, []int{7, 1, 0}, []int{asked("road"), asked("word3"), asked("word")})
	ids := dbtest.Query[int64](t, l.pool, "SELECT id FROM pages WHERE url LIKE '%/6'")
	require.NoError(t, l.index.Remove(ctx, ids))
	require.Equal(t, []int{7, 1, 0}, []int{asked("road"), asked("word3"), asked("word")}, "beside a segment without documents")
	more, err := l.index.Compact(ctx)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, []int{1, 1, 0, 0}, []int{asked("road"), asked("word3"), asked("word6"), asked("word")})
	dbtest.Exec(t, l.pool, "UPDATE search_segments SET filter = NULL")
	require.Equal(t, 1, asked("word"), "of a release before")
}

// An index that is not read to its end, as when the caller's time ends, is read on by the next caller.
func TestSearchReadsOn(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	for i := range 3 {
		l.put(t, incoming("a.example", fmt.Sprintf("/%d", i), "page", fmt.Sprintf("word%d", i), i))
	}
	const breaks = "UPDATE search_segments SET columns = '\\x00' WHERE id = (SELECT %s(id) FROM search_segments)"
	columns := dbtest.Query[[]byte](t, l.pool, "SELECT columns FROM search_segments ORDER BY id DESC LIMIT 1")
	x := dbsearch.NewSearchIndex(l.pool)
	dbtest.Exec(t, l.pool, fmt.Sprintf(breaks, "max"))
	_, err := x.Docs(t.Context())
	require.Error(t, err)
	require.Len(t, x.Starts(), 2)

	dbtest.Exec(t, l.pool, "UPDATE search_segments SET columns = $1 WHERE id = (SELECT max(id) FROM search_segments)", columns[0])
	dbtest.Exec(t, l.pool, fmt.Sprintf(breaks, "min"))
	n, err := x.Docs(t.Context())
	require.NoError(t, err, "what was read is read again")
	require.EqualValues(t, 3, n)
}

// A segment that takes longer to read than callers wait is read on after the first of them.
func TestSearchReadsOnALargeSegment(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	l.put(t, incoming("a.example", "/", "page", "word", 1))
	dbtest.Alter(t, l.pool, `CREATE FUNCTION slow(b bytea) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
		BEGIN PERFORM pg_sleep(1); RETURN b; END $$`)
	dbtest.Alter(t, l.pool, "ALTER TABLE search_segments RENAME TO large")
	dbtest.Alter(t, l.pool, `CREATE VIEW search_segments AS
		SELECT id, collection, level, docs, created_at, slow(columns) AS columns, kills, starts, filter FROM large`)
	x := dbsearch.NewSearchIndex(l.pool)
	t.Cleanup(x.Close)
	ask := func() (int64, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return x.Docs(ctx)
	}
	_, err := ask()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool { return len(x.Starts()) == 1 }, 2*time.Minute, 10*time.Millisecond)
	n, err := ask()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// A large segment is written in parts, which end anywhere among its blocks.
func TestSearchStartsOfParts(t *testing.T) {
	t.Parallel()

	blocks := make([]search.Block, 50)
	for i := range blocks {
		blocks[i].First = fmt.Sprintf("%02d", i)
	}
	for at := range blocks {
		require.Equal(t, []string{"00", "16", "32", "48"}, dbsearch.StartsOf(blocks[:at], blocks[at:]))
	}
	require.Empty(t, dbsearch.StartsOf(nil))
}
