package confine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/confine"
)

// alone is what this program does when it is started to do one job alone: it prints the result.
func alone(job string) int {
	a, err := confine.Here(confine.Options{Memory: 64 << 20, CPU: time.Second, Wall: 10 * time.Minute})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	out, err := a.Do(context.Background(), job)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	fmt.Print(out)
	return 0
}

// A process that has bounded itself ends by its own hand beyond its bounds, and can do no more than a child.
func TestAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		job  string
		code int
		text string
	}{
		{"spin", 1, "reading it takes more than 1s of CPU time"},
		{"eat", 1, "reading it takes more than 64 MiB of memory"},
		{"panic", 4, "the parser panicked: oops"},
		{"fault", 4, "it is gone"},
	} {
		t.Run(tt.job, func(t *testing.T) {
			t.Parallel()
			_, said, err := runAlone(t, tt.job)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, tt.code, exit.ExitCode(), said)
			require.Contains(t, said, tt.text)
		})
	}
	out, said, err := runAlone(t, "powers")
	require.NoError(t, err, said)
	var got struct{ File, Socket bool }
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.True(t, got.File, "it opens files")
	require.True(t, got.Socket, "it opens sockets")
}

func runAlone(t *testing.T, job string) (out, said string, err error) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), program, "alone", job)
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

// When the caller's time is over, it need not wait for the page.
func TestAloneEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	cancel(ended)
	_, err := confine.Unbound().Do(ctx, "wait")
	require.ErrorIs(t, err, ended)
}
