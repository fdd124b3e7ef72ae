package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
)

// Lists, segments, opt-outs and single messages: each command asks for what it says, and prints what it is answered. Not
// parallel: see printed.
func TestContactsAndMessages(t *testing.T) {
	const id = "3f1c2a7e-5b1d-4a55-9d20-8d1f6f0c9a11"
	const optOuts = "GET /opt-outs?limit=50&tenant=acme"
	vip := apioutreach.Segment{ID: uuid.MustParse(id), Name: "VIPs"}
	vip.Filter.Tag = "vip"
	message := apioutreach.MessageDetail{
		Message: apioutreach.Message{
			ID: vip.ID, State: "failed", To: "+1514…99", Attempts: 1, Class: "recipient", Error: "no such\x1b number",
			Body: &campaign.Body{Text: &campaign.Text{Body: "Hi"}},
		},
		Timeline: []apioutreach.MessageEvent{
			{At: noon, Event: "queued"},
			{At: noon, Event: "attempt", Attempt: &apioutreach.MessageAttempt{N: 1, TookMS: 70, Outcome: "failed", Error: "no"}},
		},
	}
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		path, _, _ := strings.Cut(strings.Fields(ask)[1], "?")
		switch {
		case ask == "GET /contact-lists?tenant=acme":
			return apioutreach.ContactLists{Items: []apioutreach.ContactList{{ID: vip.ID, Name: "News", Members: new(int64(7))}}}
		case path == "/contact-lists":
			return apioutreach.ContactList{ID: vip.ID, Name: "News"}
		case strings.HasSuffix(path, "/members"):
			return apioutreach.MembersChanged{Added: 2, Removed: 1}
		case ask == "GET /segments?tenant=acme":
			return apioutreach.Segments{Items: []apioutreach.Segment{vip}}
		case strings.HasPrefix(path, "/segments"):
			return vip
		case ask == optOuts:
			return api.Page[apioutreach.ContactOptOut]{Items: []apioutreach.ContactOptOut{{
				Contact: 7, Phone: "+15145550199", Name: "Ann", Source: "message", At: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC),
			}}}
		case path == "/senders":
			return apioutreach.SenderList{Items: []apioutreach.Sender{{ID: senderOne, Name: "Support"}}}
		case ask == "GET /messages?limit=50&state=failed&tenant=acme":
			return api.Page[apioutreach.Message]{Items: []apioutreach.Message{message.Message}}
		case strings.HasPrefix(path, "/messages"):
			return message
		}
		return ""
	})
	const lists, segments = "GET /contact-lists?tenant=acme", "GET /segments?tenant=acme"
	const filter = `"filter":{"tag":"vip"}}`
	send := `{"sender":"` + senderOne.String() + `","to":"+15145550199","body":{"type":"text","text":{"body":"Hi"}}}`
	for line, want := range map[string]struct {
		asked []string
		says  string
	}{
		"contacts lists list":                                  {[]string{lists}, "(?s)^ID .*News +7 "},
		"contacts lists list --json":                           {[]string{lists}, `"members": 7`},
		"contacts lists create News":                           {[]string{`POST /contact-lists?tenant=acme {"name":"News"}`}, "News +- "},
		"contacts lists members News --add 1,2":                {[]string{lists, `POST /contact-lists/ID/members?tenant=acme {"add":[1,2]}`}, "^2 contacts added, 1 removed"},
		"contacts lists members ID --remove 3":                 {[]string{`POST /contact-lists/ID/members?tenant=acme {"remove":[3]}`}, "^2 contacts added"},
		"contacts lists members ID":                            {nil, "say which contacts: --add or --remove"},
		"contacts lists delete News":                           {[]string{lists, "DELETE /contact-lists/ID?tenant=acme"}, "^list News is deleted"},
		"contacts lists delete ":                               {nil, "expected the ID or name of a list"}, // an empty argument
		"contacts lists delete Old":                            {[]string{lists}, `there is no list "Old"; there are: News`},
		"contacts segments list":                               {[]string{segments}, `(?s)^ID .*VIPs .*{"tag":"vip"}`},
		"contacts segments show VIPs":                          {[]string{segments, "GET /segments/ID?tenant=acme"}, "VIPs"},
		`contacts segments create VIPs --filter {"tag":"vip"}`: {[]string{`POST /segments?tenant=acme {"name":"VIPs",` + filter}, "VIPs"},
		"contacts segments create VIPs --filter null":          {nil, "read --filter: expected conditions"},
		"contacts segments show ":                              {nil, "expected the ID or name of a segment"},
		"contacts segments set VIPs --name Best": {
			[]string{segments, `PATCH /segments/ID?tenant=acme {"name":"Best"}`}, "VIPs",
		},
		`contacts segments set ID --filter {"tag":"a"}`: {
			[]string{`PATCH /segments/ID?tenant=acme {"filter":{"tag":"a"}}`}, "VIPs",
		},
		"contacts segments set VIPs":            {nil, "say what to change: --name or --filter"},
		"contacts segments delete ID":           {[]string{"DELETE /segments/ID?tenant=acme"}, "^segment ID is deleted"},
		"contacts opt-outs":                     {[]string{optOuts}, "(?s)^CONTACT .*7 +.15145550199 +- +Ann +message +2026-10-01 12:00:00"},
		"contacts opt-out +15145550199 --yes":   {[]string{`POST /opt-outs?tenant=acme {"phone":"+15145550199"}`}, "never written to again"},
		"contacts opt-out jo@example.org --yes": {[]string{`POST /opt-outs?tenant=acme {"email":"jo@example.org"}`}, "never written to again"},
		"messages send +15145550199 --text Hi":  {[]string{"GET /senders?tenant=acme", "POST /messages?tenant=acme " + send}, "state +failed"},
		"messages send +15145550199":            {nil, "nothing to send: give --text or --template"},
		"messages show ID":                      {[]string{"GET /messages/ID?tenant=acme"}, "(?s)error +no such  number\n.* attempt 1: failed after 70 ms, no\n"},
		"messages show ID --json":               {[]string{"GET /messages/ID?tenant=acme"}, `"timeline"`},
		"messages list --state failed":          {[]string{"GET /messages?limit=50&state=failed&tenant=acme"}, "recipient"},
		"messages list --state Failed":          {[]string{"GET /messages?limit=50&state=failed&tenant=acme"}, "recipient"},
		"messages retry ID":                     {[]string{"POST /messages/ID/retry?tenant=acme"}, "^message +ID"},
	} {
		asked = nil
		args := strings.Split(strings.ReplaceAll(line+" --tenant acme", "ID", id), " ")
		text := printed(t, func() error {
			err := run(t, url, args...)
			if err != nil {
				_, err = io.WriteString(os.Stdout, err.Error())
			}
			return err
		})
		for i := range asked {
			asked[i] = strings.ReplaceAll(asked[i], id, "ID")
		}
		require.Equal(t, want.asked, asked, line)
		require.Regexp(t, want.says, strings.ReplaceAll(text, id, "ID"), line)
	}
}

// Conditions are one object: no text and null are none, and nothing that stands behind them is lost.
func TestContactFilter(t *testing.T) {
	t.Parallel()
	vip := &contact.Filter{Tag: "vip"}
	for text, want := range map[string]struct {
		filter *contact.Filter
		err    string
	}{
		"":                           {nil, ""},
		"null":                       {nil, ""},
		`{"tag":"vip"} `:             {vip, ""},
		`{"tag":"vip"}{"tag":"new"}`: {vip, "expected one JSON object"},
		`{"tag":"vip"}}`:             {vip, "expected one JSON object"},
		`{"tag":"vip","tags":[]}`:    {vip, `json: unknown field "tags"`},
	} {
		var f contactFilter
		err := f.UnmarshalText([]byte(text))
		if want.err == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, want.err, text)
		}
		require.Equal(t, want.filter, f.Filter, text)
	}
}

// Nobody is opted out without an answer.
func TestOptOutAsks(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := contactsOptOutCmd{Person: "+15145550199"}
	require.EqualError(t, c.run(t.Context(), ofTenant{}, Client{}, strings.NewReader("no\n"), &out), "not confirmed: nothing was changed")
	require.Contains(t, out.String(), "Never write to +15145550199 again? There is no way back. [y/N]")
}
