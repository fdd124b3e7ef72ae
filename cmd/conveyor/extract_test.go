package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/confine"
)

func TestExtract(t *testing.T) {
	t.Parallel()
	const page = `<link rel="canonical" href="https://s.example/kettle"><h1>Kettle</h1><b class=price>$25.00</b>
		<img width=400 src="/k.jpg"><button>Add to cart</button>`
	var out bytes.Buffer
	c := extractCmd{File: "-"}
	require.NoError(t, c.run(t.Context(), strings.NewReader(page), &out, inChild(t)))
	require.Contains(t, out.String(), `"value": "Kettle"`)
	require.Contains(t, out.String(), `"final_url": "https://s.example/kettle"`)
}

// A signal ends the command while it waits for its input.
func TestExtractStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	silent, input := io.Pipe()
	t.Cleanup(func() { _ = input.Close() })
	cancel()
	c := extractCmd{File: "-"}
	var code cli.ExitError
	require.ErrorAs(t, c.run(ctx, silent, io.Discard, inChild(t)), &code)
}

// inChild has pages read by a child: this process is not to lose its powers.
func inChild(t *testing.T) func() (productReader, error) {
	t.Helper()
	p := confine.New(confine.Options{})
	t.Cleanup(p.Close)
	return func() (productReader, error) { return p, nil }
}

// The command as a user runs it: the page is read by the process that was started, and there is no other. What it found
// goes to a pipe, or to a file.
func TestExtractAlone(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(`<link rel="canonical" href="https://s.example/kettle"><h1>Kettle</h1>
		<b class=price>$25.00</b><button>Add to cart</button>`), 0o600))
	for _, address := range [][]string{nil, {"--url", "https://s.example/kettle"}} {
		c := exec.CommandContext(t.Context(), program, append([]string{"extract", file}, address...)...)
		out, err := c.Output()
		require.NoError(t, err)
		require.Contains(t, string(out), `"final_url": "https://s.example/kettle"`)
		require.Contains(t, string(out), `"value": "25.00"`)
	}
	saved, err := os.Create(filepath.Join(t.TempDir(), "page.json"))
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), program, "extract", file)
	c.Stdout, c.Stderr = saved, saved
	require.NoError(t, c.Run())
	require.NoError(t, saved.Close())
	out, err := os.ReadFile(saved.Name())
	require.NoError(t, err)
	require.Contains(t, string(out), `"final_url": "https://s.example/kettle"`)
	said, err := exec.CommandContext(t.Context(), program, "extract", file+".gone").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(said), "conveyor: read page: ")
}

func TestErrorsArePlain(t *testing.T) {
	t.Parallel()
	require.Equal(t, "read  31m page\n  as y", plain(errors.New("read \u009b31m page\n  as\u202ey")))
}
