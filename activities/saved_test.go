package activities_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// noticeWorld is a delivery, and what was done with it.
type noticeWorld struct {
	notice saved.Notice
	gone   bool
	fail   error
	lost   int // calls of EndNotice that fail
	read   int // how often it was read whole
	sent   int
	tries  int
	astray *time.Time // since when it is not reached
	until  time.Time  // that it is put off
	ended  []string
	told   []string
}

func (w *noticeWorld) NoticeHead(ctx context.Context, tenant string, id uuid.UUID) (saved.Notice, error) {
	n, err := w.Notice(ctx, tenant, id)
	n.Items = nil
	w.read--
	return n, err
}

func (w *noticeWorld) Notice(context.Context, string, uuid.UUID) (saved.Notice, error) {
	w.read++
	if w.gone {
		return saved.Notice{}, fault.Newf(fault.Gone, "there is no notice")
	}
	n := w.notice
	n.Astray = w.astray
	return n, nil
}

func (w *noticeWorld) PutOffNotice(_ context.Context, _ string, _ uuid.UUID, p saved.Pause) (int, error) {
	w.until = p.Until
	if p.Counts {
		w.tries++
	}
	switch {
	case !p.Astray && p.Reason != "":
		w.astray = nil
	case p.Astray && w.astray == nil:
		w.astray = &p.At
	}
	return w.tries, nil
}

func (w *noticeWorld) EndNotice(_ context.Context, _ string, _ uuid.UUID, state, _ string, _ time.Time) error {
	if w.lost--; w.lost >= 0 {
		return errors.New("connection refused")
	}
	w.ended = append(w.ended, state)
	return nil
}

func (w *noticeWorld) FailNotice(_ context.Context, _ string, _ uuid.UUID, class fault.Class, _ string, _ time.Time) error {
	w.ended = append(w.ended, "failed "+string(class))
	return nil
}

func (w *noticeWorld) Send(context.Context, saved.Notice) error {
	w.sent++
	return w.fail
}

func (w *noticeWorld) Told(_ saved.Channel, result string) { w.told = append(w.told, result) }

// night is a time in the quiet hours of nights.
var (
	night  = time.Date(2026, 11, 24, 4, 0, 0, 0, time.UTC) // 23:00 in Montréal
	nights = saved.Schedule{QuietAt: "22:00", QuietTo: "07:00"}
)

// What is tried again in quiet hours, or comes late, waits for their end; a question that somebody has just asked for
// does not.
func TestTellNoticeQuiet(t *testing.T) {
	t.Parallel()
	for channel, confirms := range map[saved.Channel]bool{saved.Webhook: false, saved.Telegram: false, saved.Email: true} {
		w := &noticeWorld{notice: saved.Notice{
			State: "started", On: true, Items: []saved.Item{{}}, Channel: channel, Schedule: nights,
		}}
		now := night
		a := activities.Notices{
			Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: func() time.Time { return now },
		}
		_, err := a.TellNotice(t.Context(), activities.NoticeJob{})
		class, after := fault.Of(err)
		require.Equal(t, fault.Limited, class)
		require.Equal(t, 8*time.Hour, after)
		require.Equal(t, night.Add(8*time.Hour), w.until, "nothing else starts it before")
		require.Zero(t, w.sent)
		require.Zero(t, w.tries, "it was no try")
		if confirms {
			w.notice.Confirms, w.notice.Standing = true, saved.TargetUnconfirmed
		} else {
			now = now.Add(after)
		}
		done, err := a.TellNotice(t.Context(), activities.NoticeJob{})
		require.NoError(t, err)
		require.Equal(t, "sent", done.State)
	}
}

