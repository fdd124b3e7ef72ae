package bridge

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// wire is a connection on which r is read.
type wire struct {
	net.Conn
	r io.Reader
}

func (w wire) Read(p []byte) (int, error) { return w.r.Read(p) }

// framed is a frame of channel 1.
func framed(kind byte, payload ...byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte{kind, 0, 1}, uint32(len(payload)))
	return slices.Concat(head, payload, []byte{0xce})
}

// headed is the frame of the properties of a message, with one header of so many bytes.
func headed(size int) []byte {
	value := binary.BigEndian.AppendUint32([]byte("\x05largeS"), uint32(size))
	table := slices.Concat(value, bytes.Repeat([]byte("x"), size))
	flags := binary.BigEndian.AppendUint16(make([]byte, 12), hasType|hasHeaders|1<<12)
	length := binary.BigEndian.AppendUint32([]byte("\x04text"), uint32(len(table)))
	return framed(headerFrame, slices.Concat(flags, length, table, []byte{2})...)
}

// However its bytes come, a connection is read as it was written, also one that breaks off, but for headers that leave
// no room in a frame of the size that the broker has named.
func TestLegibleReads(t *testing.T) {
	t.Parallel()

	tune := framed(methodsFrame, 0, 10, 0, 30, 0, 0, 0, 0, 0x20, 0, 0, 6) // frames of 8192 bytes
	body := framed(3, bytes.Repeat([]byte("b"), 8000)...)
	plain := slices.Concat(tune, headed(3000), body, framed(8), headed(0))
	for name, slowly := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "the end with the last": iotest.DataErrReader,
	} {
		got, err := io.ReadAll(newLegible(wire{r: slowly(bytes.NewReader(plain))}))
		require.NoError(t, err, name)
		require.Equal(t, plain, got, name)
	}
	for cut := 0; cut < len(plain); cut += 7 {
		got, _ := io.ReadAll(newLegible(wire{r: bytes.NewReader(plain[:cut])}))
		require.True(t, bytes.HasPrefix(plain[:cut], got), cut)
	}

	large := headed(5000)
	got, err := io.ReadAll(newLegible(wire{r: bytes.NewReader(slices.Concat(large, tune, large, body))}))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(got, slices.Concat(large, tune)), "it has room until then")
	require.True(t, bytes.HasSuffix(got, body))
	small := got[len(large)+len(tune) : len(got)-len(body)]
	require.Contains(t, string(small), leftOut)
	require.Equal(t, len(small), frameHead+int(binary.BigEndian.Uint32(small[3:]))+frameEnd)
}
