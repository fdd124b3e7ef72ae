package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// The pause after a try that failed grows with the tries of the delivery, however often it waited for a turn.
func TestTellNoticePauses(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for tries, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 15 * time.Second, 4: 135 * time.Second, saved.MaxTries - 1: time.Hour,
	} {
		w := &noticeWorld{
			notice: saved.Notice{State: "started", On: true, Items: []saved.Item{{}}, Tries: tries - 1}, tries: tries - 1,
			fail: fault.Newf(fault.Transient, "the webhook answered 500"),
		}
		a := activities.Notices{
			Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: func() time.Time { return noon },
		}
		_, err := a.TellNotice(t.Context(), activities.NoticeJob{Tenant: "acme"})
		class, after := fault.Of(err)
		require.Equal(t, fault.Transient, class)
		require.Equal(t, want, after)
		require.Equal(t, noon.Add(want), w.until, "nothing else starts it before")
	}
}
