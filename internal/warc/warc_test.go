package warc_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nlnwa/gowarc/v2"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/warc"
)

var at = time.Date(2026, 11, 22, 10, 30, 0, 123456789, time.UTC)

func answer() warc.Response {
	return warc.Response{
		RunID: 7, URLID: 12, URL: "https://example.com/a?b=%C3%A9|c", At: at, Proto: "HTTP/2.0", Status: 200,
		Header: http.Header{
			"Content-Type": {"text/html; charset=utf-8"}, "Set-Cookie": {"a=1", "b=2"}, "Content-Encoding": {"br"},
			"Content-Length": {"17"}, "Transfer-Encoding": {"chunked"}, "Etag": {`"x"`},
		},
		Body: []byte("<html>\r\n\r\nWARC/1.1\r\n\x00\xff"),
	}
}

// An export, read back by the reader of gowarc under strict validation, and by net/http and net/textproto alone.
func TestExport(t *testing.T) {
	t.Parallel()

	plain := answer()
	plain.URLID, plain.Proto, plain.Status, plain.Header, plain.Body = 13, "", 404, nil, nil
	large := answer()
	large.URLID, large.Truncated, large.Body = 14, true, bytes.Repeat([]byte("<p>many</p>\n"), 1<<18)
	answers := []warc.Response{answer(), plain, large}
	file := warc.Info("conveyor 0.9", 7, at)
	for _, a := range answers {
		r, err := warc.Record(a)
		require.NoError(t, err)
		file = append(file, r...)
	}
	path := filepath.Join(t.TempDir(), "run.warc.gz")
	require.NoError(t, os.WriteFile(path, file, 0o600))

	t.Run("by gowarc", func(t *testing.T) {
		t.Parallel()

		r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation())
		require.NoError(t, err)
		defer r.Close()
		info, _, valid, err := r.Next()
		require.NoError(t, err)
		require.True(t, valid.Valid(), valid)
		require.Equal(t, gowarc.Warcinfo, info.Type())
		fields, ok := info.Block().(gowarc.WarcFieldsBlock)
		require.True(t, ok)
		require.Equal(t, "conveyor 0.9", fields.WarcFields().Get("software"))
		for _, a := range answers {
			record, _, valid, err := r.Next()
			require.NoError(t, err)
			require.True(t, valid.Valid(), valid)
			require.Equal(t, gowarc.Response, record.Type())
			require.Equal(t, a.URL, record.WarcHeader().Get(gowarc.WarcTargetURI))
			when, err := record.Date()
			require.NoError(t, err)
			require.Equal(t, at.Truncate(time.Microsecond), when)
			require.NoError(t, record.ValidateDigest(valid))
			require.True(t, valid.Valid(), valid)
			block, ok := record.Block().(gowarc.HttpResponseBlock)
			require.True(t, ok)
			require.Equal(t, a.Status, block.HttpStatusCode())
			body, err := block.PayloadBytes()
			require.NoError(t, err)
			got, err := io.ReadAll(body)
			require.NoError(t, err)
			require.True(t, bytes.Equal(a.Body, got))
		}
		_, _, _, err = r.Next()
		require.ErrorIs(t, err, io.EOF)
	})

	t.Run("by the standard library", func(t *testing.T) {
		t.Parallel()

		in := bufio.NewReader(bytes.NewReader(file))
		_, _ = member(t, in)
		for _, a := range answers {
			header, block := member(t, in)
			require.Equal(t, "response", header.Get("WARC-Type"))
			require.Equal(t, a.URL, header.Get("WARC-Target-URI"))
			require.Equal(t, "application/http;msgtype=response", header.Get("Content-Type"))
			sum := sha256.Sum256(a.Body)
			require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), header.Get("WARC-Payload-Digest"))
			response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(block)), nil)
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, a.Status, response.StatusCode)
			require.EqualValues(t, len(a.Body), response.ContentLength)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.True(t, bytes.Equal(a.Body, body))
			for name, values := range a.Header {
				if n := "X-Archive-Orig-" + name; response.Header.Values(n) != nil {
					name = n
				}
				require.Equal(t, values, response.Header.Values(name), name)
			}
			require.Empty(t, response.TransferEncoding)
			require.Empty(t, response.Header.Get("Content-Encoding"))
		}
		_, err := in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	})
}

