package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/cli"
)

func TestExtract(t *testing.T) {
	t.Parallel()
	const page = `<link rel="canonical" href="https://s.example/kettle"><h1>Kettle</h1><b class=price>$25.00</b>
		<img width=400 src="/k.jpg"><button>Add to cart</button>`
	var out bytes.Buffer
	c := extractCmd{File: "-"}
	require.NoError(t, c.run(t.Context(), strings.NewReader(page), &out))
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
	require.ErrorAs(t, c.run(ctx, silent, io.Discard), &code)
}

func TestErrorsArePlain(t *testing.T) {
	t.Parallel()
	require.Equal(t, "read  31m page\n  as y", plain(errors.New("read \u009b31m page\n  as\u202ey")))
}
