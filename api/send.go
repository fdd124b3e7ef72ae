package api

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/internal/blob"
)

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