// A question to confirm an address is not lost while its tenant is stopped: it could not be asked for again for a day.
func TestTellNoticeOfStoppedTenant(t *testing.T) {
	t.Parallel()
	for _, channel := range []saved.Channel{saved.Email, saved.Telegram, saved.Webhook} {
		w := &noticeWorld{notice: saved.Notice{
			State: "started", Stopped: true, Confirms: true, Standing: saved.TargetUnconfirmed, Channel: channel, Schedule: nights,
		}}
		a := activities.Notices{
			Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: func() time.Time { return night },
		}
		for range 2 * saved.MaxTries {
			_, err := a.TellNotice(t.Context(), activities.NoticeJob{})
			class, after := fault.Of(err)
			require.Equal(t, fault.Limited, class)
			require.Equal(t, saved.StoppedPause, after)
		}
		require.Equal(t, night.Add(saved.StoppedPause), w.until)
		require.Zero(t, w.sent)
		require.Zero(t, w.tries)
		require.Empty(t, w.ended)
		w.notice.Stopped = false
		done, err := a.TellNotice(t.Context(), activities.NoticeJob{})
		require.NoError(t, err)
		require.Equal(t, "sent", done.State)
	}
	w := &noticeWorld{notice: saved.Notice{State: "started", Stopped: true, On: true, Items: []saved.Item{{}}}}
	a := activities.Notices{Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: time.Now}
	done, err := a.TellNotice(t.Context(), activities.NoticeJob{})
	require.NoError(t, err)
	require.Equal(t, "dropped", done.State, "what happens meanwhile is not told later")
}

// What this worker cannot send for a cause of our own, such as a key that it was not given yet, waits, and is no try.
func TestTellNoticeWithoutKey(t *testing.T) {
	t.Parallel()
	w := &noticeWorld{
		notice: saved.Notice{State: "started", On: true, Items: []saved.Item{{}}, Tries: saved.MaxTries - 1},
		fail:   &fault.Error{Class: fault.Limited, After: 30 * time.Second, Err: errors.New("no such key")},
	}
	a := activities.Notices{Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: func() time.Time { return night }}
	for range 2 * saved.MaxTries {
		_, err := a.TellNotice(t.Context(), activities.NoticeJob{})
		class, after := fault.Of(err)
		require.Equal(t, fault.Limited, class)
		require.Equal(t, 30*time.Second, after)
	}
	require.Equal(t, night.Add(30*time.Second), w.until)
	require.Zero(t, w.tries)
	require.Empty(t, w.ended)
	require.Equal(t, slices.Repeat([]string{"keyless"}, 2*saved.MaxTries), w.told, "it is never late, and is seen by this")
	w.fail = nil
	done, err := a.TellNotice(t.Context(), activities.NoticeJob{})
	require.NoError(t, err)
	require.Equal(t, "sent", done.State)
}

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
		"the target is stopped": {noticeWorld{notice: saved.Notice{
			State: "started", On: true, Items: item, Standing: saved.TargetStopped,
		}}, "dropped", 0},
		"the target is not confirmed": {noticeWorld{notice: saved.Notice{
			State: "started", On: true, Items: item, Standing: saved.TargetUnconfirmed,
		}}, "dropped", 0},
		"it asks for confirmation, of a paused search too": {noticeWorld{notice: saved.Notice{
			State: "started", Confirms: true, Standing: saved.TargetUnconfirmed,
		}}, "sent", 1},
		"it asks, and is confirmed already": {noticeWorld{notice: saved.Notice{
			State: "started", Confirms: true, Standing: saved.TargetActive,
		}}, "dropped", 0},
		"a challenge that is not answered": {
			noticeWorld{
				notice: saved.Notice{State: "started", Confirms: true, Channel: saved.Webhook, Standing: saved.TargetUnconfirmed},
				fail:   down, tries: saved.MaxChallenges - 2,
			}, "", 1,
		},
		"a challenge, for the last time": {
			noticeWorld{
				notice: saved.Notice{State: "started", Confirms: true, Channel: saved.Webhook, Standing: saved.TargetUnconfirmed},
				fail:   down, tries: saved.MaxChallenges - 1,
			}, "failed", 1,
		},
		"the target is gone": {
			noticeWorld{
				notice: saved.Notice{State: "started", On: true, Items: item}, fail: fault.Newf(fault.Gone, "the chat is closed"),
			}, "failed", 1,
		},
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
			if done.State == "failed" && w.notice.Confirms {
				require.Equal(t, []string{"failed"}, w.ended, "it is no dead letter")
			}
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
	require.Zero(t, w.read, "its items are read once there is a turn")
	w.notice.Target = uuid.New()
	_, err = a.TellNotice(t.Context(), activities.NoticeJob{})
	require.NoError(t, err)
	close(s.release)
	require.NoError(t, <-ends)
	require.NoError(t, <-ends)
}

