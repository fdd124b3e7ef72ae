package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// noticeWorld is a delivery, and what was done with it.
type noticeWorld struct {
	notice saved.Notice
	gone   bool
	fail   error
	sent   int
	tries  int
	ended  []string
	told   []string
}

func (w *noticeWorld) Notice(context.Context, string, uuid.UUID) (saved.Notice, error) {
	if w.gone {
		return saved.Notice{}, fault.Newf(fault.Gone, "there is no notice")
	}
	return w.notice, nil
}

func (w *noticeWorld) CountNoticeTry(context.Context, string, uuid.UUID, string) (int, error) {
	w.tries++
	return w.tries, nil
}

func (w *noticeWorld) EndNotice(_ context.Context, _ string, _ uuid.UUID, state, _ string, _ time.Time) error {
	w.ended = append(w.ended, state)
	return nil
}

func (w *noticeWorld) FailNotice(context.Context, string, uuid.UUID, fault.Class, string, time.Time) error {
	w.ended = append(w.ended, "failed")
	return nil
}

func (w *noticeWorld) Send(context.Context, saved.Notice) error {
	w.sent++
	return w.fail
}

func (w *noticeWorld) Told(_ saved.Channel, result string) { w.told = append(w.told, result) }

func TestTellNotice(t *testing.T) {
	t.Parallel()
	item := []saved.Item{{Title: "4½"}}
	down := fault.Newf(fault.Transient, "the webhook answered 500")
	for name, tt := range map[string]struct {
		world noticeWorld
		state string // as it ends; "" = it is tried again
		sent  int
	}{
		"it is sent":            {noticeWorld{notice: saved.Notice{State: "started", On: true, Items: item}}, "sent", 1},
		"it was sent":           {noticeWorld{notice: saved.Notice{State: "sent", On: true, Items: item}}, "sent", 0},
		"the search is paused":  {noticeWorld{notice: saved.Notice{State: "started", Items: item}}, "dropped", 0},
		"the listings are gone": {noticeWorld{notice: saved.Notice{State: "started", On: true}}, "dropped", 0},
		"the search is deleted": {noticeWorld{gone: true}, "gone", 0},
		"the target is down": {
			noticeWorld{notice: saved.Notice{State: "started", On: true, Items: item}, fail: down}, "", 1,
		},
		"for the last time": {
			noticeWorld{
				notice: saved.Notice{State: "started", On: true, Items: item}, fail: down, tries: saved.MaxTries - 1,
			}, "failed", 1,
		},
		"the guard refuses": {
			noticeWorld{
				notice: saved.Notice{State: "started", On: true, Items: item}, fail: fault.Newf(fault.Invalid, "refused"),
			}, "failed", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &tt.world
			a := activities.Notices{Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: time.Now}
			done, err := a.TellNotice(t.Context(), activities.NoticeJob{Tenant: "acme"})
			require.Equal(t, tt.state == "", err != nil, "%v", err)
			require.Equal(t, tt.state, done.State)
			require.Equal(t, tt.sent, w.sent)
		})
	}
}

// stuck blocks until it is released.
type stuck struct{ begun, release chan struct{} }

func (s stuck) Send(context.Context, saved.Notice) error {
	s.begun <- struct{}{}
	<-s.release
	return nil
}

// A target that does not answer holds up no other: its further notices wait outside.
func TestTellNoticeTurns(t *testing.T) {
	t.Parallel()
	w := &noticeWorld{notice: saved.Notice{State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New()}}
	s := stuck{make(chan struct{}), make(chan struct{})}
	turns := new(activities.NoticeTurns)
	ends := make(chan error)
	for range 2 {
		own := *w
		a := activities.Notices{Store: &own, Send: s, Metrics: &own, Turns: turns, Now: time.Now}
		go func() {
			_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
			ends <- err
		}()
		<-s.begun
	}
	a := activities.Notices{Store: w, Send: w, Metrics: w, Turns: turns, Now: time.Now}
	_, err := a.TellNotice(t.Context(), activities.NoticeJob{})
	class, after := fault.Of(err)
	require.Equal(t, fault.Limited, class)
	require.Positive(t, after)
	w.notice.Target = uuid.New()
	_, err = a.TellNotice(t.Context(), activities.NoticeJob{})
	require.NoError(t, err)
	close(s.release)
	require.NoError(t, <-ends)
	require.NoError(t, <-ends)
}
