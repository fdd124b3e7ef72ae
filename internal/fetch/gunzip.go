package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
)

// gunzip reads a gzip body as browsers do: once its data are there, neither a wrong or missing sum behind them counts
// nor what follows, as a line end of a template or zeros. Another gzip stream that follows is read as well.
type gunzip struct {
	wire  *bufio.Reader
	plain flateReader
}

type flateReader interface {
	io.Reader
	flate.Resetter
}

var gzipMark = []byte{0x1f, 0x8b, 8}

// begin reads a header by RFC 1952.
func (z *gunzip) begin() error {
	const (
		checked = 1 << (iota + 1)
		extra
		named
		commented
		unknown
	)
	head := make([]byte, 10)
	if _, err := io.ReadFull(z.wire, head); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	flags := head[3]
	if !bytes.HasPrefix(head, gzipMark) || flags >= unknown {
		return errors.New("gzip: invalid header")
	}
	var err error
	skip := func(n int) {
		if err == nil {
			_, err = z.wire.Discard(n)
		}
	}
	if flags&extra != 0 {
		size, _ := z.wire.Peek(2)
		if skip(2); err == nil {
			skip(int(size[0]) | int(size[1])<<8)
		}
	}
	for _, text := range []byte{named, commented} {
		for c := byte(1); flags&text != 0 && err == nil && c != 0; {
			c, err = z.wire.ReadByte()
		}
	}
	if flags&checked != 0 {
		skip(2)
	}
	if err == nil {
		err = z.plain.Reset(z.wire, nil)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Read returns io.EOF where the data end, and another error where they break off.
func (z *gunzip) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil {
		if n, err = z.plain.Read(p); !errors.Is(err, io.EOF) {
			return n, err
		}
		_, _ = z.wire.Discard(8) // sum and size
		if next, _ := z.wire.Peek(len(gzipMark)); !bytes.Equal(next, gzipMark) || z.begin() != nil {
			return n, io.EOF
		}
		err = nil
	}
	return n, err
}
