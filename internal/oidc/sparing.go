package oidc

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// sparing requests each address at most once in patience, and repeats the answer until then. Otherwise each token with
// a made-up signature would cost the issuer a request for its keys.
type sparing struct {
	next http.RoundTripper // nil = http.DefaultTransport
	now  func() time.Time

	mu   sync.Mutex
	said map[string]answer // by address; there are two of them
}

type answer struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

// biggest is the number of bytes of an answer that are read.
const biggest = 1 << 20

// RoundTrip answers from memory or sends the request. Errors are not remembered.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.said[r.URL.String()]
	if !ok || s.now().Sub(a.at) >= patience {
		var err error
		if a, err = s.ask(r); err != nil {
			return nil, err
		}
		if s.said == nil {
			s.said = map[string]answer{}
		}
		s.said[r.URL.String()] = a
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Header: a.header.Clone(), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

func (s *sparing) ask(r *http.Request) (answer, error) {
	next := s.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, biggest))
	return answer{s.now(), resp.StatusCode, resp.Header, body}, err
}
