package search

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Ranking is the answers to a query, in order. It is one goroutine's.
type Ranking struct {
	Total   int  // answers, duplicates collapsed
	AtLeast bool // words were too common to be read: there may be more
	Relaxed bool // fewer than 100 pages have all words, those with some of them follow

	s       *Snapshot
	plan    *Plan
	groups  []*group // that rank, by bit of the mask
	bits    []int    // their places among the plan's groups
	idfs    []float32
	df      []int // living documents that have a group, by the plan's groups
	norms   norms
	entries [][][]entry // of the plan's groups, by part, until Answer
	counted []int       // how much of each of these groups is in its entries, −1 = it was not counted
	free    []func()    // the memory of entries
	posted  map[key]Posted
	bytes   int      // of these postings
	answers []answer // the first best of them sorted
	best    int
}

type key struct {
	term string
	part int
}

type answer struct {
	score      float32
	all        bool
	part       uint32
	ord        uint32
	duplicates uint32
	words      uint32 // that it has, by bit
}

// A Ranked is one answer.
type Ranked struct {
	Doc        int64
	Position       // ID is the page's
	Duplicates int // documents of the same text that are not shown
	CrawledAt  time.Time
}

// entry is a document of a group: its ordinal, the top bit set where it has the exact form, and its weighed count.
type entry struct {
	ord uint32
	tf  float32
}

const (
	exactBit = 1 << 31
	otherBit = 1 << 30 // of a posting: it is a correction only
)

// Rank finds and sorts the answers to a query: it is CountWords and Answer.
func Rank(s *Snapshot, p *Plan, rows []Posted) (*Ranking, error) {
	r, err := CountWords(s, p, rows)
	if err != nil {
		return nil, err
	}
	return r, r.Answer()
}

// CountWords finds out how many pages have each word of a query (Found): the rows are all there are of Plan.Terms in
// the segments of the snapshot; those of other segments are ignored.
func CountWords(s *Snapshot, p *Plan, rows []Posted) (*Ranking, error) {
	n := len(p.groups)
	r := &Ranking{s: s, plan: p, AtLeast: p.cut || p.ask.Cut, norms: newNorms(s), posted: make(map[key]Posted, len(rows)),
		df: make([]int, n), entries: make([][][]entry, n), counted: make([]int, n)}
	for i := range r.counted {
		r.counted[i] = -1
	}
	return r, r.Recount(rows)
}

// Recount counts words anew to which Plan.Also or Plan.Part has added others, given the rows of these, before Answer.
func (r *Ranking) Recount(rows []Posted) error {
	r.add(rows)
	var groups []*group
	var places []int
	for i := range r.plan.groups {
		g := &r.plan.groups[i]
		n := len(g.terms)
		if g.apart != nil {
			n++
		}
		if r.counted[i] == n {
			continue
		}
		r.counted[i] = n
		if g.silent {
			g = new(group)
		}
		groups, places = append(groups, g), append(places, i)
	}
	entries, free, err := r.mix(groups)
	if err != nil {
		return err
	}
	r.free = append(r.free, free)
	for k, i := range places {
		r.entries[i], r.df[i] = entries[k], 0
		for _, list := range entries[k] {
			r.df[i] += len(list)
		}
	}
	return nil
}

// Answer finds and sorts the answers. Of pages with the same text one is an answer, the best by the order of Position,
// which makes it the newest page of those that rank alike. A query without words, of filters and negated words, is
// answered by all other living pages, the newest first.
func (r *Ranking) Answer() error {
	for i := range r.plan.groups {
		if g := &r.plan.groups[i]; !g.not && !g.silent {
			r.groups, r.bits = append(r.groups, g), append(r.bits, i)
			r.idfs = append(r.idfs, idf(r.df[i], r.s.docs))
		}
	}
	err := r.collect(r.entries)
	r.entries = nil
	for _, free := range r.free {
		free()
	}
	r.free = nil
	return err
}

// add notes postings that were read.
func (r *Ranking) add(rows []Posted) {
	for _, row := range rows {
		if part, has := r.s.byID[row.Segment]; has {
			r.posted[key{row.Term, part}] = row
			r.bytes += len(row.Postings)
		}
	}
}

// Found is how many living pages have a clause, by its index in Ask.Clauses; −1 = no answer needs it.
func (r *Ranking) Found(clause int) int {
	for i, g := range r.plan.groups {
		if g.clause == clause && !g.silent && !g.aside {
			return r.df[i]
		}
	}
	return -1
}

