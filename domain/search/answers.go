package search

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// uniques is a hash table of text keys. Before it are two bits for each hash, whether a key was seen, and whether one
// was seen again: most never are, and bits fit the processor's cache.
type uniques struct {
	seen, again []uint64
	slots       []slot
}

type slot struct {
	key uint64 // 0 = free
	at  uint32
}

var tables = sync.Pool{New: func() any { return new(uniques) }}

// cleared is a slice of n zeros, in the memory of another where it suffices.
func cleared[T any](old []T, n int) []T {
	if n > cap(old) {
		return make([]T, n)
	}
	clear(old[:n])
	return old[:n]
}

// power is a power of two, n or more, and 64 at least.
func power(n int) int { return 1 << max(6, bits.Len(uint(max(n, 1)-1))) }

func scatter(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> 20 }

// see finds out which of n keys are there several times, together with few that are not.
func (u *uniques) see(n int, keys iter.Seq[uint64]) {
	size := power(16 * n)
	u.seen, u.again = cleared(u.seen, size/64), cleared(u.again, size/64)
	several := 0
	for key := range keys {
		i := scatter(key) & uint64(size-1)
		bit := uint64(1) << (i % 64)
		if u.seen[i/64]&bit != 0 {
			u.again[i/64] |= bit
			several++
		}
		u.seen[i/64] |= bit
	}
	u.slots = cleared(u.slots, power(4*several)) // those that were first count too
}

// find is the slot of a key, which may be free; nil = the key is there once.
func (u *uniques) find(key uint64) *slot {
	h := scatter(key)
	i := h & uint64(64*len(u.again)-1)
	if u.again[i/64]&(1<<(i%64)) == 0 {
		return nil
	}
	for i := h; ; i++ {
		if s := &u.slots[i&uint64(len(u.slots)-1)]; s.key == 0 || s.key == key {
			return s
		}
	}
}

