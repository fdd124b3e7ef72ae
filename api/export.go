package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/domain/formula"
	"github.com/mtlrent/conveyor/internal/blob"
)

// JSONType is the content type of JSON.
const JSONType = "application/json"

// A File says what an Export is.
type File struct {
	ContentType string
	Name        string // under which a browser saves it; "" = it shows it
	Packed      bool   // it is compressed already
}

// Export answers with what write writes, compressed by gzip where the caller accepts it, with a buffer of it in memory.
// A reader that is too slow is cut off, and one whose key was revoked or session ended meanwhile. An error before the
// first bytes are sent is a problem; after that the connection is closed before the last chunk, so that no caller takes
// a part for the whole.
func (d *Door) Export(f File, write func(context.Context, *Export)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humagin.Unwrap(hc)
		ctx := c.Request.Context()
		out := &opening{c: c, file: f, spell: spellOf(ctx), pace: Paced(c)}
		if OnlyHead(ctx) { // a million rows would be read for nobody
			out.begin()
			return
		}
		out.pace.ended = func() bool { return d.Ended(ctx) }
		w := &Export{buffer: bufio.NewWriterSize(out, 64<<10)}
		write(ctx, w)
		if w.err == nil {
			w.err = w.buffer.Flush()
		}
		if w.err == nil {
			w.err = out.Close()
		}
		switch {
		case w.err == nil:
		case !out.open:
			Answer(c, Problem(ctx, d.Log, w.err))
		default:
			if ctx.Err() == nil && w.source {
				d.Log.WarnContext(ctx, "answer is cut off", "path", c.FullPath(), "err", w.err)
			}
			_ = out.pace.control.SetWriteDeadline(time.Unix(1, 0)) // nothing can be sent any more, the last chunk included
		}
	}}
}

// opening sets the headers with the first bytes.
type opening struct {
	c     *gin.Context
	file  File
	pace  *PacedWriter
	spell spell
	zip   *gzip.Writer // nil = not compressed
	open  bool
}

// gzipLevel is fast: twice as fast as the default, and a tenth bigger.
const gzipLevel = 4

// Write writes p, and pauses before where others wait for the turn.
func (o *opening) Write(p []byte) (int, error) {
	o.spell.pause(o.c.Request.Context())
	if !o.open {
		o.begin()
	}
	if o.zip != nil {
		return o.zip.Write(p)
	}
	return o.pace.Write(p)
}

// begin sets the headers.
func (o *opening) begin() {
	o.open = true
	o.c.Header("Content-Type", o.file.ContentType)
	if o.file.Name != "" {
		o.c.Header("Content-Disposition", `attachment; filename="`+o.file.Name+`"`)
	}
	if o.file.Packed {
		return
	}
	o.c.Header("Vary", "Accept-Encoding")
	if acceptsGzip(o.c.GetHeader("Accept-Encoding")) {
		o.c.Header("Content-Encoding", "gzip")
		o.zip, _ = gzip.NewWriterLevel(o.pace, gzipLevel) // the level is valid
	}
}

// Close writes what is left.
func (o *opening) Close() error {
	if o.zip != nil {
		return o.zip.Close()
	}
	return nil
}

// acceptsGzip reads an Accept-Encoding.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "gzip" && coding != "x-gzip" {
			continue
		}
		q, weighted := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
		value, err := strconv.ParseFloat(q, 64)
		return !weighted || err == nil && value > 0
	}
	return false
}

// An Export is an answer that is written while its rows are read. After an error nothing more is written.
type Export struct {
	buffer *bufio.Writer
	row    bytes.Buffer
	err    error // the first one
	source bool  // err is of reading the rows, not of sending them
}

// Write implements io.Writer.
func (w *Export) Write(p []byte) (n int, err error) {
	if w.err == nil {
		n, w.err = w.buffer.Write(p)
	}
	return n, w.err
}

// Failed says that there was an error.
func (w *Export) Failed() bool { return w.err != nil }

