package search

import (
	"encoding/binary"
	"strings"
)

// A Block is terms of a segment that follow one another, as they are stored together: a row a term would cost more than
// the postings of most terms have. A term that many documents have is a block of its own.
//
// Postings are, for each term, three varints (how many bytes it has in common with the term before, how many follow,
// and how many its postings have), the bytes that follow, and the postings. Positions are, in the same order, a varint
// and so many bytes for each term.
type Block struct {
	First, Last         string
	Postings, Positions []byte
}

const (
	blockTerms     = 64
	blockPostings  = 1 << 10 // bytes of a block of several terms
	blockPositions = 8 << 10
)

// A Packer makes blocks of terms. It is one goroutine's.
type Packer struct {
	out   func(Block) error
	block Block
	terms int
}

// NewPacker hands blocks to out.
func NewPacker(out func(Block) error) *Packer { return &Packer{out: out} }

// Add takes the next term, in rising order.
func (p *Packer) Add(t TermPostings) error {
	if p.terms > 0 && (p.terms == blockTerms || len(p.block.Postings)+len(t.Term)+len(t.Postings) > blockPostings ||
		len(p.block.Positions)+len(t.Positions) > blockPositions) {
		if err := p.Flush(); err != nil {
			return err
		}
	}
	if p.terms == 0 {
		p.block.First = t.Term
	}
	shared := 0
	for last := p.block.Last; shared < min(len(last), len(t.Term)) && last[shared] == t.Term[shared]; {
		shared++
	}
	b := binary.AppendUvarint(p.block.Postings, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(t.Term)-shared))
	b = binary.AppendUvarint(b, uint64(len(t.Postings)))
	b = append(b, t.Term[shared:]...)
	p.block.Postings = append(b, t.Postings...)
	p.block.Positions = append(binary.AppendUvarint(p.block.Positions, uint64(len(t.Positions))), t.Positions...)
	p.block.Last = t.Term
	p.terms++
	return nil
}

// Flush hands out the last block. It is called after the last Add.
func (p *Packer) Flush() error {
	if p.terms == 0 {
		return nil
	}
	b := p.block
	p.block, p.terms = Block{}, 0
	return p.out(b)
}

// Terms calls f for each term until it returns false. Positions may be nil, as may then be those of the terms. Bytes
// are those of the block.
func (b Block) Terms(f func(TermPostings) bool) error {
	postings, positions := reader{b: b.Postings}, reader{b: b.Positions}
	last := ""
	for len(postings.b) > 0 {
		shared, own := postings.uvarint(), postings.count(1)
		n := postings.count(1)
		if postings.bad || shared > uint64(len(last)) {
			return errBroken
		}
		t := TermPostings{Term: last[:shared] + string(postings.bytes(own))}
		t.Postings = postings.bytes(n)
		if b.Positions != nil {
			t.Positions = positions.bytes(positions.count(1))
		}
		if postings.bad || positions.bad {
			return errBroken
		}
		if !f(t) {
			return nil
		}
		last = t.Term
	}
	return nil
}

// Find returns a term of the block, if it has it. A block without postings is one of that term alone.
func (b Block) Find(term string) (t TermPostings, found bool, err error) {
	if b.Postings == nil {
		r := reader{b: b.Positions}
		if t = (TermPostings{Term: term, Positions: r.bytes(r.count(1))}); r.bad || len(r.b) > 0 {
			return t, false, errBroken
		}
		return t, true, nil
	}
	err = b.Terms(func(each TermPostings) bool {
		t, found = each, each.Term == term
		return each.Term < term
	})
	return t, found, err
}

// Head is enough of a block's postings for Counts.
const Head = 2 * blockPostings

// Counts calls f for each term with a prefix and the number of documents that have it, given the first Head bytes of
// the block's postings at least.
func (b Block) Counts(prefix string, f func(term string, docs int)) error {
	r := reader{b: b.Postings}
	last := ""
	for len(r.b) > 0 {
		shared, own := r.uvarint(), int(r.uvarint())
		n := r.uvarint()
		if r.bad || shared > uint64(len(last)) || own > len(r.b) {
			return errBroken
		}
		term := last[:shared] + string(r.bytes(own))
		docs, size := binary.Uvarint(r.b)
		if size <= 0 {
			return errBroken
		}
		if strings.HasPrefix(term, prefix) {
			f(term, int(docs))
		}
		if n >= uint64(len(r.b)) {
			return nil // the last one, or cut
		}
		r.bytes(int(n))
		last = term
	}
	return nil
}