// collapse returns the answers of lists, of the same text only the best.
func (r *Ranking) collapse(lists [][]answer) []answer {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	u := tables.Get().(*uniques)
	defer tables.Put(u)
	u.see(n, func(yield func(uint64) bool) {
		for _, list := range lists {
			for i := range list {
				if key := r.text(&list[i]); key != 0 && !yield(key) {
					return
				}
			}
		}
	})
	to := make([]answer, 0, n)
	for _, list := range lists {
		for _, a := range list {
			key := r.text(&a)
			var s *slot
			if key != 0 {
				s = u.find(key)
			}
			if s == nil {
				to = append(to, a)
				continue
			}
			if s.key == 0 {
				*s = slot{key, uint32(len(to))}
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
	}
	return to
}

func (r *Ranking) text(a *answer) uint64 { return r.s.parts[a.part].Columns.keys[a.ord] }

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

// below says of most answers that come after another that they do.
func below(a, b *answer) bool { return a.score < b.score && (b.all || !a.all) }

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
		case n > 0 && !below(&answers[i], &answers[heap[0]]) && worse(heap[0], i):
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

// mostNear is how many postings the words of a query have at most for their positions to be read: those take about as
// many bytes as the occurrences. Of more than fewNear words, all of them may have mostNearLong: the rarest say most.
const (
	mostNear     = 1_000_000
	fewNear      = 5
	mostNearLong = 300_000
)

// nearGroups are the words whose nearness counts, by bit: the rarest. Others are so common that reading their positions
// would take longer than all else.
func (r *Ranking) nearGroups() (bits uint32) {
	var words []int
	for i, g := range r.groups {
		if !g.phrase && !g.several {
			words = append(words, i)
		}
	}
	slices.SortStableFunc(words, func(a, b int) int { return cmp.Compare(r.df[r.bits[a]], r.df[r.bits[b]]) })
	sum, n := 0, 0
	for _, i := range words {
		if sum += r.df[r.bits[i]]; sum > mostNear || n >= fewNear && sum > mostNearLong {
			break
		}
		bits |= 1 << i
		n++
	}
	if n < min(2, len(words)) { // none is near another
		return 0
	}
	return bits
}

// Near is what Refine wants: none where a query has a single word, where the order is none of words, or where the
// words are so common that reading their positions would take longer than all else. What a segment has of a word is
// left out where none of the best answers has it beside another one.
func (r *Ranking) Near() []Need {
	near := r.nearGroups()
	if len(r.groups) < 2 || near == 0 || r.best < 2 {
		return nil
	}
	words := make([]uint32, len(r.s.parts))
	for _, a := range r.answers[:r.best] {
		if has := a.words & near; has&(has-1) != 0 {
			words[a.part] |= has
		}
	}
	var needs []Need
	for part := range r.s.parts {
		seen := map[string]bool{}
		for i, g := range r.groups {
			if words[part]&(1<<i) == 0 {
				continue
			}
			for _, t := range g.terms {
				if _, has := r.posted[key{t.term, part}]; has && !seen[t.term] {
					seen[t.term] = true
					needs = append(needs, Need{t.term, r.s.parts[part].ID})
				}
			}
		}
	}
	return needs
}

// Refine adds to the scores of the best answers how near together the words are, and more where they are the whole
// title of the page, given the positions of what Near wants (postings need not be repeated; rows that are missing count
// as no occurrences). As only scores of the best grow, all other answers stay behind them.
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
	near, byPart := r.nearGroups(), make([][]*answer, len(r.s.parts))
	for i := range r.answers[:r.best] {
		a := &r.answers[i]
		byPart[a.part] = append(byPart[a.part], a)
	}
	done, err := r.share(len(byPart), func(m *mixer, part int) error {
		return m.near(part, byPart[part], near, positions)
	})
	if err != nil {
		return err
	}
	done()
	slices.SortFunc(r.answers[:r.best], func(a, b answer) int { return r.compare(&a, &b) })
	return nil
}

// near adds to the scores of answers of a part. The nearness of words counts whose bits are in nearBits.
func (m *mixer) near(part int, answers []*answer, nearBits uint32, positions map[key][]byte) error {
	r, p := m.r, &m.r.s.parts[part]
	title := r.plan.plainWords() // words that the title has of which the query is all
	entitled := len(r.groups) > 1 && nearBits != 0 && slices.ContainsFunc(answers, func(a *answer) bool {
		return int(p.Columns.lengths[fieldTitle][a.ord]) == title
	})
	slices.SortFunc(answers, func(a, b *answer) int { return cmp.Compare(a.ord, b.ord) })
	places := make([][]place, len(answers))
	titled := make([]uint32, len(answers)) // the words in the title, by bit
	for word, g := range r.groups {
		if g.several {
			continue
		}
		for _, t := range g.terms {
			row, has := r.posted[key{t.term, part}]
			bytes, read := positions[key{t.term, part}]
			read = read && nearBits&(1<<word) != 0
			if !has || !read && !entitled {
				continue
			}
			list, err := newScan(row.Postings, p.Columns.Len())
			w := walk{b: bytes}
			for i, a := range answers {
				if err == nil {
					err = list.reach(a.ord)
				}
				if err != nil {
					return fmt.Errorf("read term %q of segment %d: %w", t.term, p.ID, err)
				}
				if !list.found {
					break
				}
				if list.ord != a.ord || t.role == plainForm && p.Columns.langs.at(int(a.ord)) != t.language {
					continue
				}
				if t.of == "" && list.counts.of(fieldTitle) > 0 { // "wifi" is no wi and no fi
					titled[i] |= 1 << word
				}
				if !read {
					continue
				}
				at, err := w.of(list.place)
				for s := (spots{b: at}); err == nil; {
					var more bool
					if more, err = s.next(); !more {
						break
					}
					places[i] = append(places[i], place{s.at, word})
				}
				if err != nil {
					return fmt.Errorf("read positions of term %q of segment %d: %w", t.term, p.ID, err)
				}
			}
		}
	}
	for i, a := range answers {
		found := places[i]
		slices.SortFunc(found, comparePlaces)
		found = slices.Compact(found) // a word and its stem are at the same place
		norm := weights[fieldBody] * (r.norms.flat[fieldBody] +
			r.norms.slope[fieldBody]*float32(p.Columns.lengths[fieldBody][a.ord]))
		a.score += near(found, r.idfs, norm) + r.inRows(found)
		if titled[i] == 1<<len(r.groups)-1 && int(p.Columns.lengths[fieldTitle][a.ord]) == title {
			for _, idf := range r.idfs {
				a.score += wholeTitle * idf
			}
		}
	}
	return nil
}

// inRows is what a document counts more for the rows of the query that it has: places are ascending.
func (r *Ranking) inRows(found []place) (sum float32) {
	for _, row := range r.plan.rows {
		var words []place
		weight := float32(0)
		for _, s := range row {
			if bit := slices.Index(r.bits, s.group); bit >= 0 { // else it is too common to be asked for
				words = append(words, place{s.at, bit})
				weight += r.idfs[bit]
			}
		}
		for i := range found {
			if len(words) > 1 && found[i].word == words[0].word && begins(found[i:], words) {
				sum += rowBonus * weight
				break
			}
		}
	}
	return sum
}

// begins says that the words of a row, ascending, are at the first of these places and behind it.
func begins(found, row []place) bool {
	return !slices.ContainsFunc(row[1:], func(w place) bool {
		next := place{found[0].at + w.at - row[0].at, w.word}
		i := slices.IndexFunc(found, func(p place) bool { return comparePlaces(p, next) >= 0 })
		return i < 0 || found[i] != next
	})
}

func comparePlaces(a, b place) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return cmp.Compare(a.word, b.word)
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
