package search

import (
	"encoding/binary"
)

// Postings of a term in a segment: their number, then for each document, in ascending order of ordinals, a varint of
// delta<<2|code, where delta is the distance from the ordinal before (from −1 for the first) and code says what follows:
//
//	0  nothing: once in the body
//	1  a byte: that often in the body
//	2  three bytes: title<<4|headings, address, body
//	3  a byte: that often in the address only
//
// Counts saturate: 15 in a title, the headings and an address, 255 in a body. Positions are apart, in the same order:
// for each posting the number of bytes, then ascending positions as varints of their distances. A position is that of the
// word in title, headings, description and body, one after the other with gaps between. Addresses have none.
const (
	codeOnce = iota
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
	counts [fieldCount]uint8
}

// appendPosting writes a posting after the one of the ordinal last (−1 = none). It has at least one count.
func appendPosting(b []byte, last int, p posting) []byte {
	delta := uint64(int(p.ord) - last)
	c := p.counts
	switch {
	case c[fieldTitle]|c[fieldHeadings] == 0 && c[fieldAddress] == 0 && c[fieldBody] == 1:
		return binary.AppendUvarint(b, delta<<2|codeOnce)
	case c[fieldTitle]|c[fieldHeadings]|c[fieldAddress] == 0:
		return append(binary.AppendUvarint(b, delta<<2|codeBody), c[fieldBody])
	case c[fieldTitle]|c[fieldHeadings]|c[fieldBody] == 0:
		return append(binary.AppendUvarint(b, delta<<2|codeAddress), c[fieldAddress])
	default:
		return append(binary.AppendUvarint(b, delta<<2|codeAll), c[fieldTitle]<<4|c[fieldHeadings], c[fieldAddress],
			c[fieldBody])
	}
}

// countPostings is the number that postings begin with.
func countPostings(b []byte) (int, error) {
	r := reader{b: b}
	n := r.count(1)
	if r.bad {
		return 0, errBroken
	}
	return n, nil
}

// decodePostings appends the postings of b, whose segment has so many documents.
func decodePostings(b []byte, docs int, out []posting) ([]posting, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return out, errBroken
	}
	b = b[size:]
	last := -1
	for range n {
		if len(b) == 0 {
			return out, errBroken
		}
		v, size := uint64(b[0]), 1
		if v >= 0x80 {
			if v, size = binary.Uvarint(b); size <= 0 {
				return out, errBroken
			}
		}
		b = b[size:]
		if v>>2 == 0 || v>>2 > uint64(docs-1-last) {
			return out, errBroken
		}
		last += int(v >> 2)
		p := posting{ord: uint32(last)}
		switch v & 3 {
		case codeOnce:
			p.counts[fieldBody] = 1
		case codeBody:
			if len(b) < 1 {
				return out, errBroken
			}
			p.counts[fieldBody] = b[0]
			b = b[1:]
		case codeAddress:
			if len(b) < 1 {
				return out, errBroken
			}
			p.counts[fieldAddress] = b[0]
			b = b[1:]
		default:
			if len(b) < 3 {
				return out, errBroken
			}
			p.counts = [fieldCount]uint8{b[0] >> 4, b[0] & 0xf, b[1], b[2]}
			b = b[3:]
		}
		out = append(out, p)
	}
	if len(b) > 0 {
		return out, errBroken
	}
	return out, nil
}

// A walk goes through the positions of a term's postings.
type walk struct {
	b []byte
}

// next is the positions of the next posting, still encoded.
func (w *walk) next() ([]byte, error) {
	r := reader{b: w.b}
	v := r.bytes(r.count(1))
	if r.bad {
		return nil, errBroken
	}
	w.b = r.b
	return v, nil
}

// decodePositions appends the positions of one posting, ascending.
func decodePositions(b []byte, out []uint32) ([]uint32, error) {
	var at uint64
	for len(b) > 0 {
		delta, n := binary.Uvarint(b)
		if n <= 0 || delta > 1<<31 {
			return out, errBroken
		}
		if at += delta; at > 1<<31 {
			return out, errBroken
		}
		out = append(out, uint32(at))
		b = b[n:]
	}
	return out, nil
}
