package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
)

// run parses a command line as the program does, and runs its command against the API at url.
func run(t *testing.T, url string, args ...string) error {
	t.Helper()

	return runBy(t, func() (Client, error) { return Client{URL: url + "/", Key: "k"}, nil }, args...)
}

func runBy(t *testing.T, connect Connect, args ...string) error {
	t.Helper()

	parser, err := kong.New(new(allCommands), kong.Bind(connect), kong.BindToProvider(Provide))
	require.NoError(t, err)
	command, err := parser.Parse(args)
	require.NoError(t, err, args)
	command.BindTo(t.Context(), (*context.Context)(nil))
	return command.Run()
}

// allCommands are those of this package that a test calls.
type allCommands struct {
	Status      StatusCmd      `cmd:""`
	DeadLetters DeadLettersCmd `cmd:""`
	Replay      ReplayCmd      `cmd:""`
	Platforms   PlatformsCmd   `cmd:""`
	Duplicates  DuplicatesCmd  `cmd:""`
	Crawl       CrawlCmd       `cmd:""`
	Search      SearchCmd      `cmd:""`
	Searches    SearchesCmd    `cmd:""`
	Draft       DraftCmd       `cmd:""`
	Health      HealthCmd      `cmd:""`
	Tenants     TenantsCmd     `cmd:""`
	Messages    MessagesCmd    `cmd:""`
	Campaigns   CampaignsCmd   `cmd:""`
	Contacts    ContactsCmd    `cmd:""`
	Listings    ListingsCmd    `cmd:""`
}

// A problem document becomes an error with its detail, its fields and, for 401, the setting of the key.
func TestProblems(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{http.StatusBadGateway, "<html>", "the API answered 502 Bad Gateway"},
		{http.StatusBadGateway, "{}", "the API answered 502 Bad Gateway"},
		{http.StatusUnauthorized, `{"detail":"no key"}`, "no key; commands authenticate with the key in CONVEYOR_API_KEY"},
		{http.StatusUnprocessableEntity, `{"detail":"wrong","errors":[{"message":"is 7","location":"body.rate"}]}`,
			"wrong; body.rate: is 7"},
		{http.StatusUnprocessableEntity,
			`{"detail":"wrong","errors":[{"message":"is 7","location":"body.rate"},{"message":"and 951 more"}]}`,
			"wrong; body.rate: is 7; and 951 more"},
		{http.StatusOK, "<html>", "read response to GET /replays?limit=50: invalid character '<' looking for beginning of value"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		t.Cleanup(server.Close)
		require.EqualError(t, run(t, server.URL, "replay", "list"), tt.want)
	}
}

// What is refused is named by the argument that says it, and not by one that says something else.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ line, location, want string }{
		{"crawl start https://a.example --max-pages 0", "body.settings.maxPages", "--max-pages"},
		{"crawl start https://a.example --demo-delay-ms=-1", "body.settings.demoDelayMs", "--demo-delay-ms"},
		{"crawl start https://a.example --max-pages 0", "body.settings.maxDepth", "body.settings.maxDepth"},
		{"crawl start mailto:a@b.c", "body.seedUrl", "<seed>"},
		{"crawl retry 7 --state lost,gone", "body.states[1]", "--state (body.states[1])"},
		{"crawl --api URL show 0", "path.id", "<id>"},
		{"platforms set kijiji --cycle 7h --delay 2h", "body.delay_between_requests_seconds", "--delay (body.delay_between_requests_seconds)"},
		{"platforms set kijiji --cycle 7h --pages 0", "body.max_pages_per_cycle", "--pages"},
		{"replay start --since 48h --until 72h", "body.filter.scraped_until", "--until"},
		{"replay start --id 3f1c2a7e-5b1d-4a55-9d20-8d1f6f0c9a11", "body.filter.ids", "--id"},
		{"search query -- a", "query.q", "query.q"},
		{"campaigns create --template sale --name Sale", "body.template.template.name", "--template"},
		{"campaigns create --template sale --name Sale", "body.name", "--name"},
		{"campaigns create --template sale --tag a --except-tag b", "body.audience.except.tags[0]", "--except-tag (body.audience.except.tags[0])"},
		{"draft request https://a.example --cookie a=b", "body.cookies[0].path", "--cookie (body.cookies[0].path)"},
		{"searches create home --feed --max-price 0", "body.targets[0].url", "body.targets[0].url"},
	} {
		var r Client
		parser, err := kong.New(new(allCommands))
		require.NoError(t, err)
		r.line, err = parser.Parse(strings.Fields(tt.line))
		require.NoError(t, err, tt.line)
		require.Equal(t, tt.want, r.typed(tt.location), tt.line)
	}
}

