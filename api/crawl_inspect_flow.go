package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
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
)

const jsonType = "application/json"

// A flow is how an answer is sent that is written while its rows are read.
type flow struct {
	contentType string
	file        string // the name under which a browser saves it; "" = it shows it
	packed      bool   // is compressed already
}

// flow answers with what write writes, compressed by gzip where the caller accepts it, with a buffer of it in memory.
// A reader that is too slow is cut off, and one whose
// key was revoked meanwhile. An error before the first bytes are sent is a problem; after
// that the connection is closed before the last chunk, so that no caller takes a part for the whole.
func (d *door) flow(f flow, write func(context.Context, *lines)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humagin.Unwrap(hc)
		ctx := c.Request.Context()
		out := &opening{c: c, flow: f, spell: spellOf(ctx), pace: &pacedWriter{
			ResponseWriter: c.Writer, control: http.NewResponseController(c.Writer), within: sendWithin,
		}}
		out.pace.end, _ = ctx.Deadline()
		out.pace.ended = func() bool { return d.guard.ended(ctx, callerOf(ctx)) }
		w := &lines{buffer: bufio.NewWriterSize(out, 64<<10)}
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
			answer(c, problem(ctx, d.Log, w.err))
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
	flow  flow
	pace  *pacedWriter
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
		o.open = true
		o.c.Header("Content-Type", o.flow.contentType)
		if o.flow.file != "" {
			o.c.Header("Content-Disposition", `attachment; filename="`+o.flow.file+`"`)
		}
		if !o.flow.packed {
			o.c.Header("Vary", "Accept-Encoding")
			if acceptsGzip(o.c.GetHeader("Accept-Encoding")) {
				o.c.Header("Content-Encoding", "gzip")
				o.zip, _ = gzip.NewWriterLevel(o.pace, gzipLevel) // the level is valid
			}
		}
	}
	if o.zip != nil {
		return o.zip.Write(p)
	}
	return o.pace.Write(p)
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

// lines writes an answer. After an error it writes nothing, and err is the first one.
type lines struct {
	buffer *bufio.Writer
	row    bytes.Buffer
	err    error
	source bool // err is of reading the rows, not of sending them
}

// text writes s as it is.
func (w *lines) text(s string) {
	if w.err == nil {
		_, w.err = w.buffer.WriteString(s)
	}
}

// json writes a value, without a line break.
func (w *lines) json(v any) {
	if w.err != nil {
		return
	}
	w.row.Reset()
	e := json.NewEncoder(&w.row)
	e.SetEscapeHTML(false) // addresses are full of &
	if err := e.Encode(v); err != nil {
		w.fail(err)
		return
	}
	_, w.err = w.buffer.Write(bytes.TrimSuffix(w.row.Bytes(), []byte("\n")))
}

// fail ends the answer for an error of reading its rows.
func (w *lines) fail(err error) {
	if w.err == nil {
		w.err, w.source = err, true
	}
}

// copy writes all of r.
func (w *lines) copy(r io.Reader) {
	if w.err == nil {
		_, w.err = io.Copy(w.buffer, r)
	}
}

// list writes rows as the elements of a JSON array, each on a line of its own, and returns their number.
func list[R, T any](w *lines, rows iter.Seq2[R, error], show func(R) T) (n int) {
	for row, err := range rows {
		if err != nil {
			w.fail(err)
		}
		if w.err != nil {
			return n
		}
		if n > 0 {
			w.text(",")
		}
		w.text("\n")
		w.json(show(row))
		n++
	}
	return n
}
