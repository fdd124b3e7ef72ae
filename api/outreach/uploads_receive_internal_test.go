package outreach

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sender sends n bytes each time, and takes its time for it, on a clock of its own. It notes how long it may take.
type sender struct {
	http.ResponseWriter
	at       time.Time
	n        int
	takes    time.Duration
	deadline time.Time
}

func (s *sender) SetReadDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *sender) Read([]byte) (int, error) {
	s.at = s.at.Add(s.takes)
	return s.n, nil
}

// A sender that pauses now and then, or is slow, has its time; one that only keeps the connection open has not.
func TestLeastRateOfBodies(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		n     int
		takes time.Duration
		cut   bool
	}{
		{"a byte now and then", 1, 29 * time.Second, true},
		{"some bytes a second", 100, time.Second, true},
		{"a slow line", 2 * bodyRate, time.Second, false},
		{"a pause after each part", 40 * bodyRate, 29 * time.Second, false},
	} {
		s := &sender{ResponseWriter: httptest.NewRecorder(), at: time.Unix(0, 0), n: tt.n, takes: tt.takes}
		body := &patient{Reader: s, control: http.NewResponseController(s), now: func() time.Time { return s.at }}
		cut := false
		for range 1000 {
			before := s.at
			_, err := body.Read(nil)
			require.NoError(t, err)
			require.LessOrEqual(t, s.deadline.Sub(before), bodyWithin, tt.name)
			if cut = s.at.After(s.deadline); cut {
				break
			}
			s.at = s.at.Add(time.Hour) // that we take to store it
		}
		require.Equal(t, tt.cut, cut, tt.name)
	}
}
