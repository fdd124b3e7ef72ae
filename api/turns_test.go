package api

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A name has no more than its share, and what waits gets a turn as soon as there is one.
func TestTurns(t *testing.T) {
	t.Parallel()
	turns := NewTurns(3, 2)
	leave, ok := turns.Take("a")
	require.True(t, ok)
	_, ok = turns.Take("a")
	require.True(t, ok)
	_, ok = turns.Take("a")
	require.False(t, ok, "its share")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, ok = turns.Wait(over, "a")
	require.False(t, ok)
	other, ok := turns.Wait(over, "b")
	require.True(t, ok)
	_, ok = turns.Take("c")
	require.False(t, ok, "all")
	got := make(chan bool)
	for range 2 {
		go func() {
			leave, ok := turns.Wait(t.Context(), "a")
			if ok {
				leave()
			}
			got <- ok
		}()
	}
	other()
	leave()
	require.True(t, <-got)
	require.True(t, <-got)
}

// What waits gets its turn in the order in which it came, and holds up nothing of another name.
func TestTurnsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2, 1)
		leave, ok := turns.Take("a")
		require.True(t, ok)
		got := make(chan int, 10)
		for i := range cap(got) {
			go func() {
				leave, ok := turns.Wait(t.Context(), "a")
				if ok {
					got <- i
					leave()
				}
			}()
			synctest.Wait()
		}
		other, ok := turns.Wait(t.Context(), "b")
		require.True(t, ok)
		other()
		leave()
		for i := range cap(got) {
			require.Equal(t, i, <-got)
		}
		synctest.Wait()
		require.Empty(t, turns.of)
		require.Empty(t, turns.queue)
	})
}

// A turn that rests is not given to its name, and to others at once.
func TestTurnsRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2, 1)
		leave, ok := turns.Take("a")
		require.True(t, ok)
		require.False(t, turns.awaited("a"))
		began, got := time.Now(), make(chan time.Duration)
		go func() {
			leave, ok := turns.Wait(t.Context(), "a")
			if ok {
				got <- time.Since(began)
				leave()
			}
			close(got)
		}()
		synctest.Wait()
		require.True(t, turns.awaited("a"))
		require.False(t, turns.awaited("b"))
		turns.rest("a", 3*time.Second)
		leave()
		other, ok := turns.Take("b")
		require.True(t, ok)
		require.Equal(t, 1, turns.all, "what rests is no turn of all")
		all, own := turns.taken("a")
		require.Equal(t, 2, all)
		require.Equal(t, 1, own)
		other()
		require.Equal(t, 3*time.Second, <-got)
		<-got
		require.False(t, turns.awaited("a"))
		require.Empty(t, turns.of)
	})
}

// An answer whose turn others wait for pauses for as long as it works, or some times as long, until half of its time is
// over, and any other one does not.
func TestSpells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rests := 1.0
		turn := context.WithValue(t.Context(), restsKey{}, func() float64 { return rests })
		s := spellOf(turn)
		took := func(work time.Duration) time.Duration {
			time.Sleep(work) // of the bubble
			began := time.Now()
			s.pause(t.Context())
			return time.Since(began)
		}
		require.Equal(t, 7*time.Millisecond, took(7*time.Millisecond))
		require.Equal(t, 5*time.Millisecond, took(5*time.Millisecond))
		require.Equal(t, pauseMost, took(time.Hour))
		rests = 4
		require.Equal(t, 28*time.Millisecond, took(7*time.Millisecond))
		require.Equal(t, pauseMost, took(90*time.Millisecond))
		rests = 0
		require.Zero(t, took(7*time.Millisecond))
		s = spellOf(t.Context())
		require.Zero(t, took(7*time.Millisecond))
		rests = 1
		ends, cancel := context.WithTimeout(turn, time.Hour)
		defer cancel()
		s = spellOf(ends)
		require.Equal(t, pauseMost, took(29*time.Minute))
		require.Zero(t, took(2*time.Minute), "the other half is for its own work")
	})
}

