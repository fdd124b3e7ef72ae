package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// fails runs a command of conveyor that must not succeed, and returns its exit code and its output.
func (w *world) fails(args ...string) (code int, said string) {
	w.t.Helper()

	cmd := exec.CommandContext(w.t.Context(), binary, args...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.True(w.t, errors.As(err, &exit), "conveyor %v: %s", args, out)
	return exit.ExitCode(), string(out)
}

// letterWhere returns the number of the one dead letter that satisfies a condition, once there is one.
func (w *world) letterWhere(condition string) string {
	w.t.Helper()

	w.eventually("a dead letter: "+condition, func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE "+condition) == 1
	})
	return fmt.Sprint(one[int64](w, "SELECT id FROM dead_letters WHERE "+condition))
}

// An operator finds a rejected advert among the dead letters, replays it, sees it die again as the same letter, and
// resolves it by replaying it when the advert can be read.
func (w *world) replaysRejected() {
	t := w.t
	w.publish("scraped", "kijiji", advert("8001", with("price", map[string]any{"type": "CONTACT"})))
	id := w.letterWhere("workflow_id = 'listing/kijiji/8001'")
	var before api.LetterDetail
	require.Equal(t, http.StatusOK, w.get("/dead-letters/"+id, &before))

	out := w.run("dead-letters", "replay", id)
	require.Equal(t, id+": sent to scraped.kijiji again, replay 1\n", out)
	w.eventually("it dies again, though nothing changed", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE deaths = 2 AND state = 'open'") == 1 &&
			one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM dead_letters"), "the same row")
	require.Equal(t, 1, one[int](w, "SELECT revision::int FROM raw_listings WHERE platform_id = '8001'"), "the same revision")
	var after api.LetterDetail
	require.Equal(t, http.StatusOK, w.get("/dead-letters/"+id, &after))
	require.NotEqual(t, before.RunID, after.RunID, "in a run of its own")
	require.Equal(t, 1, after.Replays)

	// A test cannot change a rule of the normalizer, so it changes the payload that the rule reads.
	_, err := w.db.Exec(w.ctx(), `UPDATE raw_listings SET payload = jsonb_set(payload, '{price}', '{"amount_cents":99900}')
		WHERE platform_id = '8001'`)
	require.NoError(t, err)
	out = w.run("dead-letters", "replay", "--platform", "kijiji", "--reason", "RENT", "--yes")
	require.Contains(t, out, "replayed 1\n")
	w.eventually("it is a listing", func() bool {
		return one[int](w, "SELECT count(*) FROM listings WHERE platform_id = '8001'") == 1
	})
	w.eventually("its letter is resolved", func() bool {
		return one[string](w, "SELECT state FROM dead_letters") == "resolved"
	})
	w.eventually("its workflow has completed", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), workflowID("8001"), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})

	code, said := w.fails("dead-letters", "replay", id)
	require.Equal(t, 1, code)
	require.Equal(t, id+": dead letter "+id+" is resolved; force sends it all the same\n", said)
	require.Contains(t, w.run("dead-letters", "list"), "no dead letter matches")
	out = w.run("dead-letters", "show", id)
	require.Equal(t, 2, strings.Count(out, "dead_letter.replayed by "), out)
	require.NotContains(t, out, "555 0") // three digits alone may be in a UUID
}

// An image that could not be had is replayed when its host has it again: it is attached and its letter resolved.
func TestAnImageIsReplayed(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := running(t)
	w.start("api")
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	var healed atomic.Bool
	w.site.Handle("/healing/{n}", "/healing/1", "not found, until it is", http.HandlerFunc(
		func(rw http.ResponseWriter, r *http.Request) {
			if !healed.Load() {
				http.NotFound(rw, r)
				return
			}
			http.Redirect(rw, r, "/photos/8101/"+r.PathValue("n")+".jpg", http.StatusFound)
		}))
	w.publish("scraped", "kijiji", advert("8101", with("image_urls", []string{w.siteURL + "/healing/1", w.siteURL + "/healing/2"})))
	w.eventually("both images are given up", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE queue = 'images.pending' AND state = 'open'") == 2
	})
	first := fmt.Sprint(one[int64](w, "SELECT min(id) FROM dead_letters"))
	w.run("dead-letters", "replay", first)
	w.eventually("it dies again as the same letter", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE deaths = 2 AND state = 'open'") == 1 &&
			one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})

	healed.Store(true)
	code, said := w.fails("dead-letters", "replay", "--queue", "images.pending")
	require.Equal(t, 2, code)
	require.Contains(t, said, "give --yes to replay, or --dry-run to show")
	require.Contains(t, w.run("dead-letters", "replay", "--queue", "images.pending", "--dry-run"), "would replay 2 of 2\n")
	require.Contains(t, w.run("dead-letters", "replay", "--queue", "images.pending", "-y"), "replayed 2\n")
	w.eventually("both are attached", func() bool {
		return one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached'") == 2
	})
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM dead_letters"))
}

