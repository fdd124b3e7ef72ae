package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// codes is the error classes of the Cloud API's documentation, once more: a row says what a code of the API leads to.
var codes = []struct {
	codes   []int
	outcome campaign.Outcome
	class   campaign.Class
	spends  bool
	first   time.Duration
}{
	{[]int{130429}, campaign.PauseSender, campaign.ClassThroughput, false, 2 * time.Second},
	{[]int{80007, 80008, 4, 613}, campaign.PauseSender, campaign.ClassThroughput, false, 30 * time.Second},
	{[]int{131056}, campaign.DelayRecipient, campaign.ClassPair, false, 4 * time.Second},
	{[]int{131048, 131064, 133016}, campaign.PauseSender, campaign.ClassSpam, false, time.Hour},
	{[]int{131049}, campaign.RetryLater, campaign.ClassMarketing, true, 24 * time.Hour},
	{[]int{1, 131000}, campaign.RetryLater, campaign.ClassTransient, true, 10 * time.Second},
	{[]int{2, 131016, 131057, 133004}, campaign.PauseSender, campaign.ClassTransient, true, 30 * time.Second},
	{[]int{131052, 131053}, campaign.RetryLater, campaign.ClassTransient, true, 30 * time.Second},
	{[]int{131021, 131026, 131030, 131047, 131050, 131062, 130472}, campaign.FailRecipient, campaign.ClassRecipient, true, 0},
	{[]int{130497}, campaign.FailRecipient, campaign.ClassAccount, true, 0},
	{[]int{100, 131008, 131009, 131051, 132005, 132007, 132008, 132012, 132013, 132018, 135000},
		campaign.FailContent, campaign.ClassContent, true, 0},
	{[]int{132000, 132001, 132015, 132016, 132068, 132069}, campaign.FailContent, campaign.ClassTemplate, true, 0},
	{[]int{0, 3, 10, 33, 190, 200, 219, 299, 368, 131005, 131031, 131037, 131042, 131045, 133010, 134011},
		campaign.StopTenant, campaign.ClassAccount, false, 0},
	{[]int{5, 199, 300, 131999, 132017, 999999}, campaign.RetryLater, campaign.ClassOther, true, 10 * time.Second},
}

// The code decides, whatever the status of HTTP is: for one code it differs between versions of the API.
func TestJudgeByCode(t *testing.T) {
	t.Parallel()
	for _, row := range codes {
		for _, code := range row.codes {
			t.Run(fmt.Sprint(code), func(t *testing.T) {
				t.Parallel()
				for _, status := range []int{0, 200, 400, 403} {
					a := campaign.Answer{Status: status, Written: true, Error: &campaign.APIError{Code: code}}
					v := campaign.JudgeError(status, *a.Error)
					if status > 0 {
						v = campaign.Judge(a)
					}
					if v.Outcome != row.outcome || v.Class != row.class || v.Spends != row.spends || v.First != row.first ||
						v.Code != code || v.Means == "" {
						t.Errorf("with status %d: %+v; want %+v", status, v, row)
					}
				}
			})
		}
	}
}

