package api

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/internal/blob"
)

const (
	sendChunk  = 32 << 10         // bytes, of a file, that a reader must take
	sendWithin = 10 * time.Second // in this time, or its connection is closed
)

// send answers with a file, with ranges and conditions. A reader that is too slow is cut off: enough of them would hold
// every connection and open file.
func send(c *gin.Context, object *blob.Object, content io.ReadSeeker) {
	c.Header("Content-Type", object.ContentType)
	c.Header("ETag", object.ETag)
	w := &pacedWriter{ResponseWriter: c.Writer, control: http.NewResponseController(c.Writer), within: sendWithin}
	w.end, _ = c.Request.Context().Deadline()
	http.ServeContent(w, c.Request, "", object.ModTime, content)
}

// A pacedWriter gives each chunk its own time to be written, up to the end of the whole answer.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	end     time.Time // zero = none

	ended  func() bool // the caller may not go on reading; nil = it may
	looked time.Time   // when it was asked last
}

// Write writes p in chunks.
func (w *pacedWriter) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		if w.ended != nil && time.Since(w.looked) >= keysFresh {
			if w.looked = time.Now(); w.ended() {
				return written, errKeyEnded
			}
		}
		chunk := p[:min(len(p), sendChunk)]
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
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