// Note ends the answer for an error of writing it; nil is none.
func (w *Export) Note(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Text writes s as it is.
func (w *Export) Text(s string) {
	if w.err == nil {
		_, w.err = w.buffer.WriteString(s)
	}
}

// JSON writes a value, without a line break.
func (w *Export) JSON(v any) {
	if w.err != nil {
		return
	}
	w.row.Reset()
	e := json.NewEncoder(&w.row)
	e.SetEscapeHTML(false) // addresses are full of &
	if err := e.Encode(v); err != nil {
		w.Fail(err)
		return
	}
	_, w.err = w.buffer.Write(bytes.TrimSuffix(w.row.Bytes(), []byte("\n")))
}

// Fail ends the answer for an error of reading its rows.
func (w *Export) Fail(err error) {
	if w.err == nil {
		w.err, w.source = err, true
	}
}

// Copy writes all of r.
func (w *Export) Copy(r io.Reader) {
	if w.err == nil {
		_, w.err = io.Copy(w.buffer, r)
	}
}

// WriteList writes rows as the elements of a JSON array, each on a line of its own, and returns their number.
func WriteList[R, T any](w *Export, rows iter.Seq2[R, error], show func(R) T) (n int) {
	for row, err := range rows {
		if err != nil {
			w.Fail(err)
		}
		if w.err != nil {
			return n
		}
		if n > 0 {
			w.Text(",")
		}
		w.Text("\n")
		w.JSON(show(row))
		n++
	}
	return n
}

// WriteTable writes rows as CSV, with a header.
func WriteTable[R any](w *Export, columns []string, rows iter.Seq2[R, error], cells func(R) []string) {
	out := csv.NewWriter(w)
	if w.Note(out.Write(columns)); w.err != nil {
		return
	}
	for row, err := range rows {
		if err != nil { // nothing is flushed: before the first bytes the answer is a problem
			w.Fail(err)
			return
		}
		if w.Note(out.Write(cells(row))); w.err != nil {
			return
		}
	}
	out.Flush()
	w.Note(out.Error())
}

// TextCell is a text of a site in a cell: no spreadsheet takes it for a formula.
func TextCell(s *string) string {
	return formula.Escape(TextOf(s))
}

// NumberCell is a number in a cell, "" for none.
func NumberCell[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// TimeCell is a time in a cell, "" for none.
func TimeCell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// TextOf is what s points to, and "" for nil.
func TextOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// A reader of a file must take SendChunk bytes of it in sendWithin, or its connection is closed.
const (
	SendChunk  = 32 << 10
	sendWithin = 10 * time.Second
)

// Send answers with a file, with ranges and conditions. A reader that is too slow is cut off: enough of them would hold
// every connection and open file.
func Send(c *gin.Context, object *blob.Object, content io.ReadSeeker) {
	c.Header("Content-Type", object.ContentType)
	c.Header("ETag", object.ETag)
	http.ServeContent(Paced(c), c.Request, "", object.ModTime, content)
}

// A PacedWriter gives each chunk its own time to be written, up to the end of the whole answer.
type PacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	end     time.Time // zero = none

	ended  func() bool // the caller may not go on reading; nil = it may
	looked time.Time   // when it was asked last
}

// Paced writes the answer to a request, up to the end of its context.
func Paced(c *gin.Context) *PacedWriter {
	w := &PacedWriter{ResponseWriter: c.Writer, control: http.NewResponseController(c.Writer), within: sendWithin}
	w.end, _ = c.Request.Context().Deadline()
	return w
}

// Write writes p in chunks.
func (w *PacedWriter) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		if w.ended != nil && time.Since(w.looked) >= keysFresh {
			if w.looked = time.Now(); w.ended() {
				return written, errKeyEnded
			}
		}
		chunk := p[:min(len(p), SendChunk)]
		until := time.Now().Add(w.within)
		if !w.end.IsZero() && w.end.Before(until) {
			until = w.end
		}
		_ = w.control.SetWriteDeadline(until) // the server of a test may not support deadlines
		var n int
		n, err = w.ResponseWriter.Write(chunk)
		written, p = written+n, p[n:]
	}
	return written, err
}

// Unwrap lets a ResponseController reach the connection.
func (w *PacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// PictureTimeout bounds the answer with a file. A reader that stops is cut off sooner, see Send.
const PictureTimeout = 5 * time.Minute
