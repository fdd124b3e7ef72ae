package drafts

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestUnlinked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "<": "<", "<lin": "<lin", "<link": "<link", "text": "text",
		`<link rel=preconnect>`:                                   `<wbr  rel=preconnect>`,
		"<LiNk/>":                                                 "<wbr />",
		"<link\nx><link\tx><link\fx><link\rx>":                    "<wbr \nx><wbr \tx><wbr \fx><wbr \rx>",
		"<link><link><<link>":                                     "<wbr ><wbr ><<wbr >",
		"<links><link-x></link>":                                  "<links><link-x></link>",
		"<svg><title><link rel=dns-prefetch>":                     "<svg><title><wbr  rel=dns-prefetch>",
		"<lin\u212a ><\u017frcdoc>":                               "<lin\u212a ><\u017frcdoc>", // no letters of HTML's names
		`<iframe srcdoc="&lt;link rel=preconnect&gt;">`:           `<iframe srcnot="&lt;link rel=preconnect&gt;">`,
		"<iframe SRCDOC = '&lt;iframe srcDoc=&amp;lt;link &gt;'>": "<iframe srcnot = '&lt;iframe srcnot=&amp;lt;link &gt;'>",
		"<noscript><link ></noscript>":                            "<noscript><wbr  ></noscript>",
		strings.Repeat("é<link>", 20_000) + "<":                   strings.Repeat("é<wbr >", 20_000) + "<",
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader,
			"data with the end": iotest.DataErrReader,
		} {
			source := bytes.NewReader([]byte(in))
			u := &unlinked{page: struct {
				io.Reader
				io.Seeker
			}{wrap(source), source}}
			got, err := io.ReadAll(u)
			require.NoError(t, err)
			require.Equal(t, want, string(got), name)
		}
	}
	u := &unlinked{page: strings.NewReader("<link>")}
	for range 2 {
		size, err := u.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		require.EqualValues(t, 6, size)
		_, err = u.Seek(0, io.SeekStart)
		require.NoError(t, err)
		got, err := io.ReadAll(u)
		require.NoError(t, err)
		require.Equal(t, "<wbr >", string(got))
	}
	_, err := u.Seek(3, io.SeekStart)
	require.Error(t, err)
	broken := &unlinked{page: struct {
		io.Reader
		io.Seeker
	}{iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))), nil}}
	got, err := io.ReadAll(broken)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.Equal(t, "a", string(got))
}
