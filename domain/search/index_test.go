package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/domain/search"
)

// An index keeps segments in memory as db keeps them in tables.
type index struct {
	t        testing.TB
	segments []stored
	docs     map[int64]int64       // by page
	pages    map[int64]search.Page // nil = no feedback
	last     int64
	id       int64
}

type stored struct {
	id      int64
	level   int
	columns *search.Columns
	kills   []byte
	terms   []search.TermPostings
}

func newIndex(t testing.TB) *index { return &index{t: t, docs: map[int64]int64{}} }

// add indexes a batch of versions of pages, each page once.
func (x *index) add(pages ...search.Page) {
	x.t.Helper()
	b := search.NewBuilder()
	var kills []int64
	for _, p := range pages {
		if doc, has := x.docs[p.ID]; has {
			kills = append(kills, doc)
		}
		x.last++
		b.Add(x.last, p)
		x.docs[p.ID] = x.last
	}
	x.store(b.Segment(), search.EncodeKills(kills), 0)
}

// remove makes pages unfindable.
func (x *index) remove(pages ...int64) {
	x.t.Helper()
	var kills []int64
	for _, id := range pages {
		if doc, has := x.docs[id]; has {
			kills = append(kills, doc)
			delete(x.docs, id)
		}
	}
	x.store(search.NewBuilder().Segment(), search.EncodeKills(kills), 0)
}

func (x *index) store(s search.Segment, kills []byte, level int) {
	x.t.Helper()
	columns, err := search.DecodeColumns(s.Columns)
	if err != nil {
		x.t.Fatal(err)
	}
	if columns.Len() != s.Docs {
		x.t.Fatalf("%d documents, want %d", columns.Len(), s.Docs)
	}
	x.id++
	x.segments = append(x.segments, stored{x.id, level, columns, kills, s.Terms})
}

func (x *index) snapshot() *search.Snapshot {
	x.t.Helper()
	var parts []search.Part
	for _, s := range x.segments {
		kills, err := search.DecodeKills(s.kills)
		if err != nil {
			x.t.Fatal(err)
		}
		parts = append(parts, search.Part{ID: s.id, Columns: s.columns, Kills: kills})
	}
	return search.NewSnapshot(parts)
}

// merge makes one of the segments at these places.
func (x *index) merge(places ...int) {
	x.t.Helper()
	var ids []int64
	var rows []search.Posted
	for _, at := range places {
		s := x.segments[at]
		ids = append(ids, s.id)
		for _, term := range s.terms {
			rows = append(rows, search.Posted{Term: term.Term, Segment: s.id, Postings: term.Postings, Positions: term.Positions})
		}
	}
	slices.SortStableFunc(rows, func(a, b search.Posted) int { return strings.Compare(a.Term, b.Term) })
	m, err := search.NewMerger(x.snapshot(), ids)
	if err != nil {
		x.t.Fatal(err)
	}
	merged := search.Segment{Docs: m.Docs(), Columns: m.Columns()}
	out := func(t search.TermPostings) error {
		merged.Terms = append(merged.Terms, t)
		return nil
	}
	for _, row := range rows {
		if err := m.Add(row, out); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := m.Flush(out); err != nil {
		x.t.Fatal(err)
	}
	x.segments = slices.DeleteFunc(x.segments, func(s stored) bool { return slices.Contains(ids, s.id) })
	x.store(merged, m.Kills(), 1)
}

// rows are those of terms, with positions or without postings' positions.
func (x *index) rows(terms []string) []search.Posted {
	var rows []search.Posted
	for _, s := range x.segments {
		for _, term := range terms {
			if at, has := slices.BinarySearchFunc(s.terms, term, func(t search.TermPostings, term string) int {
				return strings.Compare(t.Term, term)
			}); has {
				rows = append(rows, search.Posted{Term: term, Segment: s.id, Postings: s.terms[at].Postings})
			}
		}
	}
	return rows
}

// positions fills in the positions of rows.
func (x *index) positions(rows []search.Posted, wanted func(search.Posted) bool) {
	for i, row := range rows {
		for _, s := range x.segments {
			if s.id != row.Segment || !wanted(row) {
				continue
			}
			at, _ := slices.BinarySearchFunc(s.terms, row.Term, func(t search.TermPostings, term string) int {
				return strings.Compare(t.Term, term)
			})
			rows[i].Positions = s.terms[at].Positions
		}
	}
}

// rank answers a query as db does.
func (x *index) rank(a search.Ask, q search.Query) *search.Ranking {
	x.t.Helper()
	p := search.NewPlan(a, q)
	for _, prefix := range p.Prefixes() {
		words := map[string]bool{}
		for _, s := range x.segments {
			for _, t := range s.terms {
				if strings.HasPrefix(t.Term, prefix) && !strings.Contains(t.Term, ":") {
					words[t.Term] = true
				}
			}
		}
		var list []string
		for w := range words {
			list = append(list, w)
		}
		p.Expand(prefix, list)
	}
	rows := x.rows(p.Terms())
	phrases := p.Positions()
	x.positions(rows, func(row search.Posted) bool { return slices.Contains(phrases, row.Term) })
	r, err := search.Rank(x.snapshot(), p, rows)
	if err != nil {
		x.t.Fatal(err)
	}
	if ids := r.Samples(); ids != nil && x.pages != nil {
		var samples []search.Sample
		for _, id := range ids {
			p := x.pages[id]
			samples = append(samples, search.Sample{Page: id, Title: p.Title, Text: p.Text, Language: p.Language})
		}
		e := r.Learn(samples)
		for terms := e.Terms(); len(terms) > 0; terms = e.Terms() {
			if err := r.Expand(e, x.rows(terms)); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	near := map[search.Need]bool{}
	for _, n := range r.Near() {
		near[n] = true
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row search.Posted) bool { return !near[search.Need{Term: row.Term, Segment: row.Segment}] })
	x.positions(rows, func(search.Posted) bool { return true })
	if err := r.Refine(rows); err != nil {
		x.t.Fatal(err)
	}
	return r
}
