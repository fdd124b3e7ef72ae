package activities_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
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

// However long our network is away, up to a day, news are told once it is back, with all of their tries; so is a webhook
// asked whether it wants any, for less long. A host that nothing reaches for longer is given up.
func TestTellNoticeUnreached(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	away := fault.Newf(fault.Transient, "the webhook %w", saved.ErrUnreached)
	for name, tt := range map[string]struct {
		n    saved.Notice
		most time.Duration
	}{
		"challenge": {
			saved.Notice{State: "started", Confirms: true, Channel: saved.Webhook, Standing: saved.TargetUnconfirmed},
			45 * time.Minute,
		},
		"mail": {saved.Notice{State: "started", Confirms: true, Standing: saved.TargetUnconfirmed}, 23 * time.Hour},
		"news": {saved.Notice{State: "started", On: true, Items: []saved.Item{{}}, Channel: saved.Webhook}, 23 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon
			n := tt.n
			w := &noticeWorld{notice: n, fail: away}
			a := activities.Notices{
				Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: func() time.Time { return now },
			}
			tell := func() (activities.NoticeDone, error) {
				w.notice.Tries = w.tries
				return a.TellNotice(t.Context(), activities.NoticeJob{Tenant: "acme"})
			}
			outage := func(most time.Duration) {
				for began := now; now.Sub(began) < most; {
					_, err := tell()
					class, after := fault.Of(err)
					require.Equal(t, fault.Transient, class)
					require.GreaterOrEqual(t, after, saved.RetryFirst)
					require.LessOrEqual(t, after, saved.UnreachedPause)
					require.Equal(t, now.Add(after), w.until)
					now = now.Add(after)
				}
			}
			outage(tt.most)
			require.Zero(t, w.tries)
			w.fail = fault.Newf(fault.Transient, "the webhook answered 500")
			_, err := tell()
			_, after := fault.Of(err)
			require.Equal(t, saved.RetryFirst, after, "the first try that reached it")
			require.Equal(t, 1, w.tries)

			w.fail = away
			outage(tt.most)
			require.Equal(t, 1, w.tries, "another outage")
			now = now.Add(2 * time.Hour)
			for w.tries < n.MaxTries()-1 {
				_, err := tell()
				require.Error(t, err)
			}
			done, err := tell()
			require.NoError(t, err)
			require.Equal(t, "failed", done.State)
		})
	}
}

// However many notices of a tenant fail, a few of them are tried again in a second: they wait for one another, and for
// those of no other tenant or channel.
func TestTellNoticePausesOfATenant(t *testing.T) {
	t.Parallel()
	turns, now := new(activities.NoticeTurns), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	fail := func(tenant string, channel saved.Channel, tries int) time.Duration {
		w := &noticeWorld{
			notice: saved.Notice{
				Tenant: tenant, Channel: channel, State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(),
				Tries: tries,
			},
			fail: fault.Newf(fault.Transient, "it answered 500"),
		}
		a := activities.Notices{Store: w, Send: w, Metrics: w, Turns: turns, Now: func() time.Time { return now }}
		_, err := a.TellNotice(t.Context(), activities.NoticeJob{Tenant: tenant})
		_, after := fault.Of(err)
		require.Equal(t, now.Add(after), w.until)
		return after
	}
	for range 10 { // nothing of these is tried again
		w := &noticeWorld{
			notice: saved.Notice{Tenant: "mallory", Channel: saved.Webhook, State: "started", On: true, Items: []saved.Item{{}}},
			fail:   fault.Newf(fault.Gone, "it answered 410"),
		}
		a := activities.Notices{Store: w, Send: w, Metrics: w, Turns: turns, Now: func() time.Time { return now }}
		_, err := a.TellNotice(t.Context(), activities.NoticeJob{Tenant: "mallory"})
		require.NoError(t, err)
	}
	for i := range 3000 {
		require.Equal(t, 5*time.Second+time.Duration(i/3)*time.Second, fail("mallory", saved.Webhook, 0))
	}
	require.Equal(t, time.Hour, fail("mallory", saved.Webhook, 10), "that second is free")
	require.Equal(t, 5*time.Second, fail("mallory", saved.Email, 0))
	require.Equal(t, 5*time.Second, fail("acme", saved.Webhook, 0))
	now = now.Add(998 * time.Second)
	require.Equal(t, 7*time.Second, fail("mallory", saved.Webhook, 0))
	now = now.Add(time.Hour)
	require.Equal(t, 5*time.Second, fail("mallory", saved.Webhook, 0))
}
