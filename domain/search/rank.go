package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// mostClauses is how many clauses a query has at most (see Parse).
	mostClauses = 32
	// relaxBelow is how many pages must have all words: below it those with some of them follow.
	relaxBelow = MaxLimit
	// refined is how many of the best answers are put in order by the distance of the words, too.
	refined = 300
	// mostBytes bounds the postings that a query reads, about two and a half bytes each.
	mostBytes = 5_000_000 * 5 / 2
)

// A Plan is what a query needs of an index. It is one goroutine's.
//
// The caller expands Prefixes, reads the Terms, has them ranked, reads what Ranking.Near wants, and calls Refine.
type Plan struct {
	ask    Ask
	groups []group
	query  Query
	words  bool // something ranks
	cut    bool
}

// A group is a clause of the query: the terms that count as one word, or the words of a phrase.
type group struct {
	clause          int
	words           []string // of the clause
	terms           []lookup // without those of a phrase
	phrase          bool
	not, must       bool // a page that has it is none; a page that has it not is none
	title           bool // only titles count
	silent          bool // it is not asked for after all: a stop word, or too common to be read
	prefix, several bool // several: of a great many terms
}

// A lookup is a term and what it is to the word of its group.
type lookup struct {
	term     string
	role     role
	language string // whose stem it is
}

type role uint8

const (
	exactForm role = iota
	stemForm       // language:stem, which covers all forms in that language but the stem itself
	plainForm      // the stem as a word; it counts in pages of its language
	otherForm      // a correction
)

// NewPlan finds out what a query needs.
func NewPlan(a Ask, q Query) *Plan {
	p := &Plan{ask: a, query: q}
	for i, c := range a.Clauses[:min(len(a.Clauses), mostClauses)] {
		g := group{clause: i, words: c.Words, not: c.Not, title: c.Title, prefix: c.Prefix,
			phrase: len(c.Words) > 1}
		g.must = !c.Not && (g.phrase || c.Title)
		if !g.phrase && !g.prefix && len(c.Words) == 1 {
			g.terms = forms(c.Words[0])
		}
		p.groups = append(p.groups, g)
	}
	p.hush()
	return p
}

// forms are the terms that count as one word: it, and in each language its stem and the words that have it.
func forms(word string) []lookup {
	terms := []lookup{{word, exactForm, ""}}
	for _, language := range stemLanguages {
		s := Stem(language, word)
		if s == "" || s == word {
			terms = append(terms, lookup{language + ":" + word, stemForm, language})
			continue
		}
		terms = append(terms, lookup{language + ":" + s, stemForm, language}, lookup{s, plainForm, language})
	}
	return terms
}

// hush silences stop words, unless there is nothing else that ranks.
func (p *Plan) hush() {
	stops := func(g *group) bool {
		return !g.not && !g.must && !g.prefix && len(g.words) == 1 && Stop("", g.words[0])
	}
	rest := slices.ContainsFunc(p.groups, func(g group) bool { return !g.not && !stops(&g) })
	for i := range p.groups {
		g := &p.groups[i]
		g.silent = rest && stops(g)
		p.words = p.words || !g.not
	}
}

// Prefixes are those of the query that the caller expands by Expand, before it asks for Terms.
func (p *Plan) Prefixes() []string {
	var prefixes []string
	for _, g := range p.groups {
		if g.prefix && len(g.words) == 1 && !slices.Contains(prefixes, g.words[0]) {
			prefixes = append(prefixes, g.words[0])
		}
	}
	return prefixes
}

// Expand says which words of the index begin with a prefix.
func (p *Plan) Expand(prefix string, words []string) {
	for i := range p.groups {
		g := &p.groups[i]
		if !g.prefix || g.words[0] != prefix {
			continue
		}
		g.terms, g.several = nil, true
		for _, w := range words {
			g.terms = append(g.terms, lookup{w, exactForm, ""})
		}
	}
}

// Also has other words counted, at half their weight, as if they were the word of a clause: corrections of a typing error.
func (p *Plan) Also(clause int, words ...string) {
	for i := range p.groups {
		g := &p.groups[i]
		if g.clause != clause || g.phrase || len(g.words) != 1 {
			continue
		}
		g.several = true
		for _, w := range words {
			for _, t := range forms(w) {
				g.terms = append(g.terms, lookup{t.term, otherForm, t.language})
			}
		}
	}
}

