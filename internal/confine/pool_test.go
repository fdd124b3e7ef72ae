package confine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/demosite"
)

func TestMain(m *testing.M) {
	confine.Child()
	if len(os.Args) == 3 && os.Args[1] == "alone" {
		os.Exit(alone(os.Args[2]))
	}
	os.Exit(m.Run())
}

func pool(t testing.TB, o confine.Options) *confine.Pool {
	t.Helper()
	p := confine.New(o)
	t.Cleanup(p.Close)
	return p
}

func requireClass(t *testing.T, want fault.Class, err error, text string) {
	t.Helper()
	require.Equal(t, want, fault.ClassOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}

// A child that breaks its bounds ends its job, and the next job does not notice.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		job    string
		memory int64
		class  fault.Class
		text   string
	}{
		{"spin", 64 << 20, fault.Invalid, "more than 1s of CPU time"},
		{"eat", 64 << 20, fault.Invalid, "more than 64 MiB of memory"},
		{"deep", 512 << 20, fault.Invalid, "too deep"},
		{"panic", 64 << 20, fault.Invalid, "the parser panicked: oops"},
		{"fault", 64 << 20, fault.Gone, "it is gone"},
		{"no such job", 64 << 20, fault.Invalid, "no such job"},
		{"exit", 64 << 20, fault.Transient, "exit status 3"},
	} {
		t.Run(tt.job, func(t *testing.T) {
			t.Parallel()
			p := pool(t, confine.Options{Children: 1, CPU: time.Second, Memory: tt.memory, Wall: 10 * time.Minute})
			_, err := p.Do(t.Context(), tt.job, nil)
			requireClass(t, tt.class, err, tt.text)
			out, err := p.Do(t.Context(), "echo", []byte("next"))
			require.NoError(t, err)
			require.Equal(t, "next", out)
		})
	}
}

// A machine that is too busy to read a page says nothing of the page.
func TestWall(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{Wall: 200 * time.Millisecond})
	_, err := p.Do(t.Context(), "wait", nil)
	requireClass(t, fault.Transient, err, "longer than 200ms")
	require.Empty(t, p.Processes())
}

// When the caller's time is over, the child is killed and the caller has its slot back at once.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{Children: 1})
	for _, job := range []string{"spin", "wait"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := p.Do(ctx, job, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(began), servicetest.Patience())
		require.Empty(t, p.Processes(), "the child is gone")
	}
}

// While all children are busy, a job waits, and costs its item nothing when there is no time left.
func TestBusy(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{Children: 1})
	busy, free := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := p.Do(busy, "wait", nil); done <- err }()
	require.Eventually(t, func() bool { return len(p.Processes()) == 1 }, servicetest.Patience(), time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Do(ctx, "echo", nil)
	requireClass(t, fault.Limited, err, "wait for a process")
	free()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err = p.Do(t.Context(), "echo", nil)
	require.NoError(t, err)
}

// Closing ends jobs under way and leaves no process.
func TestClose(t *testing.T) {
	t.Parallel()
	p := confine.New(confine.Options{})
	_, err := p.Do(t.Context(), "echo", nil)
	require.NoError(t, err)
	done := make(chan error)
	go func() { _, err := p.Do(t.Context(), "wait", nil); done <- err }()
	go func() { _, err := p.Do(t.Context(), "wait", nil); done <- err }()
	require.Eventually(t, func() bool { return len(p.Processes()) == 2 }, servicetest.Patience(), time.Millisecond)
	pids := p.Processes()
	closed := make(chan struct{})
	go func() { defer close(closed); p.Close() }()
	require.Error(t, <-done)
	require.Error(t, <-done)
	<-closed
	for _, pid := range pids {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, err = p.Do(t.Context(), "echo", nil)
	requireClass(t, fault.Limited, err, "start a process to read in") // it was not read, which is no fault of it
}

// A child has no secrets, and no way to the files and the network.
func TestPowers(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://me:hunter2@db/conveyor")
	out, err := pool(t, confine.Options{}).Do(t.Context(), "powers", nil)
	require.NoError(t, err)
	var got struct {
		File, Socket bool
		Environment  []string
		PID          int
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.True(t, got.File, "it opens files")
	require.True(t, got.Socket, "it opens sockets")
	require.Empty(t, got.Environment)
	require.NotEqual(t, os.Getpid(), got.PID)
}

// A child lives for many jobs, and not for ever.
func TestRecycled(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{Children: 1})
	_, err := p.Do(t.Context(), "echo", bytes.Repeat([]byte("x"), 10<<20))
	require.NoError(t, err)
	first := p.Processes()
	for range 20 {
		_, err := p.Do(t.Context(), "echo", nil)
		require.NoError(t, err)
	}
	require.Equal(t, first, p.Processes(), "one child does them all")
	_, err = p.Do(t.Context(), "grow", nil)
	require.NoError(t, err)
	require.Empty(t, p.Processes(), "one that has grown is not kept")
}

// Children that the kernel ended while they were idle cost the next job nothing. A job that ends its child is done
// twice at most.
func TestIdleChildrenDie(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{Children: 2})
	for len(p.Processes()) < 2 {
		var naps sync.WaitGroup
		for range 2 {
			naps.Go(func() { _, err := p.Do(t.Context(), "nap", nil); require.NoError(t, err) })
		}
		naps.Wait()
	}
	for _, pid := range p.Processes() {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, func() bool { dead, _ := confine.Lingered(t, pid); return dead }, servicetest.Patience(),
			time.Millisecond)
	}
	out, err := p.Do(t.Context(), "echo", bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.Len(t, out, 1<<20)
	require.Len(t, p.Processes(), 1)
	_, err = p.Do(t.Context(), "kill", nil)
	requireClass(t, fault.Transient, err, "signal: killed")
	require.Empty(t, p.Processes())
}

