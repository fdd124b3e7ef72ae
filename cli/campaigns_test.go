package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
)

var (
	campaignOne = uuid.MustParse("018f1b1e-0000-7000-8000-000000000001")
	senderOne   = uuid.MustParse("018f1b1e-0000-7000-8000-000000000002")
)

// mailed is a campaign in the middle of its work.
func mailed() apioutreach.CampaignDetail {
	return apioutreach.CampaignDetail{
		Campaign: apioutreach.Campaign{
			ID: campaignOne, State: apioutreach.CampaignState(campaign.Running), CreatedBy: "olga\x1b[2J", CreatedAt: noon,
			CampaignPlan: apioutreach.CampaignPlan{
				Name: "Spring\x1b[2J", Sender: senderOne,
				Template: campaign.Body{Type: "template", Template: &campaign.Template{
					Name: "sale", Language: campaign.Language{Code: "fr"},
				}},
				Audience: campaign.Audience{
					To: campaign.Groups{Tags: []string{"vip"}}, Except: campaign.Groups{Lists: []uuid.UUID{senderOne}},
				},
			},
			WrittenAt: new(noon), StartedAt: new(noon), Progress: .995, Workflow: api.WorkflowLink{URL: "http://ui/campaign"},
			Counts: apioutreach.CampaignCounts{Total: 1000, Waiting: 5, Sent: 100, Delivered: 800, Read: 80, Failed: 10, Skipped: 5},
		},
		PerSecond: 10, SecondsLeft: new(.5),
	}
}

// drafted is a campaign that was created, and not started.
func drafted() apioutreach.CampaignDetail {
	c := mailed()
	c.State = apioutreach.CampaignState(campaign.Draft)
	return c
}

func TestPrintCampaign(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printCampaign(&b, mailed()))
	require.Equal(t, `campaign     018f1b1e-0000-7000-8000-000000000001
name         Spring [2J
state        running
sends        template sale (fr)
to           tags vip, except 1 lists
messages     1000, [#########.] 99%
  waiting    5
  sent       980
  delivered  880
  read       80
  failed     10
  skipped    5
rate         at most 10 a second
time left    1s
created      2026-11-21T12:00:00Z by olga [2J
started      2026-11-21T12:00:00Z
workflow     http://ui/campaign
`, b.String())
	b.Reset()
	held := mailed()
	held.Held, held.SecondsLeft, held.Reason = "the sender is paused", nil, "template refused"
	require.NoError(t, printCampaign(&b, held))
	require.Contains(t, b.String(), "running: template refused\nwaits        the sender is paused\n")
}

func TestCampaignRow(t *testing.T) {
	t.Parallel()
	c := mailed().Campaign
	c.Counts.Unknown = 7
	columns, cells := strings.Split(campaignHead, "\t"), strings.Split(campaignRow(c), "\t")
	require.Len(t, cells, len(columns))
	row := map[string]string{}
	for i, name := range columns {
		row[name] = cells[i]
	}
	require.Equal(t, map[string]string{
		"ID": campaignOne.String(), "NAME": "Spring [2J", "STATE": "running", "MESSAGES": "1000", "WAITING": "5",
		"UNKNOWN": "7", "SENT": "980", "DELIVERED": "880", "READ": "80", "FAILED": "10", "SKIPPED": "5",
		"CREATED": "2026-11-21T12:00:00Z",
	}, row)
	require.Equal(t, []string{"WAITING", "UNKNOWN"}, columns[4:6])
}

func TestCampaignLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "campaign Spring [2J running [#########.] 99% 995 of 1000, 880 delivered, 10 failed, 5 skipped, 1s left",
		campaignLine(mailed()))
	c := mailed()
	c.WrittenAt, c.SecondsLeft, c.Held = nil, nil, "the tenant is stopped: unpaid"
	require.Contains(t, campaignLine(c), "995 of 1000 written so far, ")
	require.Contains(t, campaignLine(c), ", waits: the tenant is stopped: unpaid")
	require.Equal(t, []string{"[..........] 0%", "[#####.....] 50%", "[##########] 100%"}, []string{bar(0), bar(.5), bar(1)})
}

