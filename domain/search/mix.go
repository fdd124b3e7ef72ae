package search

import (
	"fmt"
	"math"
	"slices"
)

// A mixer makes one list of the terms of a group.
type mixer struct {
	r     *Ranking
	lists [][]posting
	arena []entry
	dense []merged // of several
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
		c.counts = [fieldCount]uint8{fieldTitle: c.counts[fieldTitle]}
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
		var sum, same [fieldCount]uint8
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

func addCounts(to, from *[fieldCount]uint8) {
	for f := range to {
		to[f] = uint8(min(int(to[f])+int(from[f]), 255))
	}
}

// several merges many lists: the words of a prefix, and corrections.
func (m *mixer) several(out []entry, p *part, g *group, lists [][]posting, used []lookup) []entry {
	if n := p.Columns.Len(); len(m.dense) < n {
		m.dense = make([]merged, n)
	}
	dense := m.dense[:p.Columns.Len()]
	clear(dense)
	for i, l := range lists {
		of := used[i]
		language := ""
		if of.role == plainForm || of.role == otherForm {
			language = of.language
		}
		for _, c := range l {
			if language != "" && p.Columns.langs.at(int(c.ord)) != language {
				continue
			}
			d := &dense[c.ord]
			d.same = d.same || of.role == exactForm
			switch {
			case d.list == 0 || of.role < used[d.list-1].role: // a form of the word itself, not what it was corrected to
				d.list, d.counts = int32(i+1), c.counts
			default:
				for f := range d.counts {
					d.counts[f] = max(d.counts[f], c.counts[f])
				}
			}
		}
	}
	for ord := range dense {
		d := &dense[ord]
		if d.list == 0 {
			continue
		}
		best := used[d.list-1]
		best.language = ""
		if best.role == plainForm {
			best.role = stemForm
		}
		out = m.add(out, p, g, &posting{uint32(ord), d.counts}, d.same, best)
	}
	return out
}

// merged is what several lists have of one document.
type merged struct {
	counts [fieldCount]uint8
	list   int32 // 1 + the one whose role counts; 0 = none has it
	same   bool
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
		var counts [fieldCount]uint8
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
