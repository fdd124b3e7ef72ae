package search

// A Filter tells most of the terms that a segment does not have from those that it has: a Bloom filter, which takes
// about one in a hundred of the others for one of them. An empty one tells none.
type Filter []byte

const (
	filterBits = 10 // a term
	filterSet  = 6  // of them
)

// HashTerm is what filters know a term by. They are stored, so it stays as it is: FNV-1a.
func HashTerm(term string) uint64 {
	h := uint64(fnvOffset)
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * fnvPrime
	}
	return h
}

// newFilter is that of the terms with these hashes.
func newFilter(hashes []uint64) Filter {
	f := make(Filter, (len(hashes)*filterBits+7)/8)
	for _, h := range hashes {
		for i := range uint64(filterSet) {
			bit := f.bit(h, i)
			f[bit/8] |= 1 << (bit % 8)
		}
	}
	return f
}

// May says that a segment may have the term of a hash.
func (f Filter) May(hash uint64) bool {
	if len(f) == 0 {
		return true
	}
	for i := range uint64(filterSet) {
		if bit := f.bit(hash, i); f[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// bit is the ith that a hash sets.
func (f Filter) bit(hash, i uint64) uint64 { return (hash + i*(hash>>32|1)) % uint64(8*len(f)) }
