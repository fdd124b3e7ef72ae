package e2e

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// Kill -9 at the worst instants. A bridge that dies between draft and ack gets its message again, and acks it: the page is
// not asked for again. The page of a worker that dies is taken over by another. Either way there is one draft.
func TestDraftsWhoseMakersAreKilled(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, bridge := drafting(t)
	worker := w.start("worker")
	asked, let := w.hold("/shop/kettle")
	q := w.requestDraft("/shop/kettle")
	w.eventually("the page is asked for", func() bool { return asked() == 1 })
	require.NoError(t, bridge.cmd.Process.Signal(syscall.SIGSTOP))
	let()
	d := w.made(q)
	w.closed(q, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Zero(t, w.broker.Ready(crawls), "the bridge has it")
	bridge.kill()
	w.eventually("the message is there again", func() bool { return w.broker.Ready(crawls) == 1 })
	bridge = w.start("bridge")

	asked, let = w.hold("/shop/mug")
	next := w.requestDraft("/shop/mug") // one at a time: when this one is taken, the other is settled
	w.eventually("the next page is asked for", func() bool { return asked() == 1 })
	again := w.drafted(q)
	require.Equal(t, []any{d.ID, d.UpdatedAt}, []any{again.ID, again.UpdatedAt})
	require.Equal(t, 1, w.hits("/shop/kettle"))

	worker.kill()
	w.start("worker")
	w.eventually("it is asked for again", func() bool { return asked() == 2 })
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM product_drafts"))
	let()
	w.made(next)
	w.closed(next, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM product_drafts"))
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters"))
	w.acked(bridge)
}

// A worker that is stopped while it loads a page hands it on, however often: that is no death of the page's making.
func TestDraftsWhoseMakersAreStopped(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, bridge := drafting(t, "CONVEYOR_STOP_GRACE=5s")
	asked, let := w.hold("/shop/kettle")
	q := w.requestDraft("/shop/kettle")
	for n := range 4 {
		worker := w.start("worker")
		w.eventually("the page is asked for", func() bool { return asked() == n+1 })
		worker.stop(t)
	}
	let()
	w.start("worker")
	w.made(q)
	w.closed(q, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters"))
	w.acked(bridge)
}

// Without Chromium, and without a place for drafts, a request is dead-lettered and nothing is stored; its letter is replayed
// when they are there. A Chromium that dies under a page makes a failure of it, at once, and the next page has another.
func TestWhatDraftsNeedComesAndGoes(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	address, dir := freeAddress(t), t.TempDir()
	chromium := startChromium(t, dir, address) // its folder keeps the password of its address
	devtools := chromium.Vars()["CHROME_DEVTOOLS_URL"]
	require.NoError(t, chromium.Stop(t.Context()))
	w, bridge := drafting(t, "CHROME_DEVTOOLS_URL="+devtools)
	w.start("worker")
	q := w.requestDraft("/shop/kettle")
	letter := w.dies(q)
	require.Contains(t, letter.Reason, "check devtools at http://"+address)
	require.Contains(t, letter.Reason, "connection refused; start Chromium with")
	require.Equal(t, string(fault.Transient), letter.Class)
	require.Equal(t, letter.Reason, letter.Headers["x-error"])
	err := w.temporal.GetWorkflow(w.ctx(), letter.WorkflowID, "").Get(w.ctx(), nil)
	require.ErrorContains(t, err, "connection refused; start Chromium with")
	require.Zero(t, w.hits("/shop/kettle"))

	chromium = startChromium(t, dir, address)
	w.replayed(q, letter)
	require.Equal(t, 1, w.hits("/shop/kettle"))

	asked, let := w.hold("/shop/mug")
	dying := w.requestDraft("/shop/mug")
	w.eventually("the page is asked for", func() bool { return asked() == 1 })
	pid := chromium.Pid(devstack.Chromium)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	killed := time.Now()
	d := w.drafted(dying)
	require.Less(t, time.Since(killed), 15*time.Second)
	require.Equal(t, []string{draft.Failed, string(fault.Transient)}, []string{d.Outcome, d.Class}, d.Error)
	w.closed(dying, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	let()
	w.eventually("Chromium is back", func() bool {
		now := chromium.Pid(devstack.Chromium)
		resp, err := http.Get(devtools + "/json/version")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK && now != 0 && now != pid
	})
	w.made(w.requestDraft("/shop/lamp"))
	require.Equal(t, 1, w.hits("/shop/mug"))

	w.alter(`
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room for drafts'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON product_drafts FOR EACH ROW EXECUTE FUNCTION refuse()`)
	q = w.requestDraft("/shop/theiere")
	letter = w.dies(q)
	require.Contains(t, letter.Reason, "no room for drafts")
	require.Equal(t, string(fault.Transient), letter.Class)
	require.Equal(t, 1, w.hits("/shop/theiere"), "no step is tried again")
	w.alter("DROP TRIGGER refuse ON product_drafts")
	d = w.replayed(q, letter)
	require.Equal(t, []string{"89.50", "CAD", "OutOfStock"}, []string{*d.Price, *d.Currency, *d.Availability})
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM dead_letters"))
	w.acked(bridge)
}

// startChromium starts one of the test's own, which is started again when it dies.
func startChromium(t *testing.T, dir, address string) *devstack.Stack {
	t.Helper()

	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	var ports devstack.Ports
	ports.Chromium, err = strconv.Atoi(port)
	require.NoError(t, err)
	stack, err := devstack.Start(t.Context(), devstack.Options{
		Dir: dir, Ports: ports, Services: []string{devstack.Chromium}, NoInstall: true,
		External: devstack.External{
			Browser: os.Getenv("CONVEYOR_BROWSER"), BrowserDriver: os.Getenv("CONVEYOR_BROWSER_DRIVER"),
		},
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = stack.Stop(context.Background()) })
	return stack
}
