package search

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scan comes to the postings that decodePostings reads, wherever it is sent.
func TestScan(t *testing.T) {
	t.Parallel()

	r := rand.New(rand.NewPCG(1, 4))
	for range 300 {
		docs := 1 + r.IntN(2000)
		var all []posting
		body, last := []byte(nil), -1
		for ord := r.IntN(3); ord < docs; ord += 1 + r.IntN(90) {
			c := one(fieldBody, 1+r.Uint32N(3))
			switch r.IntN(4) {
			case 0:
				c = c.plus(one(fieldTitle, r.Uint32N(16))).plus(one(fieldAddress, r.Uint32N(16)))
			case 1:
				c = one(fieldAddress, 1+r.Uint32N(15))
			}
			all = append(all, posting{uint32(ord), c})
			body, last = appendPosting(body, last, all[len(all)-1]), ord
		}
		b := append(binary.AppendUvarint(nil, uint64(len(all))), body...)
		read, err := decodePostings(b, docs, nil)
		require.NoError(t, err)
		require.Equal(t, all, read)
		s, err := newScan(b, docs)
		require.NoError(t, err)
		at := 0
		for ord := 0; ord < docs; ord += r.IntN(100) {
			require.NoError(t, s.reach(uint32(ord)))
			for at < len(all) && int(all[at].ord) < ord {
				at++
			}
			require.Equal(t, at < len(all), s.found)
			if s.found {
				require.Equal(t, all[at], s.posting)
				require.Equal(t, at, s.place)
			}
		}
	}
	for _, b := range []string{"", "\x02\x04", "\x01\x06\x01", "\x01\x00", "\x01\xff", "\x01\x7c"} {
		s, err := newScan([]byte(b), 5)
		if err == nil {
			err = s.reach(9)
		}
		require.Error(t, err, "%q", b)
	}
}