// Turns that others wait for work on a quarter of the cores together, however many lanes they are of.
func TestTurnsShareCores(t *testing.T) {
	t.Parallel()
	for _, cores := range []int{1, 2, 4, 16, 64} {
		for taken := 1; taken < 40; taken++ {
			each := 1 / (1 + restsOf(taken, cores)) // of the time
			require.LessOrEqual(t, each, 0.25)
			require.LessOrEqual(t, float64(taken)*each, max(0.25, float64(cores)/4)+1e-9, "%d turns on %d cores", taken, cores)
		}
	}
	lanes := newLanes(0, nil)
	of := lanes.of
	require.Zero(t, lanes.rests(exports, "a"))
	waiting, stop := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	var leave []func()
	for _, l := range []*lane{exports, people, people, trials} {
		f, ok := of[l].Take("a")
		require.True(t, ok)
		leave = append(leave, f)
	}
	require.Zero(t, lanes.rests(exports, "a"), "none waits")
	waits.Go(func() { of[exports].Wait(waiting, "a") })
	require.Eventually(t, func() bool { return lanes.rests(exports, "a") > 0 }, servicetest.Patience(), time.Millisecond)
	require.InDelta(t, restsOf(4, runtime.GOMAXPROCS(0)), lanes.rests(exports, "a"), 1e-9)
	lanes.short = func() bool { return true }
	require.InDelta(t, max(4*shareShort-1, restsOf(4, runtime.GOMAXPROCS(0))), lanes.rests(exports, "a"), 1e-9)
	require.Zero(t, lanes.rests(people, "a"), "none waits in this lane")
	require.Zero(t, lanes.rests(exports, "b"))
	stop()
	waits.Wait()
	for _, f := range leave {
		f()
	}
}

// A turn is given back when its answer is over, also one that ends in a panic, or is a fault.
func TestHeavyTurnsAreGivenBack(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	r, log := gin.New(), slog.New(slog.DiscardHandler)
	r.Use(recovered(log))
	d := &Door{Options: Options{Log: log}, API: humagin.New(r, huma.DefaultConfig("", "")), lanes: newLanes(0, nil)}
	at := func(id string) huma.Operation {
		return Needs(access.Read, huma.Operation{OperationID: id, Method: http.MethodGet, Path: "/" + id})
	}
	busy := func(l *lane) int { return d.lanes.of[l].all }
	type none struct{}
	during := map[string]int{} // turns taken while an answer is made
	Serve(d, at("try-search"), func(context.Context, *none) (*none, error) {
		during["panic"] = busy(trials)
		panic("oops")
	})
	Serve(d, at("count-contacts"), func(context.Context, *none) (*none, error) {
		during["fault"] = busy(people)
		return nil, errors.New("away")
	})
	Stream(d, at("export-contacts"), func(context.Context, *none) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(huma.Context) {
			during["written"] = busy(exports)
			panic("oops")
		}}, nil
	})
	Stream(d, at("get-crawl-lineage"), func(context.Context, *none) (*huma.StreamResponse, error) {
		during["read"] = busy(crawled)
		return &huma.StreamResponse{Body: func(huma.Context) { during["sent"] = busy(crawled) }}, nil
	})
	for _, id := range []string{"try-search", "count-contacts", "export-contacts", "get-crawl-lineage"} {
		for range 10 {
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+id, nil))
			require.NotEqual(t, http.StatusTooManyRequests, w.Code, id)
		}
	}
	require.Equal(t, map[string]int{"panic": 1, "fault": 1, "written": 1, "read": 1, "sent": 0}, during)
	for _, l := range lanes {
		require.Zero(t, busy(l), l.of)
	}
	require.Zero(t, d.lanes.all.all)
	require.Zero(t, d.lanes.long.all)
}