// A redirect is refused and named: net/http makes a GET of a change, whose answer looks like a success.
func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()

	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/there/") {
				_, _ = io.WriteString(w, "{}")
				return
			}
			http.Redirect(w, r, "/there"+r.URL.RequestURI(), status)
		}))
		t.Cleanup(server.Close)
		r := Client{URL: server.URL, Key: "k"}
		want := "the API redirects to " + server.URL + "/there/x?a=b: set CONVEYOR_API_URL accordingly"
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			require.EqualError(t, r.call(t.Context(), method, "/x?a=b", nil, nil), want, "%s by %d", method, status)
		}
		_, err := r.form(t.Context(), "/x?a=b", "key", nil, "people.csv", strings.NewReader("phone"), 5, nil)
		require.EqualError(t, err, want, "a file by %d", status)
		_, err = r.stream(t.Context(), "/x?a=b")
		require.EqualError(t, err, want, "an export by %d", status)
		var code ExitError
		require.ErrorAs(t, run(t, server.URL, "dead-letters", "discard", "12"), &code)
	}
}

// A list that breaks off is printed up to there.
func TestPagesUpToAFailure(t *testing.T) {
	t.Parallel()

	type item struct{ Name string }
	door := serve(t, func(ask string) any {
		if strings.Contains(ask, "cursor=next") {
			return nil
		}
		return map[string]any{"items": []item{{"a"}, {"b"}}, "next_cursor": "next"}
	})
	for asJSON, want := range map[bool]string{
		false: "NAME  N\na     1\nb     1\n", true: `{"Name":"a"}` + "\n" + `{"Name":"b"}` + "\n",
	} {
		var out strings.Builder
		_, _, err := pages[item]{
			Path: "/x", Query: url.Values{}, listFlags: listFlags{JSON: asJSON}, Head: "NAME\tN",
			Row: func(t io.Writer, i item) { fmt.Fprintf(t, "%s\t%d\n", i.Name, len(i.Name)) },
		}.print(t.Context(), &out, Client{URL: door})
		require.EqualError(t, err, "there is none")
		require.Equal(t, want, out.String())
	}
}

// Commands say why they cannot reach the API, and what is wrong with their arguments before they call it.
func TestConnectFails(t *testing.T) {
	t.Parallel()

	wrong := errors.New("DATABASE_URL is wrong")
	fails := func() (Client, error) { return Client{}, wrong }
	require.EqualError(t, runBy(t, fails, "status"), wrong.Error())
	require.EqualError(t, runBy(t, fails, "crawl", "list"), wrong.Error())
	require.ErrorContains(t, (&lettersReplayCmd{}).Run(t.Context(), Client{}), "nothing selected")
}

