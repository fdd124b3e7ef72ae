package activities_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// A fakeSearch is an inbox, a store, an index and an engine. A page whose text is "bad" is refused by the store, one of
// "worse" makes the engine panic, and while away is set nothing works.
type fakeSearch struct {
	search.Engine
	letters map[uuid.UUID][]byte
	refused map[uuid.UUID]string
	kept    map[string]search.Stored
	texts   map[string]string // by URL
	times   map[string]time.Time
	found   map[int64]int64 // page → revision
	removed []int64
	gone    map[string]time.Time // by URL
	away    error
	calls   int // of Store
	merges  int
	counts  map[string]int
}

func newFakeSearch(bodies ...string) (*fakeSearch, []uuid.UUID) {
	f := &fakeSearch{
		letters: map[uuid.UUID][]byte{}, refused: map[uuid.UUID]string{}, kept: map[string]search.Stored{},
		texts: map[string]string{}, times: map[string]time.Time{}, found: map[int64]int64{}, counts: map[string]int{},
		gone: map[string]time.Time{},
	}
	var keys []uuid.UUID
	for _, b := range bodies {
		key := uuid.NewSHA1(uuid.Nil, []byte(b))
		keys = append(keys, key)
		f.letters[key] = []byte(b)
	}
	return f, keys
}

func (f *fakeSearch) activities() *activities.Searching {
	return &activities.Searching{
		Inbox: f, Pages: f, Removals: removals{f}, Index: f, Metrics: f, Now: time.Now,
		Engines: map[string]search.Engine{search.EnginePostgres: f},
	}
}

func (f *fakeSearch) Unread(_ context.Context, keys []uuid.UUID) (out []search.Letter, err error) {
	for _, k := range keys {
		if b, ok := f.letters[k]; ok {
			out = append(out, search.Letter{Key: k, Body: b})
		}
	}
	return out, nil
}

func (f *fakeSearch) Done(_ context.Context, keys []uuid.UUID) error {
	for _, k := range keys {
		delete(f.letters, k)
	}
	return f.away
}

func (f *fakeSearch) Refuse(_ context.Context, key uuid.UUID, reason string) error {
	f.refused[key] = reason
	return nil
}

func (f *fakeSearch) Store(_ context.Context, pages []search.Incoming, _ time.Time) ([]search.Stored, error) {
	f.calls++
	for _, p := range pages {
		if p.Text == "bad" {
			return nil, fault.Newf(fault.Invalid, "no column takes it")
		}
	}
	var out []search.Stored
	for _, p := range pages {
		k, known := f.kept[p.URL]
		switch {
		case known && p.CrawledAt.Before(f.times[p.URL]):
			k.Outcome = search.OutcomeOvertaken
		case known && p.CrawledAt.Equal(f.times[p.URL]) && p.Text == f.texts[p.URL]:
			k.Outcome = search.OutcomeUnchanged
		default:
			if !known {
				k.ID = int64(len(f.kept) + 1)
			}
			k.Revision, k.Outcome = k.Revision+1, search.OutcomeStored
		}
		if k.Outcome != search.OutcomeOvertaken {
			f.kept[p.URL], f.texts[p.URL], f.times[p.URL] = k, p.Text, p.CrawledAt
		}
		out = append(out, k)
	}
	return out, nil
}

func (f *fakeSearch) Index(_ context.Context, pages []search.Page) error {
	if f.away != nil {
		return f.away
	}
	for _, p := range pages {
		if p.Text == "worse" {
			panic("not this one")
		}
	}
	for _, p := range pages {
		f.found[p.ID] = p.Revision
	}
	return nil
}

func (f *fakeSearch) Remove(_ context.Context, ids []int64) error {
	f.removed = append(f.removed, ids...)
	return nil
}

func (f *fakeSearch) After(_ context.Context, id int64, n int) (out []search.Page, err error) {
	for url, k := range f.kept {
		if k.ID > id {
			out = append(out, search.Page{ID: k.ID, Revision: k.Revision, Document: search.Document{Text: f.texts[url]}})
		}
	}
	slices.SortFunc(out, func(a, b search.Page) int { return int(a.ID - b.ID) })
	return out[:min(n, len(out))], nil
}