// member reads one gzip member, which must be one record.
func member(t *testing.T, in *bufio.Reader) (textproto.MIMEHeader, []byte) {
	t.Helper()

	zip, err := gzip.NewReader(in)
	require.NoError(t, err)
	zip.Multistream(false)
	all, err := io.ReadAll(zip)
	require.NoError(t, err)
	record := bufio.NewReader(bytes.NewReader(all))
	version, err := record.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "WARC/1.1\r\n", version)
	header, err := textproto.NewReader(record).ReadMIMEHeader()
	require.NoError(t, err)
	length, err := strconv.Atoi(header.Get("Content-Length"))
	require.NoError(t, err)
	block := make([]byte, length)
	_, err = io.ReadFull(record, block)
	require.NoError(t, err)
	end, err := io.ReadAll(record)
	require.NoError(t, err)
	require.Equal(t, "\r\n\r\n", string(end))
	return header, block
}

// Storing an answer twice is storing it once: its key is the hash of its bytes.
func TestRecordIsDeterministic(t *testing.T) {
	t.Parallel()

	first, err := warc.Record(answer())
	require.NoError(t, err)
	again, err := warc.Record(answer())
	require.NoError(t, err)
	require.Equal(t, first, again)

	header := func(r warc.Response) textproto.MIMEHeader {
		b, err := warc.Record(r)
		require.NoError(t, err)
		h, _ := member(t, bufio.NewReader(bytes.NewReader(b)))
		return h
	}
	later, other := answer(), answer()
	later.At, other.URLID = at.Add(time.Hour), 13
	id := header(answer()).Get("WARC-Record-ID")
	require.Regexp(t, `^<urn:uuid:[0-9a-f-]{36}>$`, id)
	require.Equal(t, id, header(later).Get("WARC-Record-ID"))
	require.NotEqual(t, id, header(other).Get("WARC-Record-ID"))
	require.Equal(t, "h2", header(answer()).Get("WARC-Protocol"))
	require.Empty(t, header(answer()).Get("WARC-Truncated"))
	part := answer()
	part.Truncated = true
	require.Equal(t, "length", header(part).Get("WARC-Truncated"))
}

// A site's header is stored whatever is in it, and ends nothing early.
func TestRecordOfOddAnswers(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*warc.Response){
		"line breaks in a value":  func(r *warc.Response) { r.Header.Set("X-A", "b\r\n\r\n<html>") },
		"a name that is no token": func(r *warc.Response) { r.Header["Bad Name\r\n"] = []string{"x"} },
		"bytes that are not text": func(r *warc.Response) { r.Header.Set("X-A", "\xff\xfe") },
		"an unknown status":       func(r *warc.Response) { r.Status = 999 },
		"two lengths":             func(r *warc.Response) { r.Header["Content-Length"] = []string{"1", "2"} },
		"an unusual version":      func(r *warc.Response) { r.Proto = "HTTP/1.0" },
		"5,000 headers": func(r *warc.Response) {
			for n := range 5000 {
				r.Header.Set(fmt.Sprint("X-", n), strings.Repeat("v", 20))
			}
		},
		"a folded body":      func(r *warc.Response) { r.Body = []byte("\r\n\r\n\r\nWARC/1.0\r\n") },
		"an address of 4 KB": func(r *warc.Response) { r.URL = "https://example.com/" + strings.Repeat("a", 4000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := answer()
			change(&r)
			record, err := warc.Record(r)
			require.NoError(t, err)
			_, block := member(t, bufio.NewReader(bytes.NewReader(record)))
			response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(block)), nil)
			require.NoError(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, r.Body, body)
		})
	}
	r := answer()
	r.URL = "https://example.com/\r\nWARC-Type: warcinfo"
	_, err := warc.Record(r)
	require.Error(t, err)
	require.False(t, errors.Is(err, io.EOF))
}

func BenchmarkRecord(b *testing.B) {
	r := answer()
	r.Body = bytes.Repeat([]byte(`<p class="a">some <a href="/b">text</a></p>`+"\n"), 700) // 30 kB
	b.ReportAllocs()
	b.SetBytes(int64(len(r.Body)))
	for b.Loop() {
		if _, err := warc.Record(r); err != nil {
			b.Fatal(err)
		}
	}
}