// The CPU time that a child takes between two jobs, as for memory that it gives back, is that of neither.
func TestIdleChildWorks(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{Children: 1, CPU: time.Second})
	_, err := p.Do(t.Context(), "linger", nil)
	require.NoError(t, err)
	first := p.Processes()
	require.Eventually(t, func() bool {
		dead, lingered := confine.Lingered(t, first[0])
		return dead || lingered
	}, servicetest.Patience(), 10*time.Millisecond)
	out, err := p.Do(t.Context(), "echo", []byte("next"))
	require.NoError(t, err)
	require.Equal(t, "next", out)
	require.Equal(t, first, p.Processes())
}

// The errors of readers keep their text, their class and what they are.
func TestErrors(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{})
	_, err := p.ReadSearch(t.Context(), "kijiji", web.Page{Asked: "https://k.example/x", Status: 429, RetryAfter: time.Hour})
	class, after := fault.Of(err)
	require.Equal(t, fault.Throttled, class)
	require.Equal(t, time.Hour, after)
	require.Equal(t, "429", web.RefusalOf(err).Reason)
	require.EqualError(t, err, "the site refuses: 429")

	_, err = p.ReadAdvert(t.Context(), "kijiji", web.Page{Status: 200, Body: []byte("<p>Hello</p>")})
	var shape *web.ShapeError
	require.True(t, errors.As(err, &shape))
	requireClass(t, fault.Invalid, err, "page not recognized: neither __NEXT_DATA__")

	_, err = p.ReadAdvert(t.Context(), "nowhere", web.Page{})
	requireClass(t, fault.Invalid, err, `no reader for "nowhere"`)
}

func TestJobs(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{})
	page := []byte(`<title>Kettle</title><link rel=canonical href=/kettle><h1>Kettle</h1><b class=price>$25.00</b><button>Add to cart</button>`)
	got, err := p.Extract(t.Context(), page, "https://s.example/k")
	require.NoError(t, err)
	want, err := draft.Read(page, "https://s.example/k")
	require.NoError(t, err)
	require.True(t, got.Product)
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	require.JSONEq(t, string(a), string(b))

	address, err := p.Canonical(t.Context(), page)
	require.NoError(t, err)
	require.Equal(t, "/kettle", address)

	data := demosite.Photo("1", 1)
	photo, err := p.Picture(t.Context(), data)
	require.NoError(t, err)
	require.Equal(t, data, photo.Data)
	require.Equal(t, []any{"image/jpeg", "jpg", 800, 600}, []any{photo.ContentType, photo.Ext, photo.Width, photo.Height})
	require.NotEmpty(t, photo.Thumbnail)
	photo, err = p.Picture(t.Context(), append(bytes.Clone(data), "what follows"...))
	require.NoError(t, err)
	require.Equal(t, data, photo.Data, "metadata is taken off")
	_, err = p.Picture(t.Context(), []byte("<html>"))
	requireClass(t, fault.Invalid, err, "it is text/html")
}

// What a page has that no store takes is left out, and costs no advert.
func TestUnstorable(t *testing.T) {
	t.Parallel()
	p := pool(t, confine.Options{})
	const address = "https://www.kijiji.ca/v-apartments-condos/city-of-montreal/4-1-2/1000000001"
	page := `<html><script type="application/ld+json">{"@type": "Apartment", "name": "\u00004 1/2", "url": "` + address + `",
		"description": "a\u0000b\\u0000c\\\u0000", "geo": {"latitude": "NaN", "longitude": "NaN"}}</script><p>Grand logement</p></html>`
	got, err := p.ReadAdvert(t.Context(), "kijiji", web.Page{Asked: address, URL: address, Status: 200, Body: []byte(page)})
	require.NoError(t, err)
	require.Equal(t, []string{"4 1/2", `ab\u0000c` + `\`}, []string{got.Title, got.Description})
	require.Nil(t, got.Latitude)

	_, err = p.Do(t.Context(), "nan", nil)
	requireClass(t, fault.Invalid, err, "write result: json: unsupported value: NaN")
}

// Pages that the parser of HTML makes gigabytes of.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	formats := func(n int, name string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("<" + name + " id=" + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ">")
		}
		return b.String()
	}
	p := pool(t, confine.Options{Memory: 128 << 20, Wall: 10 * time.Minute})
	for name, page := range map[string]string{
		"formatting elements": "<p>" + formats(400, "b") + "x" + strings.Repeat("<p>x", 100_000),
		"scripted nesting":    "<h1>Lamp</h1><p>" + formats(300, "i") + strings.Repeat("<div>x</div>", 100_000),
	} {
		_, err := p.Extract(t.Context(), []byte(page), "https://s.example/k")
		requireClass(t, fault.Invalid, err, "reading it takes more than")
		_, err = p.ReadSearch(t.Context(), "kijiji", web.Page{Status: 200, Body: []byte(page + "</html>")})
		requireClass(t, fault.Invalid, err, "reading it takes more than")
		t.Log(name, err)
	}
}