// An error may have no code, or one that is no number.
func TestJudgeWithoutCode(t *testing.T) {
	t.Parallel()
	if v := campaign.JudgeError(0, campaign.APIError{Code: -1}); v.Code != 0 || v.Class != campaign.ClassOther {
		t.Errorf("%+v; want one without a code", v)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset by peer")
	graph := func(code int) *campaign.APIError { return &campaign.APIError{Code: code} }
	for _, tt := range []struct {
		name    string
		in      campaign.Answer
		outcome campaign.Outcome
		class   campaign.Class
		spends  bool
	}{
		{"accepted", campaign.Answer{Status: 200, ID: "wamid.1", Written: true}, campaign.Accepted, campaign.ClassNone, false},
		{"200 without an id", campaign.Answer{Status: 200, Written: true}, campaign.Unknown, campaign.ClassUnknown, true},
		{"200, then cut", campaign.Answer{Status: 200, Written: true, Err: reset},
			campaign.Unknown, campaign.ClassUnknown, true},
		{"200 with an id, and something where an error is", campaign.Answer{
			Status: 200, ID: "wamid.1", Error: graph(-1), Written: true,
		}, campaign.Accepted, campaign.ClassNone, false},
		{"200 with an id and an error", campaign.Answer{Status: 200, ID: "wamid.1", Error: graph(131056), Written: true},
			campaign.Accepted, campaign.ClassNone, false},
		{"200 with an error", campaign.Answer{Status: 200, Error: graph(131026), Written: true},
			campaign.FailRecipient, campaign.ClassRecipient, true},
		{"cut after the request was written", campaign.Answer{Written: true, Err: reset},
			campaign.Unknown, campaign.ClassUnknown, true},
		{"timeout after the request was written", campaign.Answer{Written: true, Err: context.DeadlineExceeded},
			campaign.Unknown, campaign.ClassUnknown, true},
		{"stopped after the request was written", campaign.Answer{Written: true, Err: context.Canceled},
			campaign.Unknown, campaign.ClassUnknown, true},
		{"refused", campaign.Answer{Err: reset}, campaign.PauseSender, campaign.ClassNetwork, false},
		{"timeout before the request was written", campaign.Answer{Err: context.DeadlineExceeded},
			campaign.PauseSender, campaign.ClassNetwork, false},
		{"stopped before the request was written", campaign.Answer{Err: fmt.Errorf("send: %w", context.Canceled)},
			campaign.RetryLater, campaign.ClassNetwork, false},
		{"429 of a proxy", campaign.Answer{Status: 429, Written: true}, campaign.PauseSender, campaign.ClassThroughput, false},
		{"429 with an unknown code", campaign.Answer{Status: 429, Error: graph(17), Written: true},
			campaign.PauseSender, campaign.ClassThroughput, false},
		{"429 of the pair limit", campaign.Answer{Status: 429, Error: graph(131056), Written: true},
			campaign.DelayRecipient, campaign.ClassPair, false},
		{"a page that says 403", campaign.Answer{Status: 403, Written: true}, campaign.PauseSender, campaign.ClassNetwork, false},
		{"a page that says 404", campaign.Answer{Status: 404, Written: true}, campaign.PauseSender, campaign.ClassNetwork, false},
		{"a page that says 400", campaign.Answer{Status: 400, Written: true}, campaign.RetryLater, campaign.ClassTransient, true},
		{"a redirect", campaign.Answer{Status: 302, Written: true}, campaign.RetryLater, campaign.ClassTransient, true},
		{"500", campaign.Answer{Status: 500, Written: true}, campaign.RetryLater, campaign.ClassTransient, true},
		{"500 with an unknown code", campaign.Answer{Status: 500, Error: graph(99), Written: true},
			campaign.RetryLater, campaign.ClassTransient, true},
		{"400 that is said to pass", campaign.Answer{
			Status: 400, Error: &campaign.APIError{Code: 99, Transient: true}, Written: true,
		}, campaign.RetryLater, campaign.ClassTransient, true},
		{"401 with an unknown code", campaign.Answer{Status: 401, Error: graph(2500), Written: true},
			campaign.StopTenant, campaign.ClassAccount, false},
		{"502 of a gateway", campaign.Answer{Status: 502, Written: true}, campaign.Unknown, campaign.ClassUnknown, true},
		{"504 of a gateway", campaign.Answer{Status: 504, Written: true}, campaign.Unknown, campaign.ClassUnknown, true},
		{"504 of the API", campaign.Answer{Status: 504, Error: graph(131016), Written: true},
			campaign.PauseSender, campaign.ClassTransient, true},
		{"503", campaign.Answer{Status: 503, Written: true}, campaign.PauseSender, campaign.ClassTransient, true},
		{"a phone number id that does not exist", campaign.Answer{
			Status: 400, Error: &campaign.APIError{Code: 100, Subcode: 33}, Written: true,
		}, campaign.StopTenant, campaign.ClassAccount, false},
		{"a parameter that is the recipient", campaign.Answer{
			Status: 400, Error: &campaign.APIError{Code: 131009, Details: "Recipient phone number is not valid"}, Written: true,
		}, campaign.FailRecipient, campaign.ClassRecipient, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := campaign.Judge(tt.in)
			if v.Outcome != tt.outcome || v.Class != tt.class || v.Spends != tt.spends {
				t.Errorf("Judge = %+v; want %s, %s, %v", v, tt.outcome, tt.class, tt.spends)
			}
		})
	}
}

// What holds of every row: a wait exactly where something is tried again, known values, and no retry by a person of what
// could be a second message or cannot work.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, row := range codes {
		for _, code := range row.codes {
			v := campaign.JudgeError(400, campaign.APIError{Code: code})
			again := slices.Contains([]campaign.Outcome{
				campaign.RetryLater, campaign.PauseSender, campaign.DelayRecipient,
			}, v.Outcome)
			switch {
			case !slices.Contains(campaign.Outcomes, v.Outcome), !slices.Contains(campaign.Classes, v.Class):
				t.Errorf("%d: outcome %q or class %q is unknown", code, v.Outcome, v.Class)
			case again != (v.Wait(1, 0) > 0), v.Most < v.First:
				t.Errorf("%d: %s waits %s to %s", code, v.Outcome, v.First, v.Most)
			case v.HoldsAll != (v.Class == campaign.ClassTemplate), v.OptsOut != (code == 131050):
				t.Errorf("%d: %+v", code, v)
			case v.Outcome == campaign.StopTenant && (!v.Alert || v.Spends):
				t.Errorf("%d: a stop of the tenant is an alert, and costs the message nothing: %+v", code, v)
			case v.Outcome == campaign.FailContent && v.Class.MayRetry() != v.HoldsAll:
				t.Errorf("%d: class %s may be retried: %v", code, v.Class, v.Class.MayRetry())
			}
		}
	}
	for _, c := range []campaign.Class{
		campaign.ClassNone, campaign.ClassUnknown, campaign.ClassRecipient, campaign.ClassContent, "odd",
	} {
		assert.False(t, c.MayRetry(), c)
	}
}

