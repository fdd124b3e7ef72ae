package drafts

import (
	"errors"
	"io"
	"regexp"

	"github.com/mtlrent/conveyor/api"
)

// unlinked reads an HTML page without <link>: a browser connects to the host of <link rel=preconnect> whatever the
// Content-Security-Policy says. Each becomes <wbr>, an element of the same length that does nothing. It replaces bytes
// wherever they stand, in scripts and comments too: a parser that reads the page otherwise than the browser does would
// miss some. The document of an <iframe srcdoc> may have them as entities, so that attribute becomes srcnot, which is
// none. The page must be UTF-8.
type unlinked struct {
	page io.ReadSeeker

	ready []byte // replaced, to be read next
	held  []byte // the end of what was read, in which a <link or srcdoc may begin
	err   error  // of the last read
}

// linkTag is the beginning of a <link>, and the byte that ends its name. Only ASCII letters ignore case in HTML.
var (
	linkTag = regexp.MustCompile("<[lL][iI][nN][kK]([\t\n\f\r />])")
	srcdoc  = regexp.MustCompile("[sS][rR][cC][dD][oO][cC]")
)

// Read implements io.Reader.
func (u *unlinked) Read(p []byte) (int, error) {
	for len(u.ready) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		buf := make([]byte, len(u.held)+api.SendChunk)
		n, err := u.page.Read(buf[copy(buf, u.held):])
		buf, u.err = buf[:len(u.held)+n], err
		buf = srcdoc.ReplaceAll(linkTag.ReplaceAll(buf, []byte("<wbr $1")), []byte("srcnot"))
		keep := min(len(buf), len("<link"))
		if err != nil {
			keep = 0
		}
		u.ready, u.held = buf[:len(buf)-keep], buf[len(buf)-keep:]
	}
	n := copy(p, u.ready)
	u.ready = u.ready[n:]
	return n, nil
}

// Seek implements io.Seeker, to the beginning and to the end only.
func (u *unlinked) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence == io.SeekCurrent {
		return 0, errors.New("seek in a page that is being changed")
	}
	u.ready, u.held, u.err = nil, nil, nil
	return u.page.Seek(0, whence)
}
