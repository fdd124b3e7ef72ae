package draft

import (
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/contract"
)

// Secrets are what a request's page is asked with, and may let the requester in. They are kept sealed, apart from the
// Request, which is stored and shown in many places.
type Secrets struct {
	URL     string                 `json:"url"` // of the request: they are for no other, whatever a message says
	Headers map[string]string      `json:"headers,omitempty"`
	Cookies []contract.CrawlCookie `json:"cookies,omitempty"`
}

// None says that there are neither headers nor cookies.
func (s Secrets) None() bool { return len(s.Headers) == 0 && len(s.Cookies) == 0 }

// String keeps them out of logs and errors.
func (s Secrets) String() string { return "[secrets of a crawl request]" }

// SecretsPurpose is what the Secrets of a request are sealed for.
func SecretsPurpose(eventID uuid.UUID) string { return "crawl-request/" + eventID.String() }

// KeepSecrets is how long Secrets are kept at most. Before, they are deleted with the draft of their request, its
// cancel, and the discarding of its dead letter.
const KeepSecrets = 7 * 24 * time.Hour