func (f *fakeSearch) Gone(_ context.Context, ids []int64) (gone []int64, err error) {
	for _, id := range ids {
		if !slices.ContainsFunc(slices.Collect(maps.Values(f.kept)), func(k search.Stored) bool { return k.ID == id }) {
			gone = append(gone, id)
		}
	}
	return gone, nil
}

func (f *fakeSearch) DeleteSite(
	ctx context.Context, site string, most int, remove func(ctx context.Context, ids []int64) error,
) (n int, err error) {
	var ids []int64
	for url, k := range f.kept {
		if strings.Contains(url, site) && len(ids) < most {
			ids = append(ids, k.ID)
			delete(f.kept, url)
		}
	}
	return len(ids), remove(ctx, ids)
}

func (f *fakeSearch) remover(
	ctx context.Context, pages []search.Incoming, _ time.Time, remove func(ctx context.Context, ids []int64) error,
) (n int, err error) {
	var ids []int64
	for _, p := range pages {
		f.gone[p.URL] = p.CrawledAt
		if k, known := f.kept[p.URL]; known && !f.times[p.URL].After(p.CrawledAt) {
			ids = append(ids, k.ID)
			delete(f.kept, p.URL)
		}
	}
	return len(ids), remove(ctx, ids)
}

// removals is a fakeSearch as it removes pages.
type removals struct{ *fakeSearch }

func (r removals) Remove(
	ctx context.Context, pages []search.Incoming, at time.Time, remove func(ctx context.Context, ids []int64) error,
) (int, error) {
	return r.remover(ctx, pages, at, remove)
}

func (f *fakeSearch) Full(context.Context) (bool, error) { return true, nil }

func (f *fakeSearch) Compact(context.Context) (bool, error) {
	f.merges++
	return f.merges < 3, nil
}

func (f *fakeSearch) Stored(n map[string]int) {
	for k, v := range n {
		f.counts[k] += v
	}
}

func (f *fakeSearch) Indexed(string, time.Duration) {}

func letter(path, text string, minute int) string {
	return fmt.Sprintf(`{"url":"https://example.org/%s","text":%q,"metadata":{"title":"x","timestamp":`+
		`"2025-11-01T12:%02d:00Z","status_code":200}}`, path, text, minute)
}

// act runs an activity in an environment of its own.
func act[In, Out any](t *testing.T, a *activities.Searching, f func(context.Context, In) (Out, error), in In) (out Out, err error) {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	v, err := env.ExecuteActivity(f, in)
	if err != nil {
		return out, err
	}
	return out, v.Get(&out)
}

// A page that can never be stored is refused alone, whatever finds it out; the newest version of each page is findable.
func TestStorePages(t *testing.T) {
	t.Parallel()

	bodies := []string{letter("1", "old", 1), letter("1", "new", 2), letter("2", "bad", 1), letter("3", "worse", 1), "{}",
		`{"url":"https://a:b@example.org/","text":"","metadata":{"timestamp":"2025-11-01T12:00:00Z","status_code":200}}`}
	for n := range 50 {
		bodies = append(bodies, letter(fmt.Sprintf("good/%d", n), "x", 1))
	}
	f, keys := newFakeSearch(bodies...)
	a := f.activities()
	got, err := act(t, a, a.StorePages, activities.PageKeys{Keys: append(keys, uuid.New())})
	require.NoError(t, err)
	// The first two are of one page, and stored one after the other where its half is tried again.
	require.Equal(t, 52, got.Stored+got.Unchanged+got.Overtaken)
	require.Equal(t, 1, got.Before)
	require.True(t, got.Full)
	reasons := map[uuid.UUID]string{}
	for _, r := range got.Refused {
		reasons[r.Key] = r.Reason
	}
	require.Equal(t, reasons, f.refused)
	require.Len(t, reasons, 4)
	require.Contains(t, reasons[keys[2]], "no column takes it")
	require.Contains(t, reasons[keys[3]], "panicked: not this one")
	require.Contains(t, reasons[keys[4]], "url: is missing")
	require.Contains(t, reasons[keys[5]], "no credentials")
	require.ElementsMatch(t, []uuid.UUID{keys[2], keys[3], keys[4], keys[5]}, slices.Collect(maps.Keys(f.letters)),
		"the others are done")
	require.Equal(t, "new", f.texts["https://example.org/1"])
	require.Less(t, f.calls, 40)
	for _, k := range f.kept {
		if k.ID != f.kept["https://example.org/3"].ID {
			require.Equal(t, k.Revision, f.found[k.ID])
		}
	}
	require.Equal(t, 4, f.counts["refused"])

	again, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys[6:]})
	require.NoError(t, err)
	require.Equal(t, activities.StoredPages{Before: 50}, again, "a repetition finds nothing to do")
}