// Each command sends the requests that it stands for.
func TestCampaignCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"name":"Spring","template":{"type":"text","text":{"body":"Hi"}},
		"audience":{"all":true}}`), 0o600))
	wrong := filepath.Join(dir, "wrong.json")
	require.NoError(t, os.WriteFile(wrong, []byte(`{"nam":"Spring"}`), 0o600))
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		switch {
		case strings.Contains(ask, "/senders"):
			return apioutreach.SenderList{Items: []apioutreach.Sender{{ID: senderOne, Name: "Support", PhoneNumberID: "101"}}}
		case strings.Contains(ask, "/audience"):
			return apioutreach.CampaignAudience{Contacts: 3, OptedOut: 1, ToSend: 2}
		case strings.Contains(ask, "/retry-failed"):
			return apioutreach.CampaignRetried{Retried: 3, Campaign: mailed().Campaign}
		case strings.Contains(ask, "/messages"):
			return apioutreach.MessagePage{Items: []apioutreach.Message{{ID: campaignOne, State: "failed"}}}
		case strings.Contains(ask, "/campaigns?limit"):
			return apioutreach.CampaignPage{Items: []apioutreach.Campaign{mailed().Campaign}}
		case strings.HasPrefix(ask, "POST /campaigns {"):
			return drafted()
		}
		return mailed()
	})
	one := campaignOne.String()
	text := `{"name":"Spring","sender":"` + senderOne.String() + `","template":{"type":"text","text":{"body":"Hi"}},"audience":{"all":true}}`
	for _, tt := range []struct {
		args string
		want []string
		err  string
	}{
		{"create " + file, []string{"GET /senders", "POST /campaigns " + text}, ""},
		{"create " + file + " --tenant acme --sender Support --json", []string{
			"GET /senders?tenant=acme", "POST /campaigns?tenant=acme " + text,
		}, ""},
		{"create " + file + " --sender " + senderOne.String() + " --start", []string{
			"POST /campaigns " + text, "POST /campaigns/" + one + "/start",
		}, ""},
		{"create --text Hi --name Spring --all", []string{"GET /senders", "POST /campaigns " + text}, ""},
		{"create --template sale --language fr --param {{given_name|vous}} --param a,b --tag Lead,hot --except-tag x,y --except-list " + one, []string{
			"GET /senders", `POST /campaigns {"name":"sale","sender":"` + senderOne.String() + `","template":{"type":"template",` +
				`"template":{"name":"sale","language":{"code":"fr"},"components":[{"type":"body","parameters":[` +
				`{"type":"text","text":"{{given_name|vous}}"},{"type":"text","text":"a,b"}]}]}},` +
				`"audience":{"to":{"tags":["Lead,hot"]},"except":{"lists":["` + one + `"],"tags":["x,y"]}}}`,
		}, ""},
		{"create --text Hi --all --sender Sales", []string{"GET /senders"}, `there is no sender "Sales"; there are: Support`},
		{"create", nil, "nothing to send: give a file, --text or --template"},
		{"create " + file + " --all", nil, "a file says what is sent to which contacts: give no flags for these beside it"},
		{"create " + file + " --except-list=" + one, nil, "a file says what is sent to which contacts: give no flags for these beside it"},
		{"create " + file + " --except-segment=" + one, nil, "a file says what is sent to which contacts: give no flags for these beside it"},
		{"create " + file + " --except-tag x", nil, "a file says what is sent to which contacts: give no flags for these beside it"},
		{"create " + file + " --param x", nil, "a file says what is sent to which contacts: give no flags for these beside it"},
		{"create " + wrong, nil, "read " + wrong + `: json: unknown field "nam"`},
		{"audience " + one + " --tenant acme", []string{"GET /campaigns/" + one + "/audience?tenant=acme"}, ""},
		{"audience " + one + " --json", []string{"GET /campaigns/" + one + "/audience"}, ""},
		{"start " + one, []string{"POST /campaigns/" + one + "/start {}"}, ""},
		{"start " + one + " --at 2026-12-01T09:00:00-05:00 --tenant acme", []string{
			"POST /campaigns/" + one + `/start?tenant=acme {"at":"2026-12-01T09:00:00-05:00"}`,
		}, ""},
		{"pause " + one + " --reason wrong", []string{"POST /campaigns/" + one + `/pause {"reason":"wrong"}`}, ""},
		{"resume " + one, []string{"POST /campaigns/" + one + "/resume"}, ""},
		{"cancel " + one, []string{"POST /campaigns/" + one + "/cancel {}"}, ""},
		{"unschedule " + one, []string{"POST /campaigns/" + one + "/unschedule"}, ""},
		{"retry-failed " + one, []string{"POST /campaigns/" + one + "/retry-failed"}, ""},
		{"show " + one + " --tenant acme", []string{"GET /campaigns/" + one + "?tenant=acme"}, ""},
		{"show " + one + " --json", []string{"GET /campaigns/" + one}, ""},
		{"list", []string{"GET /campaigns?limit=50"}, ""},
		{"list --state paused --tenant acme --json", []string{"GET /campaigns?limit=50&state=paused&tenant=acme"}, ""},
		{"messages " + one + " --state failed", []string{"GET /campaigns/" + one + "/messages?limit=50&state=failed"}, ""},
	} {
		asked = nil
		err := run(t, url, append([]string{"campaigns"}, strings.Fields(tt.args)...)...)
		if tt.err == "" {
			require.NoError(t, err, tt.args)
		} else {
			require.EqualError(t, err, tt.err, tt.args)
		}
		require.Equal(t, tt.want, asked, tt.args)
	}
}

// A campaign whose start has no answer, or is refused, is named: the command given again would be a second campaign.
func TestCampaignCreatedIsNamed(t *testing.T) {
	t.Parallel()
	one, sender := campaignOne.String(), senderOne.String()
	for want, start := range map[string]any{
		"campaign " + one + " is created, and may be started; conveyor campaigns start " + one + " --tenant acme starts it " +
			"if it is not: read response to POST /campaigns/" + one + "/start?tenant=acme: unexpected EOF": errors.New(`{"id":`),
		"campaign " + one + " is created; conveyor campaigns start " + one + " --tenant acme starts it, " +
			"which is refused now: there is none": nil,
	} {
		url := serve(t, func(ask string) any {
			if strings.Contains(ask, "/start") {
				return start
			}
			return drafted()
		})
		require.EqualError(t, run(t, url, "campaigns", "create", "--text", "Hi", "--all", "--sender", sender, "--start",
			"--tenant", "acme"), want)
	}
}

// A command with a key may be given again: the request that makes something has it, and no other.
func TestCreatedOnce(t *testing.T) {
	t.Parallel()
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.URL.Path+" "+r.Header.Get("Idempotency-Key"))
		switch {
		case strings.HasPrefix(r.URL.Path, "/crawl"):
			_ = json.NewEncoder(w).Encode(crawled())
		case len(keys) == 1:
			_ = json.NewEncoder(w).Encode(drafted())
		default:
			_ = json.NewEncoder(w).Encode(mailed())
		}
	}))
	t.Cleanup(server.Close)
	create := []string{"campaigns", "create", "--text", "Hi", "--all", "--sender", senderOne.String()}
	for range 2 { // what is running by then is not started again
		require.NoError(t, run(t, server.URL, append(create, "--start", "--key", "spring")...))
	}
	require.NoError(t, run(t, server.URL, "crawl", "start", "https://example.org", "--key", "monday"))
	require.NoError(t, run(t, server.URL, create...))
	require.Equal(t, []string{
		"/campaigns spring", "/campaigns/" + campaignOne.String() + "/start ", "/campaigns spring", "/crawl-runs monday",
		"/campaigns ",
	}, keys)
}

// What is started and watched as JSON is one document on standard output. Not parallel: see printed.
func TestCampaignWatchedAsJSON(t *testing.T) {
	url := serve(t, func(string) any {
		c := mailed()
		c.State, c.FinishedAt = apioutreach.CampaignState(campaign.Done), new(noon)
		return c
	})
	text := printed(t, func() error {
		return run(t, url, "campaigns", "start", campaignOne.String(), "--watch", "--json")
	})
	var done apioutreach.CampaignDetail
	require.NoError(t, json.Unmarshal([]byte(text), &done), text)
	require.Equal(t, campaignOne, done.ID)
}

// printed is what do writes to standard output. Tests of it are not parallel: others write there, too.
func printed(t *testing.T, do func() error) string {
	t.Helper()

	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	was := os.Stdout
	os.Stdout = file
	err = do()
	os.Stdout = was
	require.NoError(t, err)
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(text)
}

// A campaign is watched until it ends; one that is not done then is exit code 1.
func TestCampaignWatch(t *testing.T) {
	t.Parallel()
	for _, state := range []campaign.State{campaign.Done, campaign.Canceled} {
		shown := 0
		url := serve(t, func(string) any {
			c := mailed()
			if shown++; shown > 1 {
				c.State, c.FinishedAt = apioutreach.CampaignState(state), new(noon.Add(time.Minute))
			}
			return c
		})
		err := run(t, url, "campaigns", "show", campaignOne.String(), "--watch")
		if state == campaign.Done {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ExitError(1))
		}
		require.Equal(t, 2, shown)
	}
}
