package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/mtlrent/conveyor/domain/fault"
)

// The values of Accept-Encoding that are sent, where it is not "identity".
const (
	gzipOnly = "gzip"
	anyCoded = "gzip, br, zstd"
)

// maxWindow is how far back the decompression of zstd may look, in bytes: what RFC 9659 allows to a server.
const maxWindow = 8 << 20

// Buffers for bodies whose size is not known, and decompressors: making one costs more than most bodies do.
var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	gzips   = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}
	brotlis = sync.Pool{New: func() any { return brotli.NewReader(nil) }}
	zstds   = sync.Pool{New: func() any {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			panic(fmt.Sprintf("fetch: make a zstd reader: %v", err)) // an option of ours is wrong
		}
		return z
	}}
)

// maxPooled is the largest buffer that is kept, in bytes.
const maxPooled = 1 << 20

// read returns the whole body, at most so many bytes of it, decompressed where the request accepts its encoding. Its
// size is checked before and while reading.
func read(resp *http.Response, most int64) ([]byte, error) {
	if resp.ContentLength > most {
		return nil, tooLarge(fmt.Sprintf("%.1f MiB", float64(resp.ContentLength)/(1<<20)), most)
	}
	data, cut, err := readUpTo(resp, most)
	if cut {
		return nil, tooLarge("larger", most)
	}
	return data, err
}

// readUpTo returns at most so many bytes of the body, decompressed where the request accepts its encoding. cut says
// that there are more. No more than that is taken from the network either: it may decompress to nothing.
func readUpTo(resp *http.Response, most int64) (data []byte, cut bool, err error) {
	coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	wire := &io.LimitedReader{R: resp.Body, N: most + 1}
	plain, release, err := decompress(wire, coding, resp.Request.Header.Get("Accept-Encoding"), most)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if n := resp.ContentLength; coding == "" && n >= 0 && n <= maxPooled {
		data, err = fill(make([]byte, 0, min(n, most)+1), plain)
	} else {
		buf, _ := buffers.Get().(*bytes.Buffer)
		buf.Reset()
		_, err = buf.ReadFrom(io.LimitReader(plain, most+1))
		data = buf.Bytes()
		if buf.Cap() <= maxPooled {
			data = bytes.Clone(data)
			buffers.Put(buf)
		}
	}
	switch {
	case int64(len(data)) > most:
		return data[:most], true, nil
	case wire.N == 0:
		return data, true, nil
	case err != nil:
		return data, false, fmt.Errorf("read body after %d bytes: %w", len(data), err)
	}
	return data, false, nil
}

// fill reads to the end of r, or until data is full.
func fill(data []byte, r io.Reader) ([]byte, error) {
	for len(data) < cap(data) {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return data, err
		}
	}
	return data, nil
}

func tooLarge(size string, most int64) error {
	return fault.Newf(fault.Invalid, "body is %s, the most is %d MiB", size, most>>20)
}

// codings are those of Content-Encoding that browsers know. Another value, "utf-8" or "none", is a mistake of the
// server, and the body is as it is.
var codings = []string{"gzip", "deflate", "br", "zstd", "compress"}

// coded are the codings that a Content-Encoding names.
func coded(value string) (known []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimPrefix(strings.TrimSpace(name), "x-"); slices.Contains(codings, name) {
			known = append(known, name)
		}
	}
	return known
}

// maxCodings is how many codings a body may have on top of one another: a server, and a cache before it.
const maxCodings = 2

// decompress reads what a body holds that came in the codings of a Content-Encoding, the last one of which was applied
// last; so browsers do. Between them are at most so many bytes. Codings that were not accepted, and too many of them,
// are faults. release is called when reading is over.
func decompress(body io.Reader, value, accepted string, most int64) (plain io.Reader, release func(), err error) {
	plain, release = body, func() {}
	known := coded(value)
	if len(known) > maxCodings {
		return nil, release, fault.Newf(fault.Invalid, "content encoding %.40q, which is too many", strings.Join(known, ","))
	}
	for i, coding := range slices.Backward(known) {
		if i < len(known)-1 {
			plain = io.LimitReader(plain, most+1)
		}
		inner, free, err := unpack(plain, coding, accepted)
		if err != nil {
			release()
			return nil, func() {}, err
		}
		outer := release
		plain, release = inner, func() { free(); outer() }
	}
	return plain, release, nil
}

// unpack is decompress for one coding.
func unpack(body io.Reader, coding, accepted string) (plain io.Reader, release func(), err error) {
	release = func() {}
	asked := coding
	if coding == "deflate" && accepted == anyCoded {
		asked = "gzip" // some servers know no other
	}
	if accepted == "identity" || !strings.Contains(", "+accepted+",", ", "+asked+",") {
		return nil, release, fault.Newf(fault.Invalid, "content encoding %.20q, which was not asked for", coding)
	}
	wire := bufio.NewReader(body)
	if _, err := wire.Peek(1); errors.Is(err, io.EOF) {
		return wire, release, nil // an answer without a body
	}
	switch coding {
	case "gzip":
		z := gzips.Get()
		from := &gunzip{wire: wire}
		from.plain, _ = z.(flateReader)
		plain, release, err = from, func() { gzips.Put(z) }, from.begin()
	case "br":
		z, _ := brotlis.Get().(*brotli.Reader)
		plain, release, err = unbrotli{z}, func() { brotlis.Put(z) }, z.Reset(wire)
	case "zstd":
		z, _ := zstds.Get().(*zstd.Decoder)
		plain, release, err = z, func() { _ = z.Reset(nil); zstds.Put(z) }, z.Reset(&zstdFrames{wire: wire})
	case "deflate": // that of zlib by the standard, and without its header by some servers
		head, _ := wire.Peek(2)
		if len(head) == 2 && head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			plain, err = zlib.NewReader(wire)
		} else {
			plain = flate.NewReader(wire)
		}
	}
	if err != nil {
		release()
		return nil, func() {}, fmt.Errorf("decompress body: %w", err)
	}
	return plain, release, nil
}

// unbrotli reads a brotli body as browsers do: what follows the data does not count, as a line end of a template.
type unbrotli struct{ *brotli.Reader }

func (z unbrotli) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if err != nil && err.Error() == "brotli: excessive input" { // the library does not export it
		err = io.EOF
	}
	return n, err
}
