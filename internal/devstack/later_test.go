package devstack

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// following is a stack of scripts whose Web UI follows, built by build, and the address that says so. rest is closed when
// the rest is done.
func following(t *testing.T, build func(context.Context) error) (s *Stack, at string, rest chan struct{}) {
	t.Helper()
	rest = make(chan struct{})
	s = fakeStack(t)
	s.unbuilt = goTools
	ui := script(s, TemporalUI, polite(TemporalUI), "a")
	require.NoError(t, s.launch(t.Context(), []*service{script(s, "a", polite("a")), ui}))
	if s.Pid("a") == 0 || s.Pid(TemporalUI) != 0 {
		t.Fatalf("the others have pid %d, what follows %d", s.Pid("a"), s.Pid(TemporalUI))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	require.NoError(t, err)
	at = l.Addr().String()
	_ = l.Close()
	if err := s.follow(s.keepers[1], at, build, func(context.Context) error {
		close(rest)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s, "http://" + at, rest
}

// asked is what an address says.
func asked(t *testing.T, at string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(at)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(all)
}

func TestWhatFollowsIsStarted(t *testing.T) {
	t.Parallel()
	built := make(chan struct{})
	s, at, rest := following(t, func(context.Context) error {
		<-built
		return nil
	})
	if status, text := asked(t, at); status != http.StatusServiceUnavailable || !strings.Contains(text, "temporal-ui is being built") {
		t.Errorf("before: %d, %q", status, text)
	}
	close(built)
	eventually(t, "it has started", func() bool { return alive(s.Pid(TemporalUI)) })
	<-rest
	if status, _ := asked(t, at); status != 0 {
		t.Errorf("its address is still taken, and says %d", status)
	}
	pid := s.Pid(TemporalUI)
	if err := s.Stop(t.Context()); err != nil || alive(pid) {
		t.Errorf("Stop = %v, alive %t", err, alive(pid))
	}
}

func TestWhatFollowsCannotBeBuilt(t *testing.T) {
	t.Parallel()
	s, at, _ := following(t, func(context.Context) error { return errors.New("no proxy") })
	eventually(t, "its address says why", func() bool {
		status, text := asked(t, at)
		return status == http.StatusServiceUnavailable && strings.Contains(text, "cannot be built: no proxy")
	})
	require.True(t, alive(s.Pid("a")), "the others have ended")
	require.NoError(t, s.Stop(t.Context()))
	if status, _ := asked(t, at); status != 0 {
		t.Errorf("its address says %d after Stop", status)
	}
}

func TestStopEndsABuild(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s, _, _ := following(t, func(ctx context.Context) error {
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	require.NoError(t, s.Stop(t.Context()))
	select {
	case <-ended:
	default:
		t.Error("the build goes on after Stop")
	}
}