// A health check with a URL asks that URL and needs no configuration; without one it asks the API.
func TestHealth(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			http.Error(w, "redis is down", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	require.NoError(t, run(t, server.URL, "health"))
	require.NoError(t, (&HealthCmd{URL: server.URL + "/health"}).Run(t.Context(), nil))
	require.ErrorContains(t, (&HealthCmd{URL: server.URL}).Run(t.Context(), nil), "503 Service Unavailable: redis is down")
}

// One dead letter that cannot be replayed is an exit code, for its reason is printed; of several, the count is an
// error.
func TestDeadLettersByID(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/dead-letters/12") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail": "there is none"}`)
			return
		}
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, `{"queue": "images.pending", "replays": 2}`)
	}))
	t.Cleanup(server.Close)
	require.NoError(t, run(t, server.URL, "dead-letters", "replay", "12"))
	require.NoError(t, run(t, server.URL, "dead-letters", "discard", "12"))
	var code ExitError
	require.ErrorAs(t, run(t, server.URL, "dead-letters", "replay", "13"), &code)
	require.Equal(t, ExitError(1), code)
	require.EqualError(t, run(t, server.URL, "dead-letters", "discard", "12", "13"), "1 of 2 were not discarded")
}

// A draft is waited for and printed; a dead-lettered request is an error that names the dead letter.
func TestDraft(t *testing.T) {
	t.Parallel()

	event, id := uuid.New(), uuid.New()
	state, letter, looks := "succeeded", int64(7), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/crawl-requests":
			var in apidrafts.DraftRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			w.WriteHeader(http.StatusAccepted)
			_ = json.NewEncoder(w).Encode(map[string]any{"event_id": in.EventID, "draft_id": id})
		case "/crawl-requests/" + event.String():
			out := apidrafts.DraftRequestState{State: state, Error: "invalid: no URL", DeadLetter: &letter}
			if looks++; state == "dead" && looks < 3 { // the workflow has failed, and its letter is on the way
				out.Error, out.DeadLetter = "the workflow failed", nil
			}
			_ = json.NewEncoder(w).Encode(out)
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"url": "http://shop.example/1"})
		}
	}))
	t.Cleanup(server.Close)
	c := draftRequestCmd{URL: "http://shop.example/1", EventID: event, Timeout: time.Minute}
	var out, progress strings.Builder
	require.NoError(t, c.run(t.Context(), Client{URL: server.URL}, &out, &progress))
	require.Contains(t, out.String(), `"url": "http://shop.example/1"`)
	require.Equal(t, "draft "+event.String()+": succeeded\n", progress.String())
	state, looks = "dead", 0
	require.EqualError(t, c.run(t.Context(), Client{URL: server.URL}, &out, &progress),
		"make draft: invalid: no URL; fix the cause and run conveyor dead-letters replay 7")
}

// A draft is waited for while the API is restarted.
func TestDraftOutlastsTheAPI(t *testing.T) {
	t.Parallel()

	looks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			_ = json.NewEncoder(w).Encode(map[string]any{"event_id": uuid.New(), "draft_id": uuid.New()})
		case strings.HasPrefix(r.URL.Path, "/drafts/"):
			_ = json.NewEncoder(w).Encode(map[string]any{"url": "http://shop.example/1"})
		default:
			if looks++; looks < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_ = json.NewEncoder(w).Encode(apidrafts.DraftRequestState{State: "succeeded"})
		}
	}))
	t.Cleanup(server.Close)
	c := draftRequestCmd{URL: "http://shop.example/1", Timeout: time.Minute}
	require.NoError(t, c.run(t.Context(), Client{URL: server.URL}, io.Discard, io.Discard))
	require.Equal(t, 3, looks)
}

// A draft that is not waited for any more says that its request goes on, and how to find it, whatever the waiting ends
// for, unless there is no such request any more.
func TestDraftIsNotWaitedFor(t *testing.T) {
	t.Parallel()

	event := uuid.New()
	left := "; the request goes on: conveyor draft list has it, conveyor draft cancel " + event.String() + " ends it"
	for want, tt := range map[string]struct {
		timeout time.Duration
		stop    bool
		refused int // by this status
	}{
		"stopped watching" + left:   {time.Minute, true, 0},
		"no draft after 1ns" + left: {1, false, 0},
		"stopped watching" + left + ": the API answered 401 Unauthorized": {time.Minute, false, http.StatusUnauthorized},
		"the API answered 404 Not Found":                                  {time.Minute, false, http.StatusNotFound},
	} {
		ctx, stop := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				w.WriteHeader(http.StatusAccepted)
				_ = json.NewEncoder(w).Encode(map[string]any{"event_id": event, "draft_id": uuid.New()})
			case tt.refused != 0:
				w.WriteHeader(tt.refused)
			default:
				if tt.stop {
					stop()
				}
				_ = json.NewEncoder(w).Encode(apidrafts.DraftRequestState{State: "running"})
			}
		}))
		t.Cleanup(server.Close)
		c := draftRequestCmd{URL: "http://shop.example/1", EventID: event, Timeout: tt.timeout}
		require.EqualError(t, c.run(ctx, Client{URL: server.URL}, io.Discard, io.Discard), want)
		stop()
	}
}

// A request that is known to be dead fails with its reason, also when no time is left to look for its dead letter.
func TestDraftIsDeadWithoutALetter(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			_ = json.NewEncoder(w).Encode(map[string]any{"event_id": uuid.New(), "draft_id": uuid.New()})
			return
		}
		if looks++; looks == 2 {
			cancel()
		}
		_ = json.NewEncoder(w).Encode(apidrafts.DraftRequestState{State: "dead", Error: "the workflow failed; nothing says why"})
	}))
	t.Cleanup(server.Close)
	c := draftRequestCmd{URL: "http://shop.example/1", Timeout: time.Minute}
	require.EqualError(t, c.run(ctx, Client{URL: server.URL}, io.Discard, io.Discard),
		"make draft: the workflow failed; nothing says why")
}

// Requests are listed by state; a refused cancel does not keep the next one from being canceled.
func TestDraftRequests(t *testing.T) {
	t.Parallel()

	good, bad := uuid.New(), uuid.New()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		switch r.URL.Path {
		case "/crawl-requests":
			_ = json.NewEncoder(w).Encode(apidrafts.DraftRequestPage{Items: []apidrafts.DraftRequestSummary{{EventID: good}}})
		case "/crawl-requests/" + bad.String() + "/cancel":
			w.WriteHeader(http.StatusConflict)
		default:
			_ = json.NewEncoder(w).Encode(apidrafts.DraftRequestState{EventID: good, State: "canceled"})
		}
	}))
	t.Cleanup(server.Close)
	require.NoError(t, run(t, server.URL, "draft", "list", "--state", "pending", "--since", "2026-11-20"))
	require.Contains(t, asked[0], "GET /crawl-requests?limit=50&since=2026-11-20T")
	require.Contains(t, asked[0], "&state=pending")
	var code ExitError
	require.ErrorAs(t, run(t, server.URL, "draft", "cancel", bad.String(), good.String()), &code)
	require.Equal(t, "POST /crawl-requests/"+good.String()+"/cancel", asked[2])
	require.NoError(t, run(t, server.URL, "draft", "cancel", good.String()))
	require.NoError(t, run(t, server.URL, "draft", "--no-wait", "https://shop.example/p"), "without the word request")
}

// Ctrl-C while the API works on a request is no API that is away; a change may have been made.
func TestStoppedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		http.MethodGet:  "stopped before the API answered",
		http.MethodPost: "stopped before the API answered: what was asked for may be done all the same",
	} {
		ctx, stop := context.WithCancel(t.Context())
		door := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			stop()
			<-r.Context().Done()
		}))
		require.EqualError(t, Client{URL: door.URL}.call(ctx, method, "/x", nil, nil), want)
		_, err := Client{URL: door.URL}.flow(ctx, method, "/x", nil)
		require.EqualError(t, err, want)
		door.Close()
	}
}
