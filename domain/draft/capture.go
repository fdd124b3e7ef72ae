package draft

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

// An Extraction is what was read off a page.
type Extraction struct {
	Draft     Draft `json:"draft"`
	Product   bool  `json:"product"`   // see Draft.IsProduct
	Challenge bool  `json:"challenge"` // there is no product, and the page is a check for robots: see Challenge

	Candidates []Candidate `json:"candidates,omitempty"` // see Draft.Candidates
}

// Read is Extract with what only a draft that was not written as JSON knows.
func Read(page []byte, address string) (Extraction, error) {
	d, err := Extract(page, address)
	if err != nil {
		return Extraction{}, err
	}
	return Extraction{
		Draft: d, Product: d.IsProduct(), Challenge: !d.IsProduct() && Challenge(page), Candidates: d.Candidates(),
	}, nil
}
