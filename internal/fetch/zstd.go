package fetch

import (
	"bufio"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// zstdFrames passes on the frames of zstd that a body begins with, for their decoder takes all that it is given for
// more of them. What follows does not count, as behind the data of other codings.
type zstdFrames struct {
	wire   *bufio.Reader
	left   int64 // bytes to be passed on before another header
	within bool  // a frame: that header is of a block
	sum    int64 // bytes behind its last block
	any    bool  // there was a frame
}

func (z *zstdFrames) Read(p []byte) (int, error) {
	if z.left == 0 && !z.next() {
		return 0, io.EOF
	}
	n, err := z.wire.Read(p[:min(int64(len(p)), z.left)])
	z.left -= int64(n)
	return n, err
}

// next reads a header, which stays to be passed on. It is false where the frames end. One that cannot be read is left
// to the decoder, with all that follows.
func (z *zstdFrames) next() bool {
	if z.within {
		head, err := z.wire.Peek(3)
		if err != nil {
			z.left = math.MaxInt64
			return true
		}
		header := int64(head[0]) | int64(head[1])<<8 | int64(head[2])<<16
		last, kind, size := header&1 == 1, header>>1&3, header>>3
		if kind == 1 { // one byte, so many times
			size = 1
		}
		z.left = int64(len(head)) + size
		if last {
			z.within, z.left = false, z.left+z.sum
		}
		return true
	}
	var h zstd.Header
	head, _ := z.wire.Peek(zstd.HeaderMaxSize)
	switch err := h.Decode(head); {
	case err != nil && z.any:
		return false
	case err != nil:
		z.left = math.MaxInt64
	case h.Skippable:
		z.left = int64(h.HeaderSize) + int64(h.SkippableSize)
	default:
		z.left, z.within, z.any, z.sum = int64(h.HeaderSize), true, true, 0
		if h.HasCheckSum {
			z.sum = 4
		}
	}
	return true
}
