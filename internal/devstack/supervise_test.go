package devstack

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// fakeStack is a stack of shell scripts, with everything real but their work.
func fakeStack(t *testing.T) *Stack {
	t.Helper()
	dir := t.TempDir()
	held, err := lock(dir, "test")
	require.NoError(t, err)
	s := &Stack{
		opts: Options{Dir: dir}, log: slog.New(slog.DiscardHandler), show: NewProgress(nil),
		pace:    pace{first: 10 * time.Millisecond, most: 20 * time.Millisecond, slate: time.Minute, deaths: 3},
		failure: make(chan struct{}), held: []*os.File{held},
	}
	if s.spawn, err = newSpawner(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// script is a service that is ready when the script has made the file ready-NAME.
func script(s *Stack, name, text string, needs ...string) *service {
	ready := filepath.Join(s.opts.Dir, "ready-"+name)
	return &service{
		name: name, needs: needs, stopBy: syscall.SIGTERM, grace: 5 * time.Second, within: servicetest.Patience(),
		command: func() *exec.Cmd {
			_ = os.Remove(ready)
			cmd := exec.Command("sh", "-c", text)
			cmd.Dir = s.opts.Dir
			return cmd
		},
		probe: func(context.Context) error {
			_, err := os.Stat(ready)
			return err
		},
	}
}

// polite is a script that notes its start and its stop in the file order.
func polite(name string) string {
	return `trap 'echo stop-` + name + ` >> order; exit 0' TERM
echo start-` + name + ` >> order; touch ready-` + name + `; while :; do sleep 0.02; done`
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, servicetest.Patience(), 10*time.Millisecond, what)
}

func alive(pid int) bool { return pid != 0 && len(living([]int{pid})) == 1 }

func TestRestart(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	require.NoError(t, s.launch(t.Context(), []*service{script(s, "a", polite("a"))}))
	for _, tt := range []struct {
		kill bool
		want string // in the file order, since the last restart
	}{{false, "stop-a\nstart-a\n"}, {true, "start-a\n"}, {true, "start-a\n"}, {true, "start-a\n"}, {true, "start-a\n"}} {
		order := filepath.Join(s.opts.Dir, "order")
		require.NoError(t, os.Truncate(order, 0))
		before, away := s.Pid("a"), 50*time.Millisecond
		asked := time.Now()
		require.NoError(t, s.Restart(t.Context(), "a", tt.kill, away))
		assert.GreaterOrEqual(t, time.Since(asked), away, "it was back sooner")
		if after := s.Pid("a"); after == before || !alive(after) || alive(before) {
			t.Errorf("pid %d after %d; want another one that lives", after, before)
		}
		if got, _ := os.ReadFile(order); string(got) != tt.want {
			t.Errorf("kill %t: order is %q; want %q", tt.kill, got, tt.want)
		}
	}
	require.NoError(t, s.Err(), "a restart counts as a death")
	require.Error(t, s.Restart(t.Context(), "b", false, 0), "a service that is not ours was restarted")
}

func TestDeadChildIsRestarted(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	require.NoError(t, s.launch(t.Context(), []*service{script(s, "a", polite("a"))}))
	first := s.Pid("a")
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	eventually(t, "another process", func() bool { p := s.Pid("a"); return p != 0 && p != first })
	require.NoError(t, s.Stop(t.Context()))
	require.Equal(t, 0, s.Pid("a"), "it runs after Stop")
}

func TestChildThatKeepsDyingIsGivenUp(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	require.NoError(t, s.launch(t.Context(), []*service{script(s, "a", "touch ready-a; sleep 0.2; exit 3")}))
	select {
	case <-s.Done():
	case <-time.After(servicetest.Patience()):
		t.Fatal("not given up")
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "a keeps dying") {
		t.Errorf("Err() = %v; want one that names the service", err)
	}
}

func TestStartAndStopFollowNeeds(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	err := s.launch(t.Context(), []*service{
		script(s, "c", polite("c"), "b"), script(s, "a", polite("a")), script(s, "b", polite("b"), "a"),
	})
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()))
	got, err := os.ReadFile(filepath.Join(s.opts.Dir, "order"))
	require.NoError(t, err)
	want := "start-a start-b start-c stop-c stop-b stop-a"
	require.Equal(t, want, strings.Join(strings.Fields(string(got)), " "))
}

// While programs are compiled, what does not need them starts, and nothing else.
func TestStartsBesideTheBuild(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	starts := make(chan struct{})
	a := script(s, "a", polite("a"))
	a.prepare = func(context.Context) error { close(starts); return nil }
	s.build = func(ctx context.Context) error {
		select {
		case <-starts:
			return os.WriteFile(filepath.Join(s.opts.Dir, "compiled"), nil, 0o600)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b := script(s, "b", "test -e compiled || exit 3; "+polite("b"), built)
	require.NoError(t, s.launch(t.Context(), []*service{a, b}))
}

func TestWhatCannotBeBuiltFailsTheStart(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	s.build = func(context.Context) error { return errors.New("no network") }
	err := s.launch(t.Context(), []*service{script(s, "a", polite("a")), script(s, "b", polite("b"), built)})
	if err == nil || err.Error() != "no network" {
		t.Errorf("%v; want the error of the build", err)
	}
}

func TestStubbornChildIsKilledWithWhatItForked(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	svc := script(s, "a", `trap '' TERM; sleep 1000 & echo $! > grandchild; touch ready-a; while :; do wait; done`)
	svc.grace = 100 * time.Millisecond
	require.NoError(t, s.launch(t.Context(), []*service{svc}))
	pid := s.Pid("a")
	require.NoError(t, s.Stop(t.Context()))
	require.False(t, alive(pid), pid)
	if left := leftovers(mark(s.opts.Dir)); len(living(left)) > 0 {
		t.Errorf("processes %v run after Stop", left)
	}
}

func TestChildThatEndsBeforeItIsReadyFailsTheStart(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	err := s.launch(t.Context(), []*service{
		script(s, "a", "echo the disk is full; exit 4"), script(s, "b", polite("b"), "a"),
	})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "a.log") {
		t.Errorf("launch = %v; want the last line of the log and where it is", err)
	}
}

func TestCancelledStartStops(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.launch(ctx, []*service{script(s, "a", "sleep 1000")}); err == nil {
		t.Fatal("launch of a service that is never ready = nil")
	}
	require.NoError(t, s.Stop(t.Context()))
	if left := leftovers(mark(s.opts.Dir)); len(living(left)) > 0 {
		t.Errorf("processes %v run after Stop", left)
	}
}