// A host of webhooks that does not answer leaves slots for the others, however many targets it has; those that wait for
// it look again one after another.
func TestTellNoticeHosts(t *testing.T) {
	t.Parallel()
	s := stuck{make(chan struct{}), make(chan struct{})}
	turns, ends := new(activities.NoticeTurns), make(chan error)
	var until time.Time
	tell := func(label string, sender activities.NoticeSender) error {
		w := &noticeWorld{notice: saved.Notice{
			State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(), Channel: saved.Webhook, Label: label,
		}}
		a := activities.Notices{Store: w, Send: sender, Metrics: w, Turns: turns, Now: func() time.Time { return night }}
		_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
		until = w.until
		return err
	}
	const most = 8
	for range most {
		go func() { ends <- tell("https://stalled.example", s) }()
		<-s.begun
	}
	labels := []string{"https://stalled.example", "http://Stalled.example:80", "https://stalled.example.:443"}
	for i := range 7_000 {
		class, after := fault.Of(tell(labels[i%len(labels)], s))
		require.Equal(t, fault.Limited, class)
		want := min(2*time.Second+time.Duration(i)*50*time.Millisecond, 5*time.Minute)
		require.Equal(t, want, after, "after %d others", i)
		if want > 10*time.Second {
			require.Equal(t, night.Add(after), until)
			continue
		}
		require.Zero(t, until, "it is not worth a write")
	}
	require.NoError(t, tell("https://other.example", new(noticeWorld)))
	close(s.release)
	for range most {
		require.NoError(t, <-ends)
	}
	require.NoError(t, tell("https://stalled.example", new(noticeWorld)))
}

// A notice that finds no turn waits in the row of the narrowest bound that has none: its target's, then its server's, then
// its tenant's, however many wait for the others.
func TestTellNoticeNarrowest(t *testing.T) {
	t.Parallel()
	for range 20 { // an order of chance would be right now and then
		s := stuck{make(chan struct{}), make(chan struct{})}
		turns, ends := new(activities.NoticeTurns), make(chan error)
		tell := func(target uuid.UUID, host string) error {
			w := &noticeWorld{notice: saved.Notice{
				State: "started", On: true, Items: []saved.Item{{}}, Target: target, Channel: saved.Webhook,
				Label: "https://" + host, Tenant: "acme",
			}}
			a := activities.Notices{Store: w, Send: s, Metrics: w, Turns: turns, Now: func() time.Time { return night }}
			_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
			return err
		}
		begin := func(target uuid.UUID, host string) {
			go func() { ends <- tell(target, host) }()
			<-s.begun
		}
		waits := func(target uuid.UUID, host string, want time.Duration) {
			t.Helper()
			class, after := fault.Of(tell(target, host))
			require.Equal(t, fault.Limited, class)
			require.Equal(t, want, after)
		}
		target := uuid.New()
		for range 2 {
			begin(target, "full.example")
		}
		for range 6 {
			begin(uuid.New(), "full.example")
		}
		for range 8 {
			begin(uuid.New(), uuid.NewString()+".example") // the tenant has none left, either
		}
		const first, space = 2 * time.Second, 50 * time.Millisecond
		waits(uuid.New(), "other.example", first) // the tenant's row
		for i := range 3 {
			waits(uuid.New(), "full.example", first+time.Duration(i)*space)
		}
		waits(target, "full.example", first)
		waits(target, "full.example", first+space)
		waits(uuid.New(), "full.example", first+3*space)
		waits(uuid.New(), "other.example", first+space)
		close(s.release)
		for range 16 {
			require.NoError(t, <-ends)
		}
	}
}