// Words are the clauses that are a single word which ranks, as indexes into Ask.Clauses: those that may have a typing
// error.
func (p *Plan) Words() []int {
	var clauses []int
	for _, g := range p.groups {
		if !g.not && !g.silent && !g.phrase && !g.prefix && len(g.words) == 1 {
			clauses = append(clauses, g.clause)
		}
	}
	return clauses
}

// Terms are to be read from every segment: sorted, each once.
func (p *Plan) Terms() []string {
	var terms []string
	for _, g := range p.groups {
		if g.silent {
			continue
		}
		if g.phrase {
			terms = append(terms, g.words...)
		}
		for _, t := range g.terms {
			terms = append(terms, t.term)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Positions are those of Terms whose positions are needed too: sorted, each once.
func (p *Plan) Positions() []string {
	var terms []string
	for _, g := range p.groups {
		if g.phrase && !g.silent {
			terms = append(terms, g.words...)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Afford bounds the work: given how many bytes the postings of each term have, the commonest words are left out until the
// rest is about five million postings, and then Ranking.AtLeast is set. Terms tells what is left. Calling it is optional.
func (p *Plan) Afford(bytes map[string]int64) {
	type cost struct {
		g     *group
		bytes int64
	}
	var costs []cost
	var sum int64
	for i := range p.groups {
		g := &p.groups[i]
		if g.silent {
			continue
		}
		c := cost{g: g}
		for _, t := range g.terms {
			c.bytes += bytes[t.term]
		}
		for _, w := range g.words {
			if g.phrase {
				c.bytes += bytes[w]
			}
		}
		sum += c.bytes
		if !g.not && !g.must {
			costs = append(costs, c)
		}
	}
	slices.SortStableFunc(costs, func(a, b cost) int { return cmp.Compare(b.bytes, a.bytes) })
	for i, c := range costs {
		if sum <= mostBytes || i == len(costs)-1 {
			return
		}
		c.g.silent, p.cut = true, true
		sum -= c.bytes
	}
}

// A Ranking is the answers to a query, in order. It is one goroutine's.
type Ranking struct {
	Total   int  // answers, duplicates collapsed
	AtLeast bool // words were too common to be read: there may be more
	Relaxed bool // fewer than 100 pages have all words, those with some of them follow

	s       *Snapshot
	plan    *Plan
	groups  []*group // that rank, by bit of the mask
	idfs    []float32
	df      []int // living documents that have a group, by the plan's groups
	norms   norms
	posted  map[key]Posted
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
	mask       uint32
}

// A Ranked is one answer.
type Ranked struct {
	Doc        uint32
	Position       // ID is the page's
	Duplicates int // documents of the same text that are not shown
	CrawledAt  time.Time
}

// entry is a document of a group: its ordinal, the top bit set where it has the exact form, and its weighed count.
type entry struct {
	ord uint32
	tf  float32
}

const exactBit = 1 << 31

// Rank finds and sorts the answers to a query: the rows are all there are of Plan.Terms in the segments of the snapshot;
// those of other segments are ignored. Of pages with the same text one is an answer, the best by the order of Position,
// which makes it the newest page of those that rank alike. A query without words, of filters and negated words, is answered
// by all other living pages, the newest first.
func Rank(s *Snapshot, p *Plan, rows []Posted) (*Ranking, error) {
	r := &Ranking{s: s, plan: p, AtLeast: p.cut || p.ask.Cut, norms: newNorms(s), posted: make(map[key]Posted, len(rows)),
		df: make([]int, len(p.groups))}
	for _, row := range rows {
		if part, has := s.byID[row.Segment]; has {
			r.posted[key{row.Term, part}] = row
		}
	}
	entries := make([][][]entry, len(p.groups)) // by group and part
	m := mixer{r: r}
	for i := range p.groups {
		g := &p.groups[i]
		if g.silent {
			continue
		}
		entries[i] = make([][]entry, len(s.parts))
		for part := range s.parts {
			list, err := m.mix(g, part)
			if err != nil {
				return nil, err
			}
			entries[i][part] = list
			r.df[i] += len(list)
		}
		if !g.not {
			r.groups = append(r.groups, g)
			r.idfs = append(r.idfs, idf(r.df[i], s.docs))
		}
	}
	r.collect(entries)
	return r, nil
}

// Found is how many living pages have a clause, by its index in Ask.Clauses; −1 = it was not looked for.
func (r *Ranking) Found(clause int) int {
	for i, g := range r.plan.groups {
		if g.clause == clause && !g.silent {
			return r.df[i]
		}
	}
	return -1
}

// A mixer makes one list of the terms of a group.
type mixer struct {
	r     *Ranking
	lists [][]posting
	arena []entry
}

// mix is the living documents of a part that have a group, ascending.
func (m *mixer) mix(g *group, part int) ([]entry, error) {
	if g.phrase {
		return m.phrase(g, part)
	}
	p := &m.r.s.parts[part]
	var lists [][]posting
	var used []lookup
	for _, t := range g.terms {
		row, has := m.r.posted[key{t.term, part}]
		if !has {
			continue
		}
		i := len(lists)
		if i == len(m.lists) {
			m.lists = append(m.lists, nil)
		}
		var err error
		if m.lists[i], err = decodePostings(row.Postings, p.Columns.Len(), m.lists[i][:0]); err != nil {
			return nil, fmt.Errorf("read term %q of segment %d: %w", t.term, p.ID, err)
		}
		lists, used = append(lists, m.lists[i]), append(used, t)
	}
	most := 0
	for _, l := range lists {
		most += len(l)
	}
	out := m.room(min(most, p.Columns.Len()))
	switch {
	case len(lists) == 0:
	case len(lists) == 1:
		for i := range lists[0] {
			out = m.add(out, p, g, &lists[0][i], used[0].role == exactForm, used[0])
		}
	case g.several:
		out = m.several(out, p, g, lists, used)
	default:
		out = m.forms(out, p, g, lists, used)
	}
	m.arena = m.arena[len(out):]
	return out, nil
}

// room is space for n entries.
func (m *mixer) room(n int) []entry {
	if n > len(m.arena) {
		m.arena = make([]entry, max(n, 1<<14))
	}
	return m.arena[:0:n]
}

// add adds one document whose counts are known.
func (m *mixer) add(out []entry, p *part, g *group, c *posting, same bool, of lookup) []entry {
	if p.isDead(int(c.ord)) || of.role == plainForm && p.Columns.langs.at(int(c.ord)) != of.language {
		return out
	}
	if g.title {
		c.counts = [fields]uint8{fieldTitle: c.counts[fieldTitle]}
		if c.counts[fieldTitle] == 0 {
			return out
		}
	}
	e := entry{c.ord, m.r.norms.weigh(p.Columns, c.ord, &c.counts)}
	if of.role == otherForm {
		e.tf *= otherShare
	}
	if same {
		e.ord |= exactBit
	}
	return append(out, e)
}

// forms merges the few lists of a word and its stems. In a page of a language the stem's term covers all forms but the
// stem itself, which is a plain word.
func (m *mixer) forms(out []entry, p *part, g *group, lists [][]posting, used []lookup) []entry {
	var stemmed [8]bool // by list: a stem's term that covers the exact form too
	for i, t := range used {
		stemmed[i] = t.role == stemForm && t.term != t.language+":"+g.words[0]
	}
	for {
		ord := uint32(math.MaxUint32)
		for _, l := range lists {
			if len(l) > 0 {
				ord = min(ord, l[0].ord)
			}
		}
		if ord == math.MaxUint32 {
			return out
		}
		var sum, same [fields]uint8
		isSame, covered, has := false, false, false
		for i, l := range lists {
			if len(l) == 0 || l[0].ord != ord {
				continue
			}
			counts := &l[0].counts
			lists[i] = l[1:]
			switch {
			case used[i].role == exactForm:
				same, isSame, has = *counts, true, true
			case used[i].role == plainForm && p.Columns.langs.at(int(ord)) != used[i].language:
			default:
				covered = covered || stemmed[i]
				has = true
				addCounts(&sum, counts)
			}
		}
		if !has {
			continue
		}
		if !covered && isSame {
			addCounts(&sum, &same)
		}
		out = m.add(out, p, g, &posting{ord, sum}, isSame && (!g.title || same[fieldTitle] > 0), lookup{})
	}
}

func addCounts(to, from *[fields]uint8) {
	for f := range to {
		to[f] = uint8(min(int(to[f])+int(from[f]), 255))
	}
}

// several merges many lists: the words of a prefix, and corrections.
func (m *mixer) several(out []entry, p *part, g *group, lists [][]posting, used []lookup) []entry {
	type occurrence struct {
		posting
		list int
	}
	var all []occurrence
	for i, l := range lists {
		for _, c := range l {
			if used[i].role == plainForm || used[i].role == otherForm && used[i].language != "" {
				if p.Columns.langs.at(int(c.ord)) != used[i].language {
					continue
				}
			}
			all = append(all, occurrence{c, i})
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.ord, b.ord) })
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].ord == all[0].ord {
			n++
		}
		sum, best, same := all[0].posting, used[all[0].list], false
		for _, o := range all[1:n] {
			if used[o.list].role < best.role { // a form of the word itself counts, not what it was corrected to
				best, sum.counts = used[o.list], o.counts
			} else {
				for f := range sum.counts {
					sum.counts[f] = max(sum.counts[f], o.counts[f])
				}
			}
		}
		for _, o := range all[:n] {
			same = same || used[o.list].role == exactForm
		}
		best.language = ""
		if best.role == plainForm {
			best.role = stemForm
		}
		out = m.add(out, p, g, &sum, same, best)
		all = all[n:]
	}
	return out
}

// phrase is the documents that have the words of a phrase one after the other.
func (m *mixer) phrase(g *group, part int) ([]entry, error) {
	p := &m.r.s.parts[part]
	type cursor struct {
		list  []posting
		walk  walk
		at    []byte
		spots []uint32
	}
	cursors := make([]cursor, len(g.words))
	for i, w := range g.words {
		row, has := m.r.posted[key{w, part}]
		if !has {
			return nil, nil
		}
		list, err := decodePostings(row.Postings, p.Columns.Len(), nil)
		if err != nil {
			return nil, fmt.Errorf("read term %q of segment %d: %w", w, p.ID, err)
		}
		cursors[i] = cursor{list: list, walk: walk{row.Positions}}
	}
	var out []entry
	for _, first := range cursors[0].list {
		at, err := cursors[0].walk.next()
		if err != nil {
			return nil, fmt.Errorf("read positions of term %q of segment %d: %w", g.words[0], p.ID, err)
		}
		cursors[0].at = at
		everywhere := true
		for i := 1; i < len(cursors) && everywhere; i++ {
			c := &cursors[i]
			found := false
			for len(c.list) > 0 && c.list[0].ord <= first.ord {
				if c.at, err = c.walk.next(); err != nil {
					return nil, fmt.Errorf("read positions of term %q of segment %d: %w", g.words[i], p.ID, err)
				}
				found = c.list[0].ord == first.ord
				c.list = c.list[1:]
			}
			everywhere = found
		}
		if !everywhere || p.isDead(int(first.ord)) {
			continue
		}
		for i := range cursors {
			c := &cursors[i]
			if c.spots, err = decodePositions(c.at, c.spots[:0]); err != nil {
				return nil, fmt.Errorf("read positions of term %q of segment %d: %w", g.words[i], p.ID, err)
			}
		}
		title := p.Columns.lengths[fieldTitle][first.ord]
		var counts [fields]uint8
		for _, spot := range cursors[0].spots {
			whole := true
			for i := 1; i < len(cursors) && whole; i++ {
				_, whole = slices.BinarySearch(cursors[i].spots, spot+uint32(i))
			}
			switch {
			case !whole:
			case spot+uint32(len(g.words)) <= title:
				counts[fieldTitle] = min(counts[fieldTitle], mostSmall-1) + 1
			default:
				counts[fieldBody] = min(counts[fieldBody], mostBody-1) + 1
			}
		}
		if counts[fieldTitle] > 0 || counts[fieldBody] > 0 && !g.title {
			out = m.add(out, p, g, &posting{first.ord, counts}, false, lookup{})
		}
	}
	return out, nil
}

// scratch is what one segment's documents add up to.
type scratch struct {
	score []float32
	mask  []uint32
	not   []bool
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

// collect adds up the scores, and gathers the answers.
func (r *Ranking) collect(entries [][][]entry) {
	t := scratches.Get().(*scratch)
	defer scratches.Put(t)
	every := uint32(1)<<len(r.groups) - 1
	must := uint32(0)
	for bit, g := range r.groups {
		if g.must {
			must |= 1 << bit
		}
	}
	var answers, all, some []answer
	one := newUniques(0)
	for i := range r.s.parts {
		p := &r.s.parts[i]
		passes, any := r.filter(p)
		if !any {
			continue
		}
		n := p.Columns.Len()
		t.reset(n)
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
		all = all[:0]
		few := len(answers) < relaxBelow
		for ord := range n {
			mask := t.mask[ord]
			if mask == 0 && r.plan.words || mask&must != must || t.not[ord] {
				continue
			}
			a := answer{score: t.score[ord], all: mask == every, part: uint32(i), ord: uint32(ord), mask: mask}
			switch {
			case !a.all && !few:
				continue
			case passes != nil && !passes(ord):
				continue
			case !r.plan.words:
				if p.isDead(ord) {
					continue
				}
				a.score = age(p.Columns.crawled[ord])
			}
			if a.all {
				all = append(all, a)
			} else {
				some = append(some, a)
			}
		}
		answers = r.collapse(answers, all, one)
	}
	if r.plan.words && len(answers) < relaxBelow {
		with := r.collapse(answers, some, one)
		r.Relaxed = len(with) > len(answers)
		answers = with
	}
	r.answers, r.Total = answers, len(answers)
	r.sortBest()
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

// uniques is a hash table of text keys.
type uniques struct {
	slots []slot
	n     int
}

type slot struct {
	key uint64 // 0 = free
	at  uint32
}

func newUniques(n int) *uniques {
	size := 1 << 10
	for size < 2*n {
		size *= 2
	}
	return &uniques{slots: make([]slot, size)}
}

// find is the slot of a key, which may be free.
func (u *uniques) find(key uint64) *slot {
	mask := uint64(len(u.slots) - 1)
	for i := (key * 0x9e3779b97f4a7c15) >> 20 & mask; ; i = (i + 1) & mask {
		if s := &u.slots[i]; s.key == 0 || s.key == key {
			return s
		}
	}
}

// grow makes room for so many more.
func (u *uniques) grow(n int) {
	if 2*(u.n+n) <= len(u.slots) {
		return
	}
	old := u.slots
	*u = uniques{slots: newUniques(u.n + n).slots, n: u.n}
	for _, s := range old {
		if s.key != 0 {
			*u.find(s.key) = s
		}
	}
}

// collapse appends answers to those before, of the same text only the best.
func (r *Ranking) collapse(to, from []answer, u *uniques) []answer {
	u.grow(len(from))
	for _, a := range from {
		key := r.s.parts[a.part].Columns.keys[a.ord]
		if key == 0 {
			to = append(to, a)
			continue
		}
		s := u.find(key)
		if s.key == 0 {
			*s = slot{key, uint32(len(to))}
			u.n++
			to = append(to, a)
			continue
		}
		kept := &to[s.at]
		a.duplicates = kept.duplicates + 1
		if r.compare(&a, kept) < 0 {
			*kept = a
		} else {
			kept.duplicates++
		}
	}
	return to
}

// compare puts the better answer first.
func (r *Ranking) compare(a, b *answer) int {
	if a.all != b.all {
		if a.all {
			return -1
		}
		return 1
	}
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Compare(r.page(b), r.page(a))
}

func (r *Ranking) page(a *answer) int64 { return r.s.parts[a.part].Columns.pages[a.ord] }

func (r *Ranking) position(a *answer) Position {
	return Position{All: a.all, Score: a.score, ID: r.page(a)}
}

// after says whether an answer comes after a position.
func (r *Ranking) after(a *answer, p *Position) bool {
	switch {
	case p == nil:
		return true
	case a.all != p.All:
		return p.All
	case a.score != p.Score:
		return a.score < p.Score
	default:
		return r.page(a) < p.ID
	}
}

// sortBest brings the best answers to the front, in order.
func (r *Ranking) sortBest() {
	r.best = min(len(r.answers), refined)
	top := r.top(r.answers, r.best)
	// Swap them to the front: places are ascending, so none is moved twice.
	slices.Sort(top)
	for i, at := range top {
		r.answers[i], r.answers[at] = r.answers[at], r.answers[i]
	}
	slices.SortFunc(r.answers[:r.best], func(a, b answer) int { return r.compare(&a, &b) })
}

// top is the places of the n best answers, in no order.
func (r *Ranking) top(answers []answer, n int) []int {
	heap := make([]int, 0, n) // the worst at the root
	worse := func(a, b int) bool { return r.compare(&answers[a], &answers[b]) > 0 }
	down := func(i int) {
		for {
			child := 2*i + 1
			if child >= len(heap) {
				return
			}
			if child+1 < len(heap) && worse(heap[child+1], heap[child]) {
				child++
			}
			if !worse(heap[child], heap[i]) {
				return
			}
			heap[i], heap[child] = heap[child], heap[i]
			i = child
		}
	}
	for i := range answers {
		switch {
		case len(heap) < n:
			heap = append(heap, i)
			if len(heap) == n {
				for j := n / 2; j >= 0; j-- {
					down(j)
				}
			}
		case n > 0 && worse(heap[0], i):
			heap[0] = i
			down(0)
		}
	}
	return heap
}

// A Need is a term of a segment whose positions are worth reading.
type Need struct {
	Term    string
	Segment int64
}

// Near is what Refine wants: none where a query has a single word, or where the order is none of words.
func (r *Ranking) Near() []Need {
	words := 0
	for _, g := range r.groups {
		if !g.phrase {
			words++
		}
	}
	if len(r.groups) < 2 || words == 0 || r.best < 2 {
		return nil
	}
	parts := map[uint32]bool{}
	for _, a := range r.answers[:r.best] {
		parts[a.part] = true
	}
	var needs []Need
	for part := range r.s.parts {
		if !parts[uint32(part)] {
			continue
		}
		seen := map[string]bool{}
		for _, g := range r.groups {
			for _, t := range g.terms {
				if _, has := r.posted[key{t.term, part}]; has && !g.several && !seen[t.term] {
					seen[t.term] = true
					needs = append(needs, Need{t.term, r.s.parts[part].ID})
				}
			}
		}
	}
	return needs
}

// Refine adds to the scores of the best answers how near together the words are, given the positions of what Near wants
// (postings need not be repeated; rows that are missing count as no occurrences). As only scores of the best grow, all other
// answers stay behind them.
func (r *Ranking) Refine(rows []Posted) error {
	if r.best < 2 {
		return nil
	}
	positions := make(map[key][]byte, len(rows))
	for _, row := range rows {
		if part, has := r.s.byID[row.Segment]; has {
			positions[key{row.Term, part}] = row.Positions
		}
	}
	byPart := map[uint32][]*answer{}
	for i := range r.answers[:r.best] {
		a := &r.answers[i]
		byPart[a.part] = append(byPart[a.part], a)
	}
	var list []posting
	var spots []uint32
	for part, answers := range byPart {
		slices.SortFunc(answers, func(a, b *answer) int { return cmp.Compare(a.ord, b.ord) })
		places := make([][]place, len(answers))
		columns := r.s.parts[part].Columns
		for word, g := range r.groups {
			if g.several {
				continue
			}
			for _, t := range g.terms {
				row, has := r.posted[key{t.term, int(part)}]
				bytes, read := positions[key{t.term, int(part)}]
				if !has || !read {
					continue
				}
				var err error
				if list, err = decodePostings(row.Postings, columns.Len(), list[:0]); err != nil {
					return fmt.Errorf("read term %q of segment %d: %w", t.term, row.Segment, err)
				}
				w, next := walk{bytes}, 0
				for _, c := range list {
					for next < len(answers) && answers[next].ord < c.ord {
						next++
					}
					if next == len(answers) {
						break
					}
					at, err := w.next()
					if err == nil && answers[next].ord == c.ord &&
						(t.role != plainForm || columns.langs.at(int(c.ord)) == t.language) {
						spots, err = decodePositions(at, spots[:0])
						for _, s := range spots {
							places[next] = append(places[next], place{s, word})
						}
					}
					if err != nil {
						return fmt.Errorf("read positions of term %q of segment %d: %w", t.term, row.Segment, err)
					}
				}
			}
		}
		for i, a := range answers {
			found := places[i]
			slices.SortFunc(found, func(a, b place) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.word, b.word))
			})
			found = slices.Compact(found) // a word and its stem are at the same place
			norm := weights[fieldBody] * (r.norms.flat[fieldBody] +
				r.norms.slope[fieldBody]*float32(columns.lengths[fieldBody][a.ord]))
			a.score += near(found, r.idfs, norm)
		}
	}
	slices.SortFunc(r.answers[:r.best], func(a, b answer) int { return r.compare(&a, &b) })
	return nil
}

// Hits are the next answers after a position (nil = the first), up to limit, and whether more follow.
func (r *Ranking) Hits(after *Position, limit int) (hits []Ranked, more bool) {
	add := func(a *answer) {
		c := r.s.parts[a.part].Columns
		hits = append(hits, Ranked{Doc: c.docs[a.ord], Position: r.position(a), Duplicates: int(a.duplicates),
			CrawledAt: time.Unix(c.crawled[a.ord], 0).UTC()})
	}
	for i := range r.answers[:r.best] {
		if a := &r.answers[i]; r.after(a, after) {
			if len(hits) == limit {
				return hits, true
			}
			add(a)
		}
	}
	var rest []answer
	for i := range r.answers[r.best:] {
		if a := &r.answers[r.best+i]; r.after(a, after) {
			rest = append(rest, *a)
		}
	}
	top := r.top(rest, min(limit-len(hits), len(rest)))
	more = len(top) < len(rest)
	slices.SortFunc(top, func(a, b int) int { return r.compare(&rest[a], &rest[b]) })
	for _, at := range top {
		add(&rest[at])
	}
	return hits, more
}

// Facets count the answers.
func (r *Ranking) Facets() *Facets {
	sites, langs, kinds, months := map[string]int{}, map[string]int{}, map[string]int{}, map[int64]int{}
	type counts struct{ sites, langs, kinds []int }
	parts := make([]counts, len(r.s.parts))
	for i := range parts {
		c := r.s.parts[i].Columns
		parts[i] = counts{make([]int, len(c.sites.names)), make([]int, len(c.langs.names)), make([]int, len(c.kinds.names))}
	}
	var day, dayCount int64
	for _, a := range r.answers {
		c, n := r.s.parts[a.part].Columns, &parts[a.part]
		n.sites[c.sites.codes[a.ord]]++
		n.langs[c.langs.codes[a.ord]]++
		n.kinds[c.kinds.codes[a.ord]]++
		if d := c.crawled[a.ord] / 86400; d != day { // neighbours are of one day, mostly
			months[day] += int(dayCount)
			day, dayCount = d, 0
		}
		dayCount++
	}
	months[day] += int(dayCount)
	for i := range parts {
		c := r.s.parts[i].Columns
		for _, f := range []struct {
			n    []int
			d    *coded
			into map[string]int
		}{{parts[i].sites, &c.sites, sites}, {parts[i].langs, &c.langs, langs}, {parts[i].kinds, &c.kinds, kinds}} {
			for code, n := range f.n {
				if n > 0 {
					f.into[f.d.names[code]] += n
				}
			}
		}
	}
	byMonth := map[string]int{}
	for day, n := range months {
		byMonth[time.Unix(day*86400, 0).UTC().Format("2006-01")] += n
	}
	const most = 20
	return &Facets{commonest(sites, most), commonest(langs, most), commonest(kinds, most), commonest(byMonth, most)}
}

// commonest are the values with the highest counts, those of one count by name.
func commonest(n map[string]int, most int) []Count {
	counts := []Count{}
	for value, pages := range n {
		if pages > 0 && value != "" {
			counts = append(counts, Count{value, pages})
		}
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Value, b.Value))
	})
	return counts[:min(len(counts), most)]
}