// scratch is what one segment's documents add up to.
type scratch struct {
	score   []float32
	mask    []uint32
	not     []bool
	answers [2][]answer // with all words, and with some
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (t *scratch) reset(n int) {
	if cap(t.score) < n {
		t.score, t.mask, t.not = make([]float32, n), make([]uint32, n), make([]bool, n)
	}
	t.score, t.mask, t.not = t.score[:n], t.mask[:n], t.not[:n]
	clear(t.score)
	clear(t.mask)
	clear(t.not)
}

// longQuestion is from how many words on a query is a question in a sentence: no page has all of them, mostly, and each
// of them says less.
const longQuestion = 8

// Which answers gather returns.
const (
	withAll = 1 << iota // words
	withSome
)

// collect finds the answers, and sorts the best.
func (r *Ranking) collect(entries [][][]entry) error {
	want := withAll
	if len(r.groups) >= longQuestion {
		want |= withSome // adding up the scores once more would take longer than keeping what may not be asked for
	}
	all, some, err := r.gather(entries, want)
	if err != nil {
		return err
	}
	r.answers = r.collapse(all)
	if n := len(r.answers); n < relaxBelow && r.plan.words {
		if want&withSome == 0 {
			if _, some, err = r.gather(entries, withSome); err != nil {
				return err
			}
		}
		r.answers = r.collapse(append(all, some...))
		r.Relaxed = len(r.answers) > n
	}
	r.Total = len(r.answers)
	r.sortBest()
	return nil
}

// gather adds up the scores, and returns the answers of each part that are wanted.
func (r *Ranking) gather(entries [][][]entry, want int) (all, some [][]answer, err error) {
	var every, must uint32
	for bit, g := range r.groups {
		if !g.aside {
			every |= 1 << bit
		}
		if g.must {
			must |= 1 << bit
		}
	}
	all, some = make([][]answer, len(r.s.parts)), make([][]answer, len(r.s.parts))
	done, err := r.share(len(all), func(_ *mixer, i int) error {
		p := &r.s.parts[i]
		passes, any := r.filter(p)
		if !any {
			return nil
		}
		t := scratches.Get().(*scratch)
		defer scratches.Put(t)
		t.reset(p.Columns.Len())
		bit := 0
		for gi := range r.plan.groups {
			switch g := &r.plan.groups[gi]; {
			case g.silent:
			case g.not:
				for _, e := range entries[gi][i] {
					t.not[e.ord&^exactBit] = true
				}
			default:
				t.add(entries[gi][i], r.idfs[bit], 1<<bit)
				bit++
			}
		}
		t.answers[0], t.answers[1] = t.answers[0][:0], t.answers[1][:0]
		for ord, mask := range t.mask {
			kind := 0
			if mask&every != every {
				kind = 1
			}
			if mask&every == 0 && r.plan.words || want&(withAll<<kind) == 0 || mask&must != must || t.not[ord] ||
				passes != nil && !passes(ord) {
				continue
			}
			a := answer{score: t.score[ord], all: kind == 0, part: uint32(i), ord: uint32(ord), words: mask}
			if !r.plan.words {
				if p.isDead(ord) {
					continue
				}
				a.score = age(p.Columns.crawled[ord])
			}
			t.answers[kind] = append(t.answers[kind], a)
		}
		all[i], some[i] = slices.Clone(t.answers[0]), slices.Clone(t.answers[1])
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	done()
	return all, some, nil
}

// add adds a word to the documents that have it.
func (t *scratch) add(entries []entry, idf float32, bit uint32) {
	for _, e := range entries {
		ord := e.ord &^ exactBit
		score := idf * saturate(e.tf)
		if e.ord&exactBit != 0 {
			score *= 1 + exactBonus
		}
		t.score[ord] += score
		t.mask[ord] |= bit
	}
}

// age is a score that falls with the age of a page, in (0, 1) since 1970, with a grain of some minutes.
func age(crawled int64) float32 {
	return float32(min(max(float64(crawled), 0)/(1<<32), 1))
}

// filter is the test of a part's documents by the query's filters: nil = all pass; any is false when none can.
func (r *Ranking) filter(p *part) (passes func(ord int) bool, any bool) {
	q, a, c := &r.plan.query, &r.plan.ask, p.Columns
	any = true
	var tests []func(int) bool
	oneOf := func(d *coded, want func(name string) bool) {
		ok, some, every := make([]bool, len(d.names)), false, true
		for i, name := range d.names {
			ok[i] = want(name)
			some, every = some || ok[i], every && ok[i]
		}
		any = any && some
		if !every {
			tests = append(tests, func(ord int) bool { return ok[d.codes[ord]] })
		}
	}
	for _, sites := range [][]string{q.Sites, a.Sites} {
		if len(sites) > 0 {
			oneOf(&c.sites, func(name string) bool { return ofSite(name, sites) })
		}
	}
	if len(a.NotSites) > 0 {
		oneOf(&c.sites, func(name string) bool { return !ofSite(name, a.NotSites) })
	}
	for _, languages := range [][]string{q.Languages, a.Languages} {
		if len(languages) > 0 {
			oneOf(&c.langs, func(name string) bool { return slices.Contains(languages, name) })
		}
	}
	for _, kinds := range [][]string{q.Types, a.Types} {
		if len(kinds) > 0 {
			oneOf(&c.kinds, func(name string) bool { return slices.Contains(kinds, name) })
		}
	}
	if !q.From.IsZero() || !q.To.IsZero() {
		from, to := int64(math.MinInt64), int64(math.MaxInt64)
		if !q.From.IsZero() {
			from = seconds(q.From)
			if q.From.Nanosecond() > 0 {
				from++
			}
		}
		if !q.To.IsZero() {
			to = seconds(q.To)
			if q.To.Nanosecond() > 0 {
				to++
			}
		}
		tests = append(tests, func(ord int) bool { return c.crawled[ord] >= from && c.crawled[ord] < to })
	}
	if len(tests) == 0 {
		return nil, any
	}
	return func(ord int) bool {
		for _, test := range tests {
			if !test(ord) {
				return false
			}
		}
		return true
	}, any
}

// ofSite says whether a site is one of these or a subdomain of one.
func ofSite(name string, sites []string) bool {
	for _, s := range sites {
		s = strings.ToLower(s)
		if rest, ok := strings.CutSuffix(name, s); ok && (rest == "" || strings.HasSuffix(rest, ".")) {
			return true
		}
	}
	return false
}