// Those that find no turn look again about as fast as turns end: of a host that takes eight seconds for each of eight
// notices, one a second.
func TestTellNoticeSlowHosts(t *testing.T) {
	t.Parallel()
	s := stuck{make(chan struct{}), make(chan struct{})}
	turns, ends := new(activities.NoticeTurns), make(chan error)
	var clock sync.Mutex
	now := night
	tell := func(sender activities.NoticeSender) error {
		w := &noticeWorld{notice: saved.Notice{
			State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(), Channel: saved.Webhook,
			Label: "https://slow.example",
		}}
		a := activities.Notices{Store: w, Send: sender, Metrics: w, Turns: turns, Now: func() time.Time {
			clock.Lock()
			defer clock.Unlock()
			return now
		}}
		_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
		return err
	}
	const most = 8
	for range most {
		go func() { ends <- tell(s) }()
		<-s.begun
	}
	clock.Lock()
	now = now.Add(8 * time.Second)
	clock.Unlock()
	s.release <- struct{}{}
	require.NoError(t, <-ends)
	go func() { ends <- tell(s) }()
	<-s.begun
	for i := range 10 {
		_, after := fault.Of(tell(s))
		require.Equal(t, time.Duration(2+i)*time.Second, after)
	}
	close(s.release)
	for range most {
		require.NoError(t, <-ends)
	}
}

// A tenant with very many hosts that do not answer, or whose e-mails take long, leaves slots for the others.
func TestTellNoticeTenants(t *testing.T) {
	t.Parallel()
	for channel, most := range map[saved.Channel]int{saved.Webhook: 16, saved.Email: 12, saved.Telegram: 12} {
		t.Run(string(channel), func(t *testing.T) {
			t.Parallel()
			s := stuck{make(chan struct{}), make(chan struct{})}
			turns, ends := new(activities.NoticeTurns), make(chan error)
			tell := func(tenant string, sender activities.NoticeSender) error {
				w := &noticeWorld{notice: saved.Notice{
					State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(), Channel: channel, Tenant: tenant,
					Label: fmt.Sprintf("https://%s.example", uuid.New()),
				}}
				a := activities.Notices{Store: w, Send: sender, Metrics: w, Turns: turns, Now: time.Now}
				_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
				return err
			}
			for range most {
				go func() { ends <- tell("mallory", s) }()
				<-s.begun
			}
			require.Equal(t, fault.Limited, fault.ClassOf(tell("mallory", new(noticeWorld))))
			require.NoError(t, tell("acme", new(noticeWorld)))
			close(s.release)
			for range most {
				require.NoError(t, <-ends)
			}
			require.NoError(t, tell("mallory", new(noticeWorld)))
		})
	}
}

// A notice is sent once, however often its end cannot be recorded.
func TestTellNoticeOnce(t *testing.T) {
	t.Parallel()
	w := &noticeWorld{lost: 2, notice: saved.Notice{
		State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(), Channel: saved.Email,
	}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	a := &activities.Notices{Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: time.Now}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.TellNotice, activities.NoticeJob{})
	require.NoError(t, err)
	require.Equal(t, 1, w.sent)
	require.Equal(t, []string{"sent"}, w.ended)
}

