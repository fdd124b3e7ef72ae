package search

import (
	"encoding/binary"
	"slices"
)

// Postings of a term in a segment: their number, then for each document, in ascending order of ordinals, a varint of
// delta<<2|code, where delta is the distance from the ordinal before (from −1 for the first) and code says what
// follows:
//
//	0  nothing: once in the body
//	1  a byte: that often in the body
//	2  three bytes: title<<4|headings, address, body
//	3  a byte: that often in the address only
//
// Counts saturate: 15 in a title, the headings and an address, 255 in a body. Positions are apart, in the same order:
// for each posting the number of bytes, then ascending positions as varints of their distances. A position is that of
// the word in title, headings, description and body, one after the other with gaps between. Addresses have none.
const (
	codeOnce = iota // what a shifted delta has already
	codeBody
	codeAll
	codeAddress
)

const (
	mostSmall     = 15
	mostBody      = 255
	mostPositions = 10_000 // of one term in one document; later ones are left out
	positionGap   = 10     // between fieldCount
	mostTitle     = 255    // positions of a title; what follows counts as body
)

// A posting is how often a term is in one document, by field.
type posting struct {
	ord    uint32
	counts counts
}

// counts are up to 255 a field, a byte each: that of field f from bit 8*f on. They fit a register.
type counts uint32

func (c counts) of(f int) uint32 { return uint32(c>>(8*f)) & 0xff }

// only is the counts of one field.
func (c counts) only(f int) counts { return c & (0xff << (8 * f)) }

// one counts n in a field.
func one(f int, n uint32) counts { return counts(n << (8 * f)) }

const bodyOnly = 1<<(8*fieldBody) - 1 // the bits of the other fields, for a test that there are none

// plus adds, up to 255 a field.
func (c counts) plus(d counts) counts {
	const high = 0x80808080
	sum := (c &^ high) + (d &^ high) ^ (c^d)&high // each byte without its carry
	full := (c&d | (c|d)&^sum) & high             // those that had one
	return sum | (full<<1 - full>>7)
}

// most is the greater count of each field.
func (c counts) most(d counts) counts {
	var out counts
	for f := range fieldCount {
		out |= max(c.only(f), d.only(f))
	}
	return out
}

// appendPosting writes a posting after the one of the ordinal last (−1 = none). It has at least one count.
func appendPosting(b []byte, last int, p posting) []byte {
	delta := uint64(int(p.ord) - last)
	c := p.counts
	switch c {
	case one(fieldBody, 1):
		return binary.AppendUvarint(b, delta<<2)
	case c.only(fieldBody):
		return append(binary.AppendUvarint(b, delta<<2|codeBody), byte(c.of(fieldBody)))
	case c.only(fieldAddress):
		return append(binary.AppendUvarint(b, delta<<2|codeAddress), byte(c.of(fieldAddress)))
	default:
		return append(binary.AppendUvarint(b, delta<<2|codeAll), byte(c.of(fieldTitle)<<4|c.of(fieldHeadings)),
			byte(c.of(fieldAddress)), byte(c.of(fieldBody)))
	}
}

// What a posting is by its code, other than codeAll: the bytes that follow, the counts without them, and the place of
// the byte in the counts.
var (
	codeSize  = [4]int{codeBody: 1, codeAddress: 1}
	codeCount = [4]counts{codeOnce: 1 << (8 * fieldBody)}
	codeMask  = [4]counts{codeBody: 0xff, codeAddress: 0xff}
	codeShift = [4]uint8{codeBody: 8 * fieldBody, codeAddress: 8 * fieldAddress}
)

// Documents is in how many documents a term is, given its postings: those that live no more are among them.
func Documents(postings []byte) int {
	n, _ := binary.Uvarint(postings)
	return int(n)
}

// decodePostings appends the postings of b, whose segment has so many documents.
func decodePostings(b []byte, docs int, out []posting) ([]posting, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return out, errBroken
	}
	from := len(out)
	out = slices.Grow(out, int(n))[:from+int(n)]
	list := out[from:]
	at, last := size, -1
	for i := range list {
		if at >= len(b) {
			return out, errBroken
		}
		v := uint64(b[at])
		at++
		switch {
		case v < 0x80:
		case at < len(b) && b[at] < 0x80: // mostly
			v = v&0x7f | uint64(b[at])<<7
			at++
		default:
			if v, size = binary.Uvarint(b[at-1:]); size <= 0 {
				return out, errBroken
			}
			at += size - 1
		}
		if v>>2 == 0 || v>>2 > uint64(docs-1-last) {
			return out, errBroken
		}
		last += int(v >> 2)
		code := v & 3
		if code == codeAll {
			if len(b)-at < 3 {
				return out, errBroken
			}
			list[i] = posting{uint32(last), countsOf(codeAll, b[at:])}
			at += 3
			continue
		}
		// No branches: which of the other codes it is cannot be foretold.
		next := counts(0)
		if at < len(b) {
			next = counts(b[at])
		}
		list[i] = posting{uint32(last), codeCount[code] + next&codeMask[code]<<codeShift[code]}
		at += codeSize[code]
	}
	if at != len(b) {
		return out, errBroken
	}
	return out, nil
}

