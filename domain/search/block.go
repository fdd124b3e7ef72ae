package search

import "encoding/binary"

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
	out    func(Block) error
	block  Block
	terms  int
	hashes []uint64 // of all terms
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
	p.hashes = append(p.hashes, HashTerm(t.Term))
	return nil
}

// Filter is that of the terms that were added.
func (p *Packer) Filter() Filter { return newFilter(p.hashes) }

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

// Find returns a term of the block and its place among the terms, −1 = it is not there. Positions may be nil. A query
// looks into thousands of blocks, so Find builds no term.
func (b Block) Find(term string) (t TermPostings, place int, err error) {
	postings, positions := reader{b: b.Postings}, reader{b: b.Positions}
	// The term before is less than the one that is looked for, has so many of its first bytes, and is so long.
	same, length := 0, 0
	for place = 0; len(postings.b) > 0; place++ {
		shared, own := postings.uvarint(), postings.count(1)
		n := postings.count(1)
		if postings.bad || shared > uint64(length) {
			return t, -1, errBroken
		}
		rest := postings.bytes(own)
		t = TermPostings{Postings: postings.bytes(n)}
		if b.Positions != nil {
			t.Positions = positions.bytes(positions.count(1))
		}
		if postings.bad || positions.bad {
			return t, -1, errBroken
		}
		length = int(shared) + own
		if int(shared) > same {
			continue // it differs where the one before did
		}
		if int(shared) < same {
			break // it is greater where the one before was equal
		}
		for len(rest) > 0 && same < len(term) && rest[0] == term[same] {
			rest, same = rest[1:], same+1
		}
		if len(rest) == 0 && same == len(term) {
			t.Term = term
			return t, place, nil
		}
		if len(rest) > 0 && (same == len(term) || rest[0] > term[same]) {
			break
		}
	}
	return TermPostings{}, -1, nil
}

// PositionsAt is the positions of the term at a place, given those of the block alone.
func (b Block) PositionsAt(place int) ([]byte, error) {
	r := reader{b: b.Positions}
	for range place {
		r.bytes(r.count(1))
	}
	at := r.bytes(r.count(1))
	if r.bad {
		return nil, errBroken
	}
	return at, nil
}

// Head is enough of a block's postings for Counts.
const Head = 2 * blockPostings

// Counts calls f for each term with a prefix and the number of documents that have it, given the first Head bytes of
// the block's postings at least.
func (b Block) Counts(prefix string, f func(term string, docs int)) error {
	r := reader{b: b.Postings}
	var term []byte
	for len(r.b) > 0 {
		shared, own := r.uvarint(), r.uvarint()
		n := r.uvarint()
		if r.bad || shared > uint64(len(term)) || own > uint64(len(r.b)) {
			return errBroken
		}
		term = append(term[:shared], r.bytes(int(own))...)
		docs, size := binary.Uvarint(r.b)
		if size <= 0 {
			return errBroken
		}
		if len(term) >= len(prefix) && string(term[:len(prefix)]) == prefix {
			f(string(term), int(docs))
		}
		if n >= uint64(len(r.b)) {
			return nil // the last one, or cut
		}
		r.bytes(int(n))
	}
	return nil
}