// A result has the verdict on the answer, and the most precise of what it says.
func TestResultOfAnAnswer(t *testing.T) {
	t.Parallel()
	claim := campaign.Claim{Recipient: "+2290190011234", Attempts: 1}
	at := time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		in    campaign.Answer
		want  campaign.Result
		begun bool
	}{
		{campaign.Answer{Status: 200, ID: "wamid.1", Written: true}, campaign.Result{
			Verdict: campaign.Verdict{Outcome: campaign.Accepted}, WAMID: "wamid.1", Status: 200,
		}, true},
		{campaign.Answer{Status: 200, ID: "wamid.1", WaID: "22990011234", Written: true}, campaign.Result{
			Verdict: campaign.Verdict{Outcome: campaign.Accepted}, WAMID: "wamid.1", WaID: "22990011234", Status: 200,
		}, true},
		{campaign.Answer{Status: 200, ID: "wamid.1", WaID: "2290190011234", Written: true}, campaign.Result{
			Verdict: campaign.Verdict{Outcome: campaign.Accepted}, WAMID: "wamid.1", Status: 200,
		}, true},
		{campaign.Answer{Status: 400, Written: true, Error: &campaign.APIError{Code: 131026, Message: "m", Details: "d"}},
			campaign.Result{Verdict: campaign.JudgeError(400, campaign.APIError{Code: 131026}), Status: 400, Error: "d"}, true},
		{campaign.Answer{Status: 400, Written: true, Error: &campaign.APIError{Code: 131026, Message: "m"}},
			campaign.Result{Verdict: campaign.JudgeError(400, campaign.APIError{Code: 131026}), Status: 400, Error: "m"}, true},
		{campaign.Answer{Written: true, Err: context.Canceled}, campaign.Result{
			Verdict: campaign.Judge(campaign.Answer{Written: true}), Error: "context canceled",
		}, true},
		{campaign.Answer{Err: context.Canceled}, campaign.Result{
			Verdict: campaign.Judge(campaign.Answer{Err: context.Canceled}), Error: "context canceled",
		}, false},
	} {
		tt.want.Claim, tt.want.At, tt.want.Took, tt.want.Dice = claim, at, time.Second, 0.5
		if got := tt.in.Result(claim, at, time.Second, 0.5); !reflect.DeepEqual(got, tt.want) || tt.in.Begun() != tt.begun {
			t.Errorf("%+v:\n%+v, begun %v; want\n%+v", tt.in, got, tt.in.Begun(), tt.want)
		}
	}
}

// docs/whatsapp.md has each code in the row of its class and outcome.
func TestOutcomesAreDocumented(t *testing.T) {
	t.Parallel()
	page := sharedtest.Read(t, "../../docs/whatsapp.md")
	for _, row := range codes {
		for _, code := range row.codes {
			switch {
			case row.class == campaign.ClassOther, code > 200 && code < 299, code == 132008 || code == 132013: // in ranges
				continue
			}
			found := false
			for line := range strings.Lines(string(page)) {
				cells := strings.Split(line, "|")
				found = found || len(cells) > 5 && strings.Contains(cells[1], "`"+string(row.class)+"`") &&
					regexp.MustCompile(fmt.Sprintf(`\b%d\b`, code)).MatchString(cells[2]) &&
					strings.Contains(cells[3], "`"+string(row.outcome)+"`") && (strings.TrimSpace(cells[5]) == "yes") == row.spends
			}
			if !found {
				t.Errorf("the page has no row with code %d, class %s, outcome %s and attempt %v", code, row.class, row.outcome, row.spends)
			}
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	pair := campaign.JudgeError(400, campaign.APIError{Code: 131056})
	for n, want := range []time.Duration{4, 4, 16, 64, 256, 600, 600} {
		assert.Equal(t, want*time.Second, pair.Wait(n, 0), n)
	}
	require.Equal(t, 4500*time.Millisecond, pair.Wait(1, 0.5), "with dice")
	if got := pair.Wait(100_000, 0.99); got < 600*time.Second || got > 750*time.Second {
		t.Errorf("a long row: %s", got)
	}
	require.Zero(t, campaign.Verdict{}.Wait(3, 0.5))
	a := campaign.Answer{Status: 429, Error: &campaign.APIError{Code: 80007}, After: 2 * time.Hour}
	require.Equal(t, 2*time.Hour, campaign.Judge(a).Wait(1, 0), "a wait that the answer asks for")
	a.After = time.Second
	require.Equal(t, 30*time.Second, campaign.Judge(a).Wait(1, 0), "a shorter one")
	a = campaign.Answer{Status: 400, Error: &campaign.APIError{Code: 131026}, After: time.Hour}
	require.Zero(t, campaign.Judge(a).Wait(1, 0), "a wait with nothing to try again")
}