// A message that says that a page is gone deletes it, also from other engines, and is done; with others of its batch,
// whatever their order, one that can never be stored is refused alone.
func TestStorePagesThatAreGone(t *testing.T) {
	t.Parallel()

	gone := func(path string, minute int) string {
		return strings.Replace(letter(path, "", minute), `"text":`, `"removed":true,"text":`, 1)
	}
	f, keys := newFakeSearch(letter("1", "x", 1), letter("2", "x", 5))
	a := f.activities()
	other, _ := newFakeSearch()
	a.Engines[search.EngineOpenSearch] = other
	_, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.NoError(t, err)
	was := f.kept["https://example.org/1"].ID

	for _, body := range []string{gone("1", 2), gone("2", 3), letter("3", "bad", 1), gone("4", 1)} {
		key := uuid.NewSHA1(uuid.Nil, []byte(body))
		keys = append(keys, key)
		f.letters[key] = []byte(body)
	}
	got, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys[2:]})
	require.NoError(t, err)
	require.Equal(t, 3, got.Removed)
	require.Len(t, got.Refused, 1)
	require.True(t, got.Full, "what was deleted has to be merged away")
	require.NotContains(t, f.kept, "https://example.org/1")
	require.Contains(t, f.kept, "https://example.org/2", "it was crawled after it was gone")
	require.Equal(t, []int64{was}, other.removed)
	require.Len(t, f.gone, 3)
	require.Equal(t, 3, f.counts["removed"])
	require.Len(t, f.letters, 1, "the others are done")
}

// While an engine is away nothing is forgotten and nothing refused; afterwards all of it is findable.
func TestStorePagesWhileAServiceIsAway(t *testing.T) {
	t.Parallel()

	f, keys := newFakeSearch(letter("1", "x", 1), letter("2", "x", 1))
	a := f.activities()
	f.away = errors.New("connection refused")
	_, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.ErrorContains(t, err, "index in postgres: connection refused")
	require.Len(t, f.letters, 2)
	require.Empty(t, f.refused)
	require.Equal(t, 1, f.calls, "the batch is not taken apart")
	f.away = nil
	got, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.NoError(t, err)
	require.Equal(t, 2, got.Unchanged)
	require.Len(t, f.found, 2)
	require.Empty(t, f.letters)
}

func TestReindexPages(t *testing.T) {
	t.Parallel()

	var bodies []string
	for n := range 450 {
		bodies = append(bodies, letter(fmt.Sprint(n), "x", 1))
	}
	f, keys := newFakeSearch(bodies...)
	a := f.activities()
	_, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.NoError(t, err)
	clear(f.found)
	f.texts["https://example.org/7"] = "worse"
	got, err := act(t, a, a.ReindexPages, activities.Reindexed{To: search.EnginePostgres})
	require.NoError(t, err)
	require.Equal(t, activities.Reindexed{
		To: "postgres", After: 450, Pages: 449, Failed: 1, Refused: []int64{f.kept["https://example.org/7"].ID}, Ended: true,
	}, got)
	require.Len(t, f.found, 449)
	_, err = act(t, a, a.ReindexPages, activities.Reindexed{To: "other"})
	require.ErrorContains(t, err, `this worker has no engine "other"`)
}

// rebuilt is an engine that is filled anew beside what is searched.
type rebuilt struct {
	*fakeSearch
	calls []string
	gone  bool // what was begun
}

func (r *rebuilt) Begin(_ context.Context, generation string) error {
	r.calls = append(r.calls, "begin "+generation)
	return nil
}

func (r *rebuilt) Begun(_ context.Context, generation string) error {
	r.calls = append(r.calls, "begun "+generation)
	if r.gone {
		return fault.Newf(fault.Conflict, "it is not there")
	}
	return nil
}

