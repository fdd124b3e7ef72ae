package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
)

// An import that is stopped says so, and where; only one whose messages the broker does not take speaks of the broker.
func TestStoppedImport(t *testing.T) {
	t.Parallel()
	c := importListingsCmd{File: filepath.Join(t.TempDir(), "listings.csv"), Rate: 0.001}
	require.NoError(t, os.WriteFile(c.File, []byte("source,sourceId,sourceUrl,title,bedrooms,lastScrapedAt,price\n"+
		"kijiji,1,https://a.example/1,Loft,1,2026-03-04,850\n"), 0o600))
	plan, err := c.plan()
	require.NoError(t, err)
	for _, tt := range []struct {
		name, want string
		send       func(stop func()) error
	}{
		{
			"while it sends", "stopped after row 0; what was sent may be sent again",
			func(stop func()) error { stop(); return context.Canceled },
		},
		{
			"while it waits", "stopped after row 1; what was sent may be sent again",
			func(stop func()) error { stop(); return nil },
		},
		{
			"refused", "after row 0: connection refused; is RabbitMQ up (make run), has a bridge declared its queues, " +
				"is RABBITMQ_URL right? What was sent may be sent again",
			func(func()) error { return errors.New("connection refused") },
		},
	} {
		ctx, stop := context.WithCancel(t.Context())
		tally := tally{file: csv.NewWriter(io.Discard)}
		err := c.each(ctx, plan, &tally, func(context.Context, []bridge.Parcel) error { return tt.send(stop) })
		require.EqualError(t, err, tt.want, tt.name)
		stop()
	}
}
