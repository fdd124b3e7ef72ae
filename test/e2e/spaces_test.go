package e2e

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// spacesAhead is how many namespaces are made at once, and how many wait for a test at most.
const spacesAhead = 4

// spaces are namespaces that Temporal knows already. Making one takes some six seconds, nearly all of it waiting for the
// server's caches, so a few are made ahead while other tests run.
var spaces = struct {
	begin sync.Once
	ready chan madeSpace
	stop  context.CancelFunc
	done  sync.WaitGroup
}{ready: make(chan madeSpace), stop: func() {}}

type madeSpace struct {
	name string
	err  error
}

// takeSpace returns a namespace in which nothing has run. Its schedules go with the test: nobody will serve them.
func takeSpace(t *testing.T) string {
	t.Helper()

	address := servicetest.Address(t, "TEMPORAL_ADDRESS")
	spaces.begin.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		spaces.stop = stop
		for range spacesAhead {
			spaces.done.Go(func() { // ends with stopSpaces
				for ctx.Err() == nil {
					made := makeSpace(ctx, address)
					select {
					case spaces.ready <- made:
					case <-ctx.Done():
					}
				}
			})
		}
	})
	select {
	case made := <-spaces.ready:
		require.NoError(t, made.err)
		return made.name
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
		return ""
	}
}

func stopSpaces() {
	spaces.stop()
	spaces.done.Wait()
}

// makeSpace does what `conveyor bootstrap` does first, which then finds nothing to wait for and sets the rest.
func makeSpace(ctx context.Context, address string) madeSpace {
	name := "e2e-" + uuid.NewString()[:8]
	quiet := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: name, Logger: quiet})
	if err != nil {
		return madeSpace{err: err}
	}
	defer c.Close()
	err = launch.Bootstrap{
		Namespace: name, Retention: 72 * time.Hour, ImageInterval: 10 * time.Millisecond,
		StaleEvery: 87600 * time.Hour, ExpireEvery: 24 * time.Hour,
	}.Apply(ctx, c)
	return madeSpace{name: name, err: err}
}

// unschedule deletes the schedules of a namespace whose test is over.
func unschedule(c client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := c.ScheduleClient().List(ctx, client.ScheduleListOptions{})
	for err == nil && list.HasNext() {
		var s *client.ScheduleListEntry
		if s, err = list.Next(); err == nil {
			_ = c.ScheduleClient().GetHandle(ctx, s.ID).Delete(ctx) // one that stays costs a workflow task a minute
		}
	}
}