func (r *rebuilt) Finish(_ context.Context, generation string) error {
	r.calls = append(r.calls, "finish "+generation)
	return nil
}

func TestRebuild(t *testing.T) {
	t.Parallel()

	f, keys := newFakeSearch(letter("1", "x", 1))
	a, engine := f.activities(), &rebuilt{fakeSearch: f}
	_, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.NoError(t, err)
	a.Engines[search.EngineOpenSearch] = engine
	got, err := act(t, a, a.ReindexPages, activities.Reindexed{To: search.EngineOpenSearch})
	require.NoError(t, err)
	require.True(t, got.Ended)
	require.Equal(t, []string{"begin " + got.Generation, "finish " + got.Generation}, engine.calls)

	engine.calls = nil
	on := activities.Reindexed{To: search.EngineOpenSearch, After: got.After, Generation: "first"}
	_, err = act(t, a, a.ReindexPages, on)
	require.NoError(t, err)
	require.Equal(t, []string{"begun first", "finish first"}, engine.calls, "as it was begun")

	engine.calls, engine.gone = nil, true // it was reset after another had ended
	_, err = act(t, a, a.ReindexPages, on)
	require.ErrorContains(t, err, "it is not there")
	require.Equal(t, []string{"begun first"}, engine.calls)
}

// late is an engine that is given pages later than they were read.
type late struct {
	search.Engine
	before func() // runs before the next call of Index
}

func (l *late) Index(ctx context.Context, pages []search.Page) error {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.Engine.Index(ctx, pages)
}

// versions is an engine that finds all its pages, and keeps them as OpenSearch does: by their revisions, of which an
// older one is refused, and a removed page stays away at the next one.
type versions struct {
	search.Engine
	last  map[int64]int64
	there map[int64]bool
}

func (v versions) Index(_ context.Context, pages []search.Page) error {
	for _, p := range pages {
		if p.Revision >= v.last[p.ID] {
			v.last[p.ID], v.there[p.ID] = p.Revision, true
		}
	}
	return nil
}

func (v versions) Remove(_ context.Context, ids []int64) error {
	for _, id := range ids {
		v.last[id]++
		delete(v.there, id)
	}
	return nil
}

// A page that is deleted while it is on its way to an engine is not found there afterwards.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()

	f, keys := newFakeSearch(letter("1", "a stone", 1), letter("2", "two stones", 1), letter("3", "three stones", 1))
	a := f.activities()
	var engine *late
	var index versions
	empty := func() {
		index = versions{last: map[int64]int64{}, there: map[int64]bool{}}
		engine = &late{Engine: index}
		a.Engines = map[string]search.Engine{search.EngineOpenSearch: engine}
	}
	empty()
	found := func() []int64 { return slices.Collect(maps.Keys(index.there)) }
	deletes := func(path string) func() {
		return func() {
			n, err := f.DeleteSite(t.Context(), "example.org/"+path, 1, search.Removal(a.Engines))
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}
	}
	engine.before = deletes("1")
	_, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.NoError(t, err)
	two, three := f.kept["https://example.org/2"].ID, f.kept["https://example.org/3"].ID
	require.ElementsMatch(t, []int64{two, three}, found())

	empty()
	engine.before = deletes("2")
	_, err = act(t, a, a.ReindexPages, activities.Reindexed{To: search.EngineOpenSearch})
	require.NoError(t, err)
	require.Equal(t, []int64{three}, found())
}

func TestDeleteSitePages(t *testing.T) {
	t.Parallel()

	f, keys := newFakeSearch(letter("1", "x", 1), letter("2", "x", 1))
	a := f.activities()
	a.Engines[search.EngineOpenSearch] = f
	_, err := act(t, a, a.StorePages, activities.PageKeys{Keys: keys})
	require.NoError(t, err)
	got, err := act(t, a, a.DeleteSitePages, activities.PageDeletion{Site: "example.org"})
	require.NoError(t, err)
	require.Equal(t, activities.PageDeletion{Site: "example.org", Deleted: 2, Ended: true}, got)
	require.Len(t, f.removed, 2, "from the engine that has its own documents")

	merged, err := act(t, a, a.CompactSegments, activities.CompactJob{})
	require.NoError(t, err)
	require.Equal(t, 3, merged.Merges)
}