// A notice whose end could not be recorded before its worker stopped is not sent by the next one.
func TestTellNoticeOnceByTwoWorkers(t *testing.T) {
	t.Parallel()
	w := &noticeWorld{lost: math.MaxInt, notice: saved.Notice{
		State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(), Channel: saved.Telegram,
	}}
	a := &activities.Notices{Store: w, Send: w, Metrics: w, Turns: new(activities.NoticeTurns), Now: time.Now}
	var tries pulsed
	require.Error(t, tries.try(t, func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		defer stop()
		_, err := a.TellNotice(ctx, activities.NoticeJob{})
		return err
	}))
	require.Equal(t, 1, w.sent)

	w.lost, w.notice.On = 0, false // what is no longer wanted was sent all the same
	require.NoError(t, tries.try(t, func(ctx context.Context) error {
		done, err := a.TellNotice(ctx, activities.NoticeJob{})
		require.Equal(t, "sent", done.State)
		return err
	}))
	require.Equal(t, 1, w.sent)
	require.Equal(t, []string{"sent"}, w.ended)
}

// A mail server that does not answer leaves slots for the other channels, whichever targets its e-mails are of.
func TestTellNoticeServers(t *testing.T) {
	t.Parallel()
	s := stuck{make(chan struct{}), make(chan struct{})}
	turns, ends := new(activities.NoticeTurns), make(chan error)
	tell := func(channel saved.Channel, sender activities.NoticeSender) error {
		w := &noticeWorld{notice: saved.Notice{
			State: "started", On: true, Items: []saved.Item{{}}, Target: uuid.New(), Channel: channel,
			Tenant: uuid.NewString(), // each of another one
		}}
		a := activities.Notices{Store: w, Send: sender, Metrics: w, Turns: turns, Now: time.Now}
		_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
		return err
	}
	const most = 16
	for range most {
		go func() { ends <- tell(saved.Email, s) }()
		<-s.begun
	}
	require.Equal(t, fault.Limited, fault.ClassOf(tell(saved.Email, s)))
	require.NoError(t, tell(saved.Telegram, new(noticeWorld)))
	require.NoError(t, tell(saved.Webhook, new(noticeWorld)))
	close(s.release)
	for range most {
		require.NoError(t, <-ends)
	}
	require.NoError(t, tell(saved.Email, new(noticeWorld)))
}

// Who has just entered an address is asked while the mail server, or the tenant, has no turn for news, and however many
// of these wait for one.
func TestTellNoticeQuestionsComeFirst(t *testing.T) {
	t.Parallel()
	s := stuck{make(chan struct{}), make(chan struct{})}
	turns, ends := new(activities.NoticeTurns), make(chan error)
	tell := func(tenant string, confirms bool) error {
		n := saved.Notice{
			State: "started", On: true, Target: uuid.New(), Channel: saved.Email, Tenant: tenant, Confirms: confirms,
			Standing: saved.TargetUnconfirmed,
		}
		if !confirms {
			n.Items, n.Standing = []saved.Item{{}}, saved.TargetActive
		}
		w := &noticeWorld{notice: n}
		a := activities.Notices{Store: w, Send: s, Metrics: w, Turns: turns, Now: func() time.Time { return night }}
		_, err := a.TellNotice(context.Background(), activities.NoticeJob{})
		return err
	}
	begin := func(tenant string, confirms bool) {
		t.Helper()
		go func() { ends <- tell(tenant, confirms) }()
		select {
		case <-s.begun:
		case err := <-ends:
			require.NoError(t, err)
		}
	}
	waits := func(tenant string, confirms bool, want time.Duration) {
		t.Helper()
		class, after := fault.Of(tell(tenant, confirms))
		require.Equal(t, fault.Limited, class)
		require.Equal(t, want, after)
	}
	const first, space = 2 * time.Second, 50 * time.Millisecond
	for range 12 {
		begin("acme", false)
	}
	for i := range 1000 {
		waits("acme", false, first+time.Duration(i)*space)
	}
	begin("acme", true) // of the tenant
	for range 3 {
		begin("other", false)
	}
	waits("other", false, first)
	begin("other", true) // of the server
	begin("acme", true)
	for i := range 3 {
		waits("acme", true, first+time.Duration(i)*space)
	}
	close(s.release)
	for range 18 {
		require.NoError(t, <-ends)
	}
}
