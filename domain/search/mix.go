package search

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A mixer makes one list of the terms of a group. It is one goroutine's.
type mixer struct {
	r     *Ranking
	lists [][]posting
	cands []uint32 // for a phrase
	arena []entry  // what is free of it
	whole []entry

	dense []merged // of several
}

// mixers have memory that is in use until a query is ranked.
var mixers = sync.Pool{New: func() any { return new(mixer) }}

// fewBytes are so few that one processor has mixed them before another is awake.
const fewBytes = 32 << 10

// mix is the living documents that have each group, by part. They are valid until done is called.
func (r *Ranking) mix(groups []*group) (entries [][][]entry, done func(), err error) {
	parts := len(r.s.parts)
	entries = make([][][]entry, len(groups))
	for i := range groups {
		entries[i] = make([][]entry, parts)
	}
	done, err = r.share(len(groups)*parts, func(m *mixer, i int) (err error) {
		entries[i/parts][i%parts], err = m.mix(groups[i/parts], i%parts)
		return err
	})
	return entries, done, err
}

// share has tasks done on all processors. What is in the memory of the mixers is valid until done is called.
func (r *Ranking) share(tasks int, do func(m *mixer, task int) error) (done func(), err error) {
	workers := max(1, min(runtime.GOMAXPROCS(0), tasks))
	if r.bytes < fewBytes {
		workers = 1
	}
	used, errs := make([]*mixer, workers), make([]error, workers)
	for w := range used {
		used[w] = mixers.Get().(*mixer)
		used[w].r = r
	}
	side(workers, tasks, func(w, task int) {
		if errs[w] == nil {
			errs[w] = do(used[w], task)
		}
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err // the mixers may have half of something
	}
	return func() {
		for _, m := range used {
			m.r, m.arena = nil, m.whole
			mixers.Put(m)
		}
	}, nil
}

// side has tasks done by so many workers, side by side.
func side(workers, tasks int, do func(worker, task int)) {
	var next atomic.Int64
	work := func(w int) {
		for i := int(next.Add(1)) - 1; i < tasks; i = int(next.Add(1)) - 1 {
			do(w, i)
		}
	}
	var wg sync.WaitGroup
	panics := make([]any, workers) // those of the caller, who may survive them
	for w := 1; w < workers; w++ {
		wg.Go(func() {
			defer func() { panics[w] = recover() }()
			work(w)
		})
	}
	defer func() {
		wg.Wait()
		for _, p := range panics {
			if p != nil {
				panic(p)
			}
		}
	}()
	work(0)
}

// mix is the living documents of a part that have a group, ascending.
func (m *mixer) mix(g *group, part int) ([]entry, error) {
	if g.phrase {
		return m.phrase(g, part)
	}
	word, err := m.word(g, part)
	if err != nil || g.apart == nil {
		return word, err
	}
	apart, err := m.phrase(g.apart, part)
	return withApart(word, apart), err
}

// word is the living documents of a part that have a word or others in place of it, ascending.
func (m *mixer) word(g *group, part int) ([]entry, error) {
	p := &m.r.s.parts[part]
	var used []lookup
	var rows [][]byte
	for _, t := range g.terms {
		if row, has := m.r.posted[key{t.term, part}]; has {
			used, rows = append(used, t), append(rows, row.Postings)
		}
	}
	if len(used) == 0 {
		return nil, nil
	}
	var list []posting
	var err error
	switch {
	case g.several:
		list, err = m.several(p, used, rows)
	case used[len(used)-1].of != "":
		list, err = m.either(p, g, used, rows)
	case len(used) == 1:
		list, err = m.read(0, p, used[0], rows[0])
		if used[0].role == exactForm {
			for i := range list {
				list[i].ord |= exactBit
			}
		}
	default:
		list, err = m.forms(p, g, g.words[0], used, rows)
	}
	return m.weigh(p, g, list), err
}

// weigh makes entries of the postings of living documents. The ordinals may have exactBit and otherBit.
func (m *mixer) weigh(p *part, g *group, list []posting) []entry {
	if len(list) > len(m.arena) {
		m.whole = make([]entry, max(len(list), 1<<14, 2*len(m.whole)))
		m.arena = m.whole
	}
	out, n := m.arena[:0:len(list)], &m.r.norms
	flat, slope, lengths := n.flat[fieldBody], n.slope[fieldBody], p.Columns.lengths[fieldBody]
	for _, c := range list {
		ord := c.ord &^ (exactBit | otherBit)
		if p.isDead(int(ord)) {
			continue
		}
		if g.title {
			if c.counts = c.counts.only(fieldTitle); c.counts == 0 {
				continue
			}
		}
		tf := float32(c.counts.of(fieldBody)) / (flat + slope*float32(lengths[ord]))
		if c.counts&bodyOnly != 0 {
			tf = n.short(tf, p.Columns, ord, c.counts)
		}
		if c.ord&otherBit != 0 {
			tf *= otherShare
		}
		out = append(out, entry{c.ord &^ otherBit, tf})
	}
	m.arena = m.arena[len(out):]
	return out
}

// read decodes postings into list i. Those of a stem as a plain word count in pages of its language.
func (m *mixer) read(i int, p *part, t lookup, postings []byte) ([]posting, error) {
	m.hold(i)
	list, err := decodePostings(postings, p.Columns.Len(), m.lists[i][:0])
	if err != nil {
		return nil, fmt.Errorf("read term %q of segment %d: %w", t.term, p.ID, err)
	}
	m.lists[i] = list
	if t.role == plainForm || t.role == otherForm && t.language != "" {
		langs := &p.Columns.langs
		code := slices.Index(langs.names, t.language)
		list = slices.DeleteFunc(list, func(c posting) bool { return int(langs.codes[c.ord]) != code })
	}
	return list, nil
}

// hold makes room for lists up to i.
func (m *mixer) hold(i int) {
	for i >= len(m.lists) {
		m.lists = append(m.lists, nil)
	}
}

// either merges the lists of a word and of its others. These count in pages that do not have the word itself, and half
// of what it would: pages that are written as the query is come first.
func (m *mixer) either(p *part, g *group, used []lookup, rows [][]byte) ([]posting, error) {
	const sum, next = 3, 4 // among m.lists, after those of forms
	m.hold(next)
	m.lists[sum] = m.lists[sum][:0]
	for i := 0; i < len(used); { // the forms of a word follow one another
		word, n := used[i].of, i+1
		for n < len(used) && used[n].of == word {
			n++
		}
		list, err := m.forms(p, g, cmp.Or(word, g.words[0]), used[i:n], rows[i:n])
		if err != nil {
			return nil, err
		}
		for k := range list {
			if word != "" {
				list[k].ord |= otherBit
			}
		}
		m.lists[next] = joined(m.lists[next][:0], m.lists[sum], list, true)
		m.lists[sum], m.lists[next] = m.lists[next], m.lists[sum]
		i = n
	}
	return m.lists[sum], nil
}

// forms merges the few lists of a word and its stems. In a page of a language the stem's term covers all forms but the
// stem itself, which is a plain word.
func (m *mixer) forms(p *part, g *group, word string, used []lookup, rows [][]byte) ([]posting, error) {
	// Terms of stems that cover the exact form come before it, the others after it.
	order := func(t lookup) int {
		switch {
		case t.role == exactForm:
			return 1
		case t.role == stemForm && t.term != t.language+":"+word:
			return 0
		}
		return 2
	}
	const all, more, other = 0, 1, 2 // among m.lists
	m.hold(other)
	m.lists[all] = m.lists[all][:0]
	for turn := range 3 {
		for i, t := range used {
			if order(t) != turn {
				continue
			}
			list, err := m.read(other, p, t, rows[i])
			if err != nil {
				return nil, err
			}
			exact := turn == 1
			for i := range list {
				if exact && (!g.title || list[i].counts.only(fieldTitle) != 0) {
					list[i].ord |= exactBit
				}
			}
			if len(m.lists[all]) == 0 {
				m.lists[all], m.lists[other] = list, m.lists[all]
				continue
			}
			m.lists[more] = joined(m.lists[more][:0], m.lists[all], list, exact)
			m.lists[all], m.lists[more] = m.lists[more], m.lists[all]
		}
	}
	return m.lists[all], nil
}

// joined appends the postings of two lists. Of a document in both the counts are added, or, where it is covered, those
// of the first list stay.
func joined(out, a, b []posting, covered bool) []posting {
	out = slices.Grow(out, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		switch d := int64(x.ord&^(exactBit|otherBit)) - int64(y.ord&^(exactBit|otherBit)); {
		case d < 0:
			out, a = append(out, x), a[1:]
		case d > 0:
			out, b = append(out, y), b[1:]
		default:
			x.ord |= y.ord & exactBit
			if !covered {
				x.counts = x.counts.plus(y.counts)
			}
			out, a, b = append(out, x), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// several merges many lists: the words of a prefix, and corrections.
func (m *mixer) several(p *part, used []lookup, rows [][]byte) ([]posting, error) {
	n := p.Columns.Len()
	if len(m.dense) < n {
		m.dense = make([]merged, n)
	}
	dense := m.dense[:n]
	clear(dense)
	for i, t := range used {
		list, err := m.read(0, p, t, rows[i])
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			d := &dense[c.ord]
			d.same = d.same || t.role == exactForm
			if d.counts == 0 || t.role < d.role { // a form of the word itself, not what it was corrected to
				d.role, d.counts = t.role, c.counts
			} else {
				d.counts = d.counts.most(c.counts)
			}
		}
	}
	out := m.lists[0][:0]
	for ord := range dense {
		d := &dense[ord]
		if d.counts == 0 {
			continue
		}
		c := posting{uint32(ord), d.counts}
		if d.same {
			c.ord |= exactBit
		}
		if d.role == otherForm {
			c.ord |= otherBit
		}
		out = append(out, c)
	}
	m.lists[0] = out
	return out, nil
}

// merged is what several lists have of one document: none where there are no counts.
type merged struct {
	counts counts
	role   role // the one that counts
	same   bool
}

// A cursor is at one of the candidates for a phrase.
type cursor struct {
	word     string
	offset   uint32 // in the phrase
	postings []byte
	list     []posting
	next     int // in the list
	walk     walk
	at       []byte // the positions
	spots    spots
}

// phrase is the documents that have the words of a phrase one after the other.
func (m *mixer) phrase(g *group, part int) ([]entry, error) {
	p := &m.r.s.parts[part]
	cursors := make([]cursor, 0, len(g.words))
	for i, w := range g.sought() {
		row, has := m.r.posted[key{w, part}]
		if !has {
			return nil, nil
		}
		cursors = append(cursors,
			cursor{word: w, offset: uint32(i), postings: row.Postings, walk: walk{b: row.Positions}})
	}
	slices.SortStableFunc(cursors, func(a, b cursor) int { return cmp.Compare(len(a.postings), len(b.postings)) })
	cands := m.cands[:0]
	for i := range cursors { // the rarest first: what it leaves is few
		c := &cursors[i]
		var err error
		if c.list, err = m.read(i, p, lookup{term: c.word}, c.postings); err != nil {
			return nil, err
		}
		if i == 0 {
			for _, d := range c.list {
				if !p.isDead(int(d.ord)) {
					cands = append(cands, d.ord)
				}
			}
		} else {
			cands = common(cands, c.list)
		}
		m.cands = cands
		if len(cands) == 0 {
			return nil, nil
		}
	}
	var found []posting
	for _, ord := range cands {
		for i := range cursors {
			c := &cursors[i]
			for c.list[c.next].ord < ord {
				c.next++
			}
			var err error
			if c.at, err = c.walk.of(c.next); err != nil {
				return nil, fmt.Errorf("read positions of term %q of segment %d: %w", c.word, p.ID, err)
			}
		}
		// A phrase is in the title if its last word is.
		last := int64(p.Columns.lengths[fieldTitle][ord]) - int64(len(g.words))
		c, err := together(cursors, last)
		if err != nil {
			return nil, fmt.Errorf("read positions of segment %d: %w", p.ID, err)
		}
		if c != 0 {
			found = append(found, posting{ord, c})
		}
	}
	return m.weigh(p, g, found), nil
}

// common are those of ascending ordinals that a list has. It overwrites them.
func common(ords []uint32, list []posting) []uint32 {
	both := ords[:0]
	for _, ord := range ords {
		for len(list) > 0 && list[0].ord < ord {
			list = list[1:]
		}
		if len(list) > 0 && list[0].ord == ord {
			both = append(both, ord)
		}
	}
	return both
}

// together counts where the words of cursors follow one another in their current document: in its title up to a last
// position.
func together(cursors []cursor, last int64) (found counts, err error) {
	pivot := 0 // has the fewest positions
	for i := range cursors {
		c := &cursors[i]
		if len(c.at) < len(cursors[pivot].at) {
			pivot = i
		}
		c.spots = spots{b: c.at}
		if more, err := c.spots.next(); !more {
			return 0, err
		}
	}
	for p := &cursors[pivot]; ; {
		if first := p.spots.at - p.offset; first <= p.spots.at {
			whole := true
			for i := 0; i < len(cursors) && whole; i++ {
				c := &cursors[i]
				more, err := c.spots.reach(first + c.offset)
				if !more || err != nil {
					return found, err
				}
				whole = c.spots.at == first+c.offset
			}
			switch {
			case !whole:
			case int64(first) <= last:
				if found.of(fieldTitle) < mostSmall {
					found += one(fieldTitle, 1)
				}
			case found.of(fieldBody) < mostBody:
				found += one(fieldBody, 1)
			}
		}
		if more, err := p.spots.next(); !more || err != nil {
			return found, err
		}
	}
}
