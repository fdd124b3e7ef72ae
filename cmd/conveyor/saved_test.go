package main

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// While a backlog of events is compared, what comes due is begun: it does not wait until all of them are.
func TestNoticesAreBegunWhileEventsAreCompared(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	store := dblistings.NewSaved(pool)
	h := &house{log: slog.New(slog.DiscardHandler)}
	for events, want := range map[int]bool{1: false, savedEvents + 1: true} {
		var due atomic.Bool
		match := h.savedMatcher(store, telemetry.NewSaved(prometheus.NewRegistry()), &due)
		dbtest.Exec(t, pool, "INSERT INTO saved_queue (event) SELECT generate_series(1, $1)", events)
		require.NoError(t, match(t.Context()))
		require.Zero(t, dbtest.Count(t, pool, "saved_queue"))
		require.Equal(t, want, due.Load(), "nothing was due when %d events were begun with", events)
	}
}

// A worker that was not given the newest key yet waits for it. An address that no key can open is given up.
func TestNoticeWithoutKey(t *testing.T) {
	t.Parallel()
	box := func(id, fill string) *secret.Box {
		b, err := secret.Parse(id + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 32))))
		require.NoError(t, err)
		return b
	}
	n := saved.Notice{Target: uuid.New(), Channel: saved.Webhook}
	var err error
	n.Sealed.Key, n.Sealed.Box, err = box("new", "n").Seal(saved.TargetPurpose(n.Target), []byte("{}"))
	require.NoError(t, err)
	for keys, want := range map[*secret.Box]fault.Class{box("old", "o"): fault.Limited, box("new", "o"): fault.Invalid} {
		err := notices{box: keys}.Send(t.Context(), n)
		class, _ := fault.Of(err)
		require.Equal(t, want, class, err)
	}
}
