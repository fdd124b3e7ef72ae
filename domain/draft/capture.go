package draft

import "errors"

// ErrNoBrowser is in the chain of an error that says nothing of a page: there was no browser to open it with.
var ErrNoBrowser = errors.New("there is no browser")

// A Capture is a page as a browser has loaded it.
type Capture struct {
	Asked       string
	URL         string   // where redirects led
	Redirects   []string // the addresses on the way there, Asked being the first; nil = none
	Status      int      // HTTP
	ContentType string
	HTML        []byte // UTF-8, the document after its scripts ran; at most 10 MiB
	Screenshot  []byte // PNG
	Unstable    bool   // it was still changing when it was taken
}
