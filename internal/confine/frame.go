package confine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Limits on what is read from the other side.
const (
	maxParts = 8
	maxFrame = 64 << 20 // bytes
)

// write sends parts: their number, and each with its length before it.
func write(w io.Writer, parts ...[]byte) error {
	b := bufio.NewWriterSize(w, 64<<10) // errors stay until Flush
	number := func(n int) { _, _ = b.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	number(len(parts))
	for _, p := range parts {
		number(len(p))
		_, _ = b.Write(p)
	}
	return b.Flush()
}

// read returns parts that write sent, io.EOF when there are none.
func read(r io.Reader) ([][]byte, error) {
	number := func() (int, error) {
		var b [4]byte
		_, err := io.ReadFull(r, b[:])
		return int(binary.BigEndian.Uint32(b[:])), err
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	if n > maxParts {
		return nil, errors.New("frame has too many parts")
	}
	parts, left := make([][]byte, n), maxFrame
	for i := range parts {
		size, err := number()
		if err != nil {
			return nil, fault.NoEOF(err)
		}
		if left -= size; left < 0 {
			return nil, errors.New("frame is too large")
		}
		parts[i] = make([]byte, size)
		if _, err := io.ReadFull(r, parts[i]); err != nil {
			return nil, fault.NoEOF(err)
		}
	}
	return parts, nil
}