// A listing that another team normalized, and that does not fit the columns, is replayed to the queue that it arrived
// on, not to the one for raw adverts.
func TestAStagedListingIsReplayed(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := running(t)
	w.start("api")
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	w.publish("listings", "listings.ready", []byte(`{"platform":"kijiji","platform_id":"8201","url":"https://a.example/1",
		"scraped_at":"2026-01-10T12:00:00Z","listing":{"title":"4½","rent_cents":100000,"bedrooms":2,"rooms":12345}}`))
	id := w.letterWhere("workflow_id = 'listing/kijiji/8201'")
	require.Equal(t, id+": sent to listings.normalized again, replay 1\n", w.run("dead-letters", "replay", id))
	w.eventually("it dies again", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE deaths = 2 AND state = 'open'") == 1 &&
			one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM dead_letters"))
	require.Equal(t, 1, one[int](w, "SELECT revision::int FROM raw_listings WHERE status = 'rejected'"))
}

func TestDeadLettersByCommand(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := running(t)
	code, said := w.fails("dead-letters", "list")
	require.Equal(t, 1, code)
	require.Contains(t, said, "is it running, and is CONVEYOR_API_URL right?")
	w.start("api")
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	require.Equal(t, "no dead letter matches\n", w.run("dead-letters", "list"))

	w.publish("scraped", "kijiji", []byte("<html>514 555 0199\x1b[31m"), advert("8301", with("latitude", "\x1b[31mabc")))
	w.eventually("two letters", func() bool { return one[int](w, "SELECT count(*) FROM dead_letters") == 2 })
	html := w.letterWhere("position('not JSON' IN reason) > 0")
	typed := w.letterWhere("position('latitude' IN reason) > 0")

	out := w.run("dead-letters", "list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	require.Regexp(t, `^ID +DIED LAST \(UTC\) +STATE +QUEUE +CLASS +DEATHS +REPLAYS +REASON$`, lines[0])
	for _, line := range lines[1:] {
		require.Regexp(t, `^\d+ +2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d +open +scraped\.kijiji +invalid +1 +0 +\S`, line)
		require.Equal(t, strings.Index(lines[0], "QUEUE"), strings.Index(line, "scraped.kijiji"), out)
	}
	require.NotContains(t, out, "\x1b")
	require.Contains(t, w.run("dead-letters", "list", "--limit", "1"), "1 shown, there are more; --limit 0 shows all\n")
	require.Equal(t, 3, strings.Count(w.run("dead-letters", "list", "--limit", "0", "--state", "any"), "\n"))
	require.Contains(t, w.run("dead-letters", "list", "--json", "--reason", "LATITUDE", "--since", "1h"), `{"id":`+typed+`,`)
	require.Contains(t, w.run("dead-letters", "list", "--until", "2026-01-31"), "no dead letter matches")

	out = w.run("dead-letters", "show", typed)
	require.Contains(t, out, `"platform_id": "8301"`)
	require.Contains(t, out, "<p>Deux chambres")
	require.Regexp(t, `(?m)^published to +exchange "scraped", key "kijiji"$`, out)
	require.NotContains(t, out, "555 0") // three digits alone may be in a UUID
	require.NotContains(t, out, "\x1b")
	require.Contains(t, w.run("dead-letters", "show", html), `"<html>514 555 0199\x1b[31m"`)
	require.Contains(t, w.run("dead-letters", "show", html, "--json"), `"body_base64":`)

	require.Equal(t, html+": discarded\n", w.run("dead-letters", "discard", html))
	require.NotContains(t, w.run("dead-letters", "list"), "not JSON")
	require.Contains(t, w.run("dead-letters", "list", "--state", "discarded"), "not JSON")
	code, said = w.fails("dead-letters", "replay", html, typed, "999")
	require.Equal(t, 1, code)
	require.Contains(t, said, html+": dead letter "+html+" is discarded; force sends it all the same\n")
	require.Contains(t, said, typed+": sent to scraped.kijiji again, replay 1\n")
	require.Contains(t, said, "999: there is no dead letter 999\n")
	require.Contains(t, said, "2 of 3 were not replayed")
	require.Contains(t, w.run("dead-letters", "replay", html, "--force"), "replay 1")
	w.eventually("both died again", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE state = 'open' AND deaths = 2") == 2
	})

	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"replay", 2, "give IDs, filters or --all"},
		{"replay 1 --queue x", 2, "IDs and filters do not go together"},
		{"replay --queue x --all", 2, "--all and filters do not go together"},
		{"replay --queue x --force", 2, "--force goes with IDs"},
		{"replay 1 --dry-run", 2, "--dry-run goes with filters"},
		{"replay --all --limit 10001 --yes", 2, "read --limit: is 10001, expected 1 to 10000"},
		{"replay x", 2, "expected a valid 64 bit int"},
		{"discard", 2, "give IDs, filters or --all"},
		{"discard 999", 1, "999: there is no dead letter 999"},
		{"show 999", 1, "there is no dead letter 999"},
		{"show 0", 1, "<id>: expected number >= 1"},
		{"list --since yesterday", 2, `"yesterday" is neither a time such as`},
		{"list --state dead", 2, "--state must be one of"},
		{"list --platform Kijiji", 1, "--platform"},
		{"list --limit=-1", 2, "read --limit: expected 0 or more"},
	} {
		code, said := w.fails(append([]string{"dead-letters"}, strings.Fields(tt.args)...)...)
		require.Equal(t, tt.code, code, "%s: %s", tt.args, said)
		require.Contains(t, said, tt.want, tt.args)
	}
}