// The turns are in proportion to the connections, within bounds, and a quarter of them is left however few there are.
func TestTurnsByConnections(t *testing.T) {
	t.Parallel()
	type most struct{ trials, people, previews, crawled, exports, rents, ranked, sought, all, tenants, long int }
	usual := most{2, 5, 2, 3, 6, 3, 2, 6, 18, 14, 13}
	for connections, want := range map[int]most{
		0:    usual,
		24:   usual,
		1:    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		4:    {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 2},
		12:   {1, 2, 1, 1, 3, 1, 1, 3, 9, 7, 6},
		36:   {3, 7, 2, 4, 9, 4, 3, 9, 27, 21, 20},
		1000: {4, 10, 2, 6, 12, 6, 4, 12, 36, 27, 26},
	} {
		l := newLanes(connections, nil)
		require.Len(t, l.of, len(lanes))
		require.Equal(t, want, most{
			l.of[trials].most, l.of[people].most, l.of[previews].most, l.of[crawled].most, l.of[exports].most,
			l.of[rents].most, l.of[ranked].most, l.of[sought].most, l.all.most, l.tenants.most, l.long.most,
		}, connections)
		for _, of := range []*lane{ranked, sought} { // the visitors of a site ask with one key
			require.GreaterOrEqual(t, l.of[of].share, l.of[of].most, "%s of one caller of %d connections", of.of, connections)
		}
	}
	few := newLanes(4, nil)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var leave []func()
	for n, l := range lanes {
		left, ok := few.take(over, l, "acme")
		require.Equal(t, n < 3, ok, "of four connections one is left")
		if ok {
			leave = append(leave, left)
		} else {
			require.Zero(t, few.of[l].all, "the turn that was of no use is given back")
		}
	}
	for _, f := range leave {
		f()
	}
	require.Zero(t, few.all.all)
	last, ok := few.take(over, exports, "acme")
	require.True(t, ok)
	last()
	require.Zero(t, few.long.all)
}

// What takes an hour leaves a turn to what takes seconds, where there are two.
func TestLongTurnsLeaveOne(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for connections := 3; connections < 9; connections++ {
		of := newLanes(connections, nil)
		n := 0
		for _, l := range []*lane{exports, crawled} {
			for who := range 9 {
				if _, ok := of.take(over, l, strconv.Itoa(who)); ok {
					n++
				}
			}
		}
		require.Positive(t, n)
		require.Less(t, n, of.all.most)
		require.Equal(t, n, of.of[exports].all+of.of[crawled].all, "a turn that was of no use is given back")
		for range 2 {
			leave, ok := of.take(over, people, "acme")
			require.True(t, ok, "%d connections", connections)
			leave()
		}
	}
}

// Whatever tenants do at once, the visitors of a public site find turns; and those never rest that take milliseconds.
func TestTurnsOfPublicSites(t *testing.T) {
	t.Parallel()
	of := newLanes(0, func() bool { return true })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	taken := 0
	for _, l := range lanes {
		for who := range 9 {
			if !l.site {
				if _, ok := of.take(over, l, strconv.Itoa(who)); ok {
					taken++
				}
			}
		}
	}
	require.Equal(t, of.tenants.most, taken)
	for range of.all.most - taken {
		_, ok := of.take(over, sought, "site")
		require.True(t, ok)
	}
	waiting, stop := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	for l, rests := range map[*lane]bool{ranked: true, sought: false} {
		for ok := true; ok; {
			_, ok = of.of[l].Take("site")
		}
		waits.Go(func() { of.of[l].Wait(waiting, "site") })
		require.Eventually(t, func() bool { return of.of[l].awaited("site") }, servicetest.Patience(), time.Millisecond)
		require.Equal(t, rests, of.rests(l, "site") > 0, l.of)
	}
	stop()
	waits.Wait()
}

// An answer with more rows than it may have ends by an error.
func TestBoundedRows(t *testing.T) {
	t.Parallel()
	var rows iter.Seq2[int, error] = func(yield func(int, error) bool) {
		for n := 0; yield(n, nil); n++ {
		}
	}
	var got []int
	var last error
	for n, err := range Bounded(rows, 3) {
		if last = err; err == nil {
			got = append(got, n)
		}
	}
	require.Equal(t, []int{0, 1, 2}, got)
	require.ErrorContains(t, last, "more than 3 rows")
}
