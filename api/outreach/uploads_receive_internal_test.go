package outreach

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/fault"
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

// Where Postgres has not answered a COMMIT, the row may be stored after it was looked for: the file stays, unless another
// one has its place. Where it is known that nothing was stored, it goes.
func TestUploadThatMayBeStored(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	dbtest.NewTenant(t, pool, "acme")
	h := Uploads{Store: dboutreach.NewUploads(pool)}
	u := dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "people.csv", Blob: "uploads/1", SHA256: []byte{1}, CreatedAt: time.Now(),
	}
	discards := func(err error) bool {
		discard := true
		require.Error(t, h.unsure(t.Context(), u, err, &discard))
		return discard
	}
	unanswered := fmt.Errorf("%w: no answer", dboutreach.ErrMayBeStored)
	require.False(t, discards(unanswered))
	require.True(t, discards(fault.Newf(fault.Invalid, "%w", unanswered)))
	away, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Store.Create(away, u)
	require.True(t, discards(err), "nothing was asked: %v", err)
	for ends, unknown := range map[string]bool{
		"RAISE EXCEPTION 'no' USING ERRCODE = 'lock_not_available'": false,
		"PERFORM pg_terminate_backend(pg_backend_pid())":            true, // FATAL
	} {
		dbtest.Alter(t, pool, `CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN `+ends+`; RETURN NULL; END $$;
			CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON uploads DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
			EXECUTE FUNCTION ends()`)
		_, err := h.Store.Create(t.Context(), u)
		require.Equal(t, !unknown, discards(err), "%v", err)
		dbtest.Alter(t, pool, "DROP FUNCTION ends CASCADE")
	}
	_, err = h.Store.Create(t.Context(), u)
	require.NoError(t, err)
	require.False(t, discards(unanswered))
	u.Blob = "uploads/2"
	require.True(t, discards(unanswered))
}
