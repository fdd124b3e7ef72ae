// Package warc writes answers of sites as records of WARC 1.1 (ISO 28500). Each record is a gzip member of its own, so
// that records put one after the other are a file that every reader of .warc.gz takes.
package warc

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nlnwa/gowarc/v2"
)

// A Response is the answer to one request of a run.
type Response struct {
	RunID, URLID int64 // its row in the frontier: they make the ID of the record
	URL          string
	At           time.Time // when the request was made
	Proto        string    // "HTTP/1.1", "HTTP/2.0"; "" counts as HTTP/1.1
	Status       int
	Header       http.Header // as received
	Body         []byte      // decompressed, as sent otherwise
	Truncated    bool        // Body is not all of it
}

// namespace is that of the record IDs.
var namespace = uuid.MustParse("6d3c1b0e-7c57-5f0c-9a43-3f4d1c2b7e90")

func id(parts string) string {
	return "<urn:uuid:" + uuid.NewSHA1(namespace, []byte(parts)).String() + ">"
}

// Info returns the warcinfo record that the export of a run begins with. software is the program and its version.
func Info(software string, run int64, at time.Time) []byte {
	block := fmt.Sprintf("software: %s\r\nformat: WARC File Format 1.1\r\nconformsTo: %s\r\nisPartOf: crawl-run/%d\r\n",
		strings.Join(strings.Fields(software), " "), specification, run)
	out, err := record(gowarc.Warcinfo, []byte(block), []header{
		{gowarc.WarcRecordID, id(fmt.Sprintf("info/%d/%d", run, at.UnixNano()))},
		{gowarc.WarcDate, date(at)},
		{gowarc.WarcFilename, fmt.Sprintf("crawl-run-%d.warc.gz", run)},
		{gowarc.ContentType, gowarc.ApplicationWarcFields},
	})
	if err != nil {
		panic(fmt.Sprintf("warc: %v", err)) // nothing in it comes from outside
	}
	return out
}

const specification = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

// Record returns the response record of an answer. The same Response gives the same bytes. The body is stored as it was
// before its transfer, so headers that describe the transfer, Content-Encoding, Transfer-Encoding and Content-Length,
// keep their values under the names X-Archive-Orig-…, and Content-Length is that of the body. The status line names
// HTTP/1.1 for every later version, which has no text form; WARC-Protocol has the version.
func Record(r Response) ([]byte, error) {
	var block bytes.Buffer
	block.Grow(len(r.Body) + 2048)
	fmt.Fprintf(&block, "%s %03d %s\r\n", textProto(r.Proto), r.Status, http.StatusText(r.Status))
	if err := received(r.Header, len(r.Body)).Write(&block); err != nil {
		return nil, fmt.Errorf("write header of answer: %w", err)
	}
	block.WriteString("\r\n")
	block.Write(r.Body)
	headers := []header{
		{gowarc.WarcRecordID, id(fmt.Sprintf("response/%d/%d", r.RunID, r.URLID))},
		{gowarc.WarcDate, date(r.At)},
		{gowarc.WarcTargetURI, r.URL},
		{"WARC-Protocol", protocol(r.Proto)},
		{gowarc.ContentType, gowarc.ApplicationHttp + ";msgtype=response"},
	}
	if r.Truncated {
		headers = append(headers, header{gowarc.WarcTruncated, "length"})
	}
	return record(gowarc.Response, block.Bytes(), headers)
}

// aboutTransfer are the headers that a stored body no longer agrees with.
var aboutTransfer = []string{"Content-Encoding", "Transfer-Encoding", "Content-Length"}

// received is the header to be stored with a body of so many bytes.
func received(h http.Header, bytes int) http.Header {
	out := h.Clone()
	if out == nil {
		out = http.Header{}
	}
	for _, name := range aboutTransfer {
		if v := out.Values(name); len(v) > 0 {
			out["X-Archive-Orig-"+name] = v
			out.Del(name)
		}
	}
	out.Set("Content-Length", strconv.Itoa(bytes))
	return out
}

func textProto(proto string) string {
	if proto == "HTTP/1.0" {
		return proto
	}
	return "HTTP/1.1"
}

// protocol is the version of HTTP as WARC-Protocol has it.
func protocol(proto string) string {
	switch proto {
	case "HTTP/2.0", "HTTP/2":
		return "h2"
	case "HTTP/3.0", "HTTP/3":
		return "h3"
	case "HTTP/1.0":
		return "http/1.0"
	}
	return "http/1.1"
}

func date(at time.Time) string { return at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano) }

type header struct{ name, value string }

// zips are compressors: a new one has to clear nearly a megabyte.
var zips = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// record builds, checks and compresses a record. gowarc adds its length and digests.
func record(kind gowarc.RecordType, block []byte, headers []header) ([]byte, error) {
	b := gowarc.NewRecordBuilder(kind,
		gowarc.WithVersion(gowarc.V1_1), gowarc.WithStrictValidation(), gowarc.WithDefaultDigestAlgorithm("sha256"),
		gowarc.WithDefaultDigestEncoding(gowarc.Base16), gowarc.WithBufferMaxMemBytes(int64(len(block))+1), // never a file
	)
	for _, h := range headers {
		if strings.ContainsAny(h.value, "\r\n") {
			_ = b.Close()
			return nil, fmt.Errorf("write %s record: %s has a line break", kind, h.name)
		}
		b.AddWarcHeader(h.name, h.value)
	}
	if _, err := b.Write(block); err != nil {
		return nil, fmt.Errorf("write %s record: %w", kind, err)
	}
	built, _, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("build %s record: %w", kind, err)
	}
	defer built.Close() // it is in memory: nothing can fail
	var out bytes.Buffer
	out.Grow(len(block)/3 + 1024)
	zip, _ := zips.Get().(*gzip.Writer)
	defer zips.Put(zip)
	zip.Reset(&out)
	if _, _, err := gowarc.NewMarshaler().Marshal(zip, built, 0); err != nil {
		return nil, fmt.Errorf("write %s record: %w", kind, err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compress %s record: %w", kind, err)
	}
	return out.Bytes(), nil
}