// A scan looks for some documents in the postings of a term, without those between: most of the time is that of memory.
type scan struct {
	b       []byte
	at      int
	docs    int // of the segment
	n, left int // postings that were passed, and those that were not
	last    int // ordinal of the one before; −1 = none

	posting      // that reach came to
	place   int  // of it
	found   bool // there is one
}

// sizes are those of what follows a delta, by the code.
var sizes = [4]int{codeBody: 1, codeAll: 3, codeAddress: 1}

func newScan(b []byte, docs int) (scan, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return scan{}, errBroken
	}
	return scan{b: b, at: size, docs: docs, left: int(n), last: -1}, nil
}

// reach goes on to the first posting that is not before an ordinal: found is false where there is none.
func (s *scan) reach(ord uint32) error {
	if s.found && s.ord >= ord {
		return nil
	}
	b, at, last := s.b, s.at, s.last
	for s.found = false; s.left > 0; {
		if at >= len(b) {
			return errBroken
		}
		v := uint64(b[at])
		at++
		if v >= 0x80 {
			var size int
			if v, size = binary.Uvarint(b[at-1:]); size <= 0 {
				return errBroken
			}
			at += size - 1
		}
		if v>>2 == 0 || v>>2 > uint64(s.docs-1-last) {
			return errBroken
		}
		last += int(v >> 2)
		from := at
		if at += sizes[v&3]; at > len(b) {
			return errBroken
		}
		s.left--
		s.n++
		if last < int(ord) {
			continue
		}
		s.posting, s.place, s.found = posting{uint32(last), countsOf(int(v&3), b[from:at])}, s.n-1, true
		break
	}
	s.at, s.last = at, last
	return nil
}

// countsOf are the counts of a posting, by its code and the bytes that follow it.
func countsOf(code int, b []byte) counts {
	switch code {
	case codeAll:
		return one(fieldTitle, uint32(b[0]>>4)) | one(fieldHeadings, uint32(b[0]&0xf)) | one(fieldAddress, uint32(b[1])) |
			one(fieldBody, uint32(b[2]))
	case codeOnce:
		return codeCount[codeOnce]
	}
	return counts(b[0]) << codeShift[code]
}

// A walk goes through the positions of a term's postings.
type walk struct {
	b []byte
	n int // postings that were passed
}

// of goes on to posting i, by its place in the list, and past it. These are its positions, for spots.
func (w *walk) of(i int) ([]byte, error) {
	b, at, from := w.b, 0, 0
	for ; w.n <= i; w.n++ {
		if at >= len(b) {
			return nil, errBroken
		}
		size := int(b[at])
		at++
		if size >= 0x80 {
			v, n := binary.Uvarint(b[at-1:])
			if n <= 0 || v > uint64(len(b)) {
				return nil, errBroken
			}
			at += n - 1
			size = int(v)
		}
		from = at
		at += size
	}
	if at > len(b) {
		return nil, errBroken
	}
	w.b = b[at:]
	return b[from:at], nil
}

// spots go through the positions of one posting.
type spots struct {
	b  []byte
	at uint32 // the one that next came to
}

// next goes to the next position, if there is one.
func (s *spots) next() (bool, error) {
	if len(s.b) == 0 {
		return false, nil
	}
	delta, n := uint64(s.b[0]), 1
	if delta >= 0x80 {
		delta, n = binary.Uvarint(s.b)
	}
	if n <= 0 || delta > 1<<31 || uint64(s.at)+delta > 1<<31 {
		return false, errBroken
	}
	s.at += uint32(delta)
	s.b = s.b[n:]
	return true, nil
}

// reach goes on to the first position that is not before one, if there is any. The first call of next has been made.
func (s *spots) reach(want uint32) (more bool, err error) {
	b, at := s.b, s.at
	for at < want && len(b) > 0 && b[0] < 0x80 { // mostly
		at += uint32(b[0])
		b = b[1:]
	}
	s.b, s.at = b, at
	for more = true; more && err == nil && s.at < want; {
		more, err = s.next()
	}
	return more, err
}
