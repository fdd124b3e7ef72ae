package servicetest_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// failing takes the place of a test that fails.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Logf(string, ...any) {}

func (f *failing) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// said returns the message with which a test that asks for variable fails; "" when it does not fail.
func said(t *testing.T, variable string) string {
	return fails(t, func(f testing.TB) { servicetest.Address(f, variable) })
}

// fails returns the message with which a test fails; "" when it does not.
func fails(t *testing.T, test func(testing.TB)) string {
	t.Helper()

	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.said
}

// A check that fails is run again only where the machine kept the process waiting.
func TestUndisturbed(t *testing.T) {
	wrong := errors.New("wrong")
	held := func() { // the whole process, as a busy machine holds it
		pid := os.Getpid()
		require.NoError(t, exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %d; sleep 0.1; kill -CONT %d", pid, pid)).Run())
	}
	calls := 0
	require.Empty(t, fails(t, func(f testing.TB) {
		servicetest.Undisturbed(f, func() error {
			if calls++; calls == 1 {
				held()
				return wrong
			}
			return nil
		})
	}))
	require.Equal(t, 2, calls)
	require.Equal(t, "wrong", fails(t, func(f testing.TB) { servicetest.Undisturbed(f, func() error { return wrong }) }))
}

func TestAddress(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Setenv("TEMPORAL_ADDRESS", l.Addr().String())
	t.Setenv("DATABASE_URL", "postgres://u:p@"+l.Addr().String()+"/db?sslmode=disable")
	t.Setenv("REDIS_URL", "")
	require.Empty(t, said(t, "TEMPORAL_ADDRESS"))
	require.Empty(t, said(t, "DATABASE_URL"))
	require.Contains(t, said(t, "REDIS_URL"), "REDIS_URL is not set; run: make test")

	require.NoError(t, l.Close())
	got := said(t, "DATABASE_URL")
	require.Contains(t, got, "cannot be reached")
	require.Contains(t, got, "run: make test")
	require.False(t, strings.Contains(got, "u:p"), "the password is shown: %s", got)
}

func TestPatience(t *testing.T) {
	t.Setenv("CONVEYOR_TEST_PATIENCE", "")
	require.Equal(t, 2*time.Minute, servicetest.Patience())
	t.Setenv("CONVEYOR_TEST_PATIENCE", "10m")
	require.Equal(t, 10*time.Minute, servicetest.Patience())
	for _, value := range []string{"2", "soon", "-1s", "0s"} {
		t.Setenv("CONVEYOR_TEST_PATIENCE", value)
		require.Panics(t, func() { servicetest.Patience() }, value)
	}
}

func TestQueues(t *testing.T) {
	got, err := servicetest.Queues("../../domain/contract/queues.go")
	require.NoError(t, err)
	require.Subset(t, got, []string{contract.QueueNormalized, contract.QueueDraftRequested})
	require.NotContains(t, got, contract.SuffixDLQ)
	_, err = servicetest.Queues("patience.go")
	require.ErrorContains(t, err, "declares no queue")
}

func TestSeed(t *testing.T) {
	t.Setenv("CONVEYOR_TEST_SEED", "7")
	if testing.Short() {
		require.Equal(t, servicetest.Seed(t), servicetest.Seed(t))
		return
	}
	require.EqualValues(t, 7, servicetest.Seed(t))
	t.Setenv("CONVEYOR_TEST_SEED", "x")
	require.Contains(t, fails(t, func(f testing.TB) { servicetest.Seed(f) }), "not a number")
	t.Setenv("CONVEYOR_TEST_SEED", "")
	require.NotEqual(t, servicetest.Seed(t), servicetest.Seed(t))
}

func TestCPU(t *testing.T) {
	const work = 50 * time.Millisecond
	spin := func() {
		for began := time.Now(); time.Since(began) < work; {
		}
	}
	require.Positive(t, servicetest.CPU(spin))
	require.Less(t, servicetest.CPU(func() { <-time.After(10 * work) }), 10*work, "waiting is free")
}
