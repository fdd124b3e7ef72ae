package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	apisearch "github.com/mtlrent/conveyor/api/search"
)

// A read of what is never written ends with its context, and what comes is passed on as it is.
func TestUntil(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 1000)
	require.NoError(t, iotest.TestReader(Until(t.Context(), strings.NewReader(text)), []byte(text)))
	ctx, stop := context.WithCancelCause(t.Context())
	_, err := io.ReadAll(Until(ctx, silent(t, func() { stop(io.ErrClosedPipe) })))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// silent is an input that stops the command which reads it, as Ctrl-C does, and has nothing while the test runs.
func silent(t *testing.T, stop func()) io.Reader {
	t.Helper()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return readerFunc(func([]byte) (int, error) {
		stop()
		<-over
		return 0, io.EOF
	})
}

// The first Ctrl-C ends a command that waits for standard input, and nothing is done.
func TestStoppedAtItsInput(t *testing.T) {
	t.Parallel()
	proxy := "-"
	for name, tt := range map[string]struct {
		do   func(ctx context.Context, r Client, in io.Reader, out io.Writer) error
		want string
	}{
		"forget":        {(&ForgetCmd{What: "listing/kijiji/1"}).run, "nothing was deleted"},
		"tenants erase": {(&tenantsEraseCmd{ID: "acme"}).run, "nothing was deleted"},
		"search delete": {(&searchDeleteCmd{Site: "a.example"}).run, "nothing was deleted"},
		"draft --file":  {(&draftRequestCmd{File: "-"}).runFile, "read URLs: context canceled"},
		"platforms set": {func(ctx context.Context, _ Client, in io.Reader, _ io.Writer) error {
			return (&routeFlags{Proxy: &proxy}).read(ctx, in)
		}, "read the proxy: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var asked []string
			url := serve(t, func(ask string) any {
				asked = append(asked, ask)
				return apisearch.PagesDeleted{Pages: 3}
			})
			var out strings.Builder
			require.EqualError(t, tt.do(ctx, Client{URL: url}, silent(t, stop), &out), tt.want)
			require.LessOrEqual(t, len(asked), 1, "it is asked what there is")
			require.True(t, out.Len() == 0 || strings.HasSuffix(out.String(), "\n"), out.String())
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := readSecret(ctx, "-")
	require.EqualError(t, err, "read token: context canceled")
	require.EqualError(t, readJSON(ctx, "-", &struct{}{}), "read -: context canceled")
}
