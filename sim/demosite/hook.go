package demosite

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// A Hooked is a request that the webhook of the site was sent.
type Hooked struct {
	At      time.Time         `json:"at"`
	Headers map[string]string `json:"headers"` // Conveyor's
	Body    json.RawMessage   `json:"body"`
}

// maxHooked is how many requests the webhook remembers, the newest.
const maxHooked = 20

// hook adds a webhook, to be told the news of saved searches, which shows what it was told. It sends back challenges,
// answers 204 to any other JSON, and checks no signature: it knows no secret.
func (s *Site) hook() {
	s.mux.HandleFunc("POST /admin/hook", func(w http.ResponseWriter, r *http.Request) {
		got := Hooked{At: s.o.Now().UTC(), Headers: map[string]string{}}
		if !read(w, r, &got.Body) {
			return
		}
		var asked struct {
			Type      string `json:"type"`
			Challenge string `json:"challenge"`
		}
		if json.Unmarshal(got.Body, &asked) == nil && asked.Type == "challenge" {
			answer(w, http.StatusOK, map[string]string{"challenge": asked.Challenge})
			return
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Conveyor-") {
				got.Headers[name] = r.Header.Get(name)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hooked = append([]Hooked{got}, s.hooked[:min(len(s.hooked), maxHooked-1)]...)
		w.WriteHeader(http.StatusNoContent)
	})
	s.mux.HandleFunc("GET /admin/hook", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		answer(w, http.StatusOK, append([]Hooked{}, s.hooked...))
	})
}
