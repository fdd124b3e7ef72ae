package whatsapp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestChallenge(t *testing.T) {
	t.Parallel()
	ask := func(mode, token, challenge string) url.Values {
		return url.Values{"hub.mode": {mode}, "hub.verify_token": {token}, "hub.challenge": {challenge}}
	}
	for _, tt := range []struct {
		name   string
		query  url.Values
		tokens []string
		want   string
	}{
		{"right", ask("subscribe", "s3cret", "1158201444"), []string{"s3cret"}, "1158201444"},
		{"the old one while it is replaced", ask("subscribe", "old", "1"), []string{"new", "old"}, "1"},
		{"wrong", ask("subscribe", "s3cres", "1"), []string{"s3cret"}, ""},
		{"a part", ask("subscribe", "s3cre", "1"), []string{"s3cret"}, ""},
		{"none given", ask("subscribe", "", "1"), []string{"s3cret"}, ""},
		{"none set", ask("subscribe", "", "1"), []string{""}, ""},
		{"no tokens", ask("subscribe", "", "1"), nil, ""},
		{"another mode", ask("unsubscribe", "s3cret", "1"), []string{"s3cret"}, ""},
		{"no challenge", ask("subscribe", "s3cret", ""), []string{"s3cret"}, ""},
		{"a long challenge", ask("subscribe", "s3cret", strings.Repeat("1", 1001)), []string{"s3cret"}, ""},
		{"nothing", nil, []string{"s3cret"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := whatsapp.Challenge(tt.query, tt.tokens); got != tt.want || ok != (tt.want != "") {
				t.Errorf("Challenge = %q, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	body := []byte(`{"object":"whatsapp_business_account","text":"\u00e9/"}`)
	good := whatsapp.Sign(body, "app secret")
	for _, tt := range []struct {
		name    string
		body    []byte
		header  string
		secrets []string
		want    bool
	}{
		{"right", body, good, []string{"app secret"}, true},
		{"the old secret while it is replaced", body, good, []string{"new secret", "app secret"}, true},
		{"upper case", body, "sha256=" + strings.ToUpper(good[7:]), []string{"app secret"}, true},
		{"another secret", body, good, []string{"app secres"}, false},
		{"no secrets", body, good, nil, false},
		{"an empty secret", body, whatsapp.Sign(body, ""), []string{""}, false},
		{"one byte more", append([]byte(" "), body...), good, []string{"app secret"}, false},
		{"the same JSON, written otherwise", []byte(`{"object":"whatsapp_business_account","text":"é/"}`), good,
			[]string{"app secret"}, false},
		{"no header", body, "", []string{"app secret"}, false},
		{"no prefix", body, good[7:], []string{"app secret"}, false},
		{"sha1", body, "sha1=" + good[7:47], []string{"app secret"}, false},
		{"not hex", body, "sha256=zz", []string{"app secret"}, false},
		{"too short", body, good[:20], []string{"app secret"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, whatsapp.Signed(tt.body, tt.header, tt.secrets))
		})
	}
	// The value that openssl has: printf '{}' | openssl dgst -sha256 -hmac secret
	require.Equal(t, "sha256=77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13",
		whatsapp.Sign([]byte("{}"), "secret"))
}

// now is when the events of these tests arrive.
var now = time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)

// Each file of testdata, shaped as in Meta's reference of the messages webhook, is read to what is in its golden file.
func TestReadEvent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.json") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			e, err := whatsapp.ReadEvent(body)
			require.NoError(t, err)
			got, err := json.MarshalIndent(map[string]any{
				"event": e, "reports": e.Reports(now), "inbounds": e.Inbounds(now),
			}, "", " ")
			require.NoError(t, err)
			golden := strings.TrimSuffix(file, ".json") + ".golden.json"
			if *update {
				require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		})
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	read := func(name string) whatsapp.Event {
		body, err := os.ReadFile("testdata/" + name + ".json")
		require.NoError(t, err)
		e, err := whatsapp.ReadEvent(body)
		require.NoError(t, err)
		return e
	}
	id := uuid.MustParse("0198c5f2-7b1e-5c3d-9e4f-2a6b8c0d1e2f")

	batch := read("batch")
	reports := batch.Reports(now)
	require.Len(t, reports, 4)
	for i, want := range []campaign.Status{
		campaign.MessageRead, campaign.MessageDelivered, campaign.MessageSent, campaign.MessageSent,
	} {
		require.Equal(t, want, reports[i].Status, "in the order of the body")
	}
	require.Equal(t, id, reports[0].Message)
	require.Zero(t, reports[3].Message, "a callback that is not ours")
	require.Equal(t, time.Unix(1750263790, 0).UTC(), reports[0].At)
	require.Equal(t, []campaign.Inbound{{
		PhoneNumberID: "106540352242922", From: "16505551234", Text: "STOP", At: time.Unix(1750263791, 0).UTC(),
	}}, batch.Inbounds(now))

	failed := read("failed").Reports(now)
	require.Len(t, failed, 1)
	require.Equal(t, campaign.MessageFailed, failed[0].Status)
	require.Equal(t, campaign.ClassMarketing, failed[0].Verdict.Class)
	require.Equal(t, 131049, failed[0].Verdict.Code)
	require.Contains(t, failed[0].Error, "(recipient) failed to be delivered")
	require.NotContains(t, failed[0].Error, "16505551234")

	require.Equal(t, campaign.ClassOther, read("failed_without_error").Reports(now)[0].Verdict.Class)

	odd := read("unknown_kinds")
	require.Len(t, odd.Statuses, 5, "the unknown ones are kept")
	reports = odd.Reports(now)
	require.Len(t, reports, 3)
	require.Equal(t, campaign.MessageRead, reports[0].Status, "a voice message that was played was read")
	require.Equal(t, 131026, reports[1].Verdict.Code, "a code that is a string, beside members of other types")
	require.Equal(t, campaign.ClassOther, reports[2].Verdict.Class, "an error without a code is not code 0")
	require.Len(t, odd.Others, 2, "a status without an id, and errors of the sender, are kept as they came")
	require.Equal(t, now, odd.Inbounds(now)[1].At, "a message without a time came now")
	require.Equal(t, []campaign.Inbound{{
		PhoneNumberID: "106540352242922", User: "US.13491208655302741918",
		ReplyTo: "wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI3MTE5MjY3N0YxNTEzQjQ1NjYA",
		Text:    "Stop promotions", Chosen: true, At: time.Unix(1749416383, 0).UTC(),
	}}, read("user_without_phone").Inbounds(now))
	require.Equal(t, "US.13491208655302741918", read("user_without_phone").Reports(now)[0].User)
	require.Equal(t, 1, read("user_without_phone").Urgent())
	require.Equal(t, 3, read("user_preferences").Urgent())
	require.Equal(t, campaign.Inbound{
		PhoneNumberID: "106540352242922", User: "US.13491208655302741918", Wish: campaign.WishStop,
		At: time.Unix(1731705724, 0).UTC(),
	}, read("user_preferences").Inbounds(now)[2])
	require.Equal(t, "106540352242922", batch.Reports(now)[0].PhoneNumberID)
	require.Equal(t, "7794189252778687", batch.Reports(now)[3].PhoneNumberID)
	require.Equal(t, "US.13491208655302741918", read("user_without_phone").Messages[0].User)
	require.Equal(t, "account_update", read("account_update").Others[0].Field)
}

func TestReadEventRefuses(t *testing.T) {
	t.Parallel()
	many := `{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":{"statuses":[` +
		strings.TrimSuffix(strings.Repeat(`{"id":"1","status":"sent"},`, 10_001), ",") + `]}}]}]}`
	for name, body := range map[string]string{
		"nothing":        "",
		"not JSON":       "<html>",
		"a list":         "[]",
		"another object": `{"object":"page","entry":[]}`,
		"too many parts": many,
		"too large":      `{"object":"whatsapp_business_account","x":"` + strings.Repeat("x", whatsapp.MaxEvent) + `"}`,
		"deep":           strings.Repeat("[", 100_000),
	} {
		_, err := whatsapp.ReadEvent([]byte(body))
		if class, _ := fault.Of(err); class != fault.Invalid {
			t.Errorf("%s: %v; want an invalid one", name, err)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

// Whatever the body is, it is read without a panic, and every part of it is somewhere.
func FuzzReadEvent(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := whatsapp.ReadEvent(body)
		if err != nil {
			return
		}
		for _, r := range e.Reports(now) {
			if r.At.IsZero() || r.WAMID == "" || strings.ContainsRune(fmt.Sprint(r), 0) {
				t.Errorf("report %+v", r)
			}
		}
		e.Inbounds(now)
	})
}

// A button stops by its payload, too, which is in one language whatever is written on the button.
func TestStopsByPayload(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]campaign.Wish{
		`"type":"button","button":{"text":"Ne plus recevoir d'offres","payload":"STOP"}`:                                      campaign.WishStop,
		`"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"OPT_OUT","title":"No more offers"}}`: campaign.WishStop,
		`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"unsubscribe","title":"Salir"}}`:          campaign.WishStop,
		`"type":"button","button":{"text":"Remove","payload":"b1"}`:                                                           "",
		`"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"b1","title":"Remove"}}`:              "",
		`"type":"text","text":{"body":"Remove"}`:                                                                              campaign.WishStop,
		`"type":"button","button":{"text":"STOP","payload":"b1"}`:                                                             campaign.WishStop,
		`"type":"button","button":{"text":"Cancel my visit","payload":"CANCEL"}`:                                              "",
		`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"baja","title":"Planta baja"}}`:           "",
		`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"arret","title":"Près d'un arrêt"}}`:      "",
		`"type":"button","button":{"text":"Yes","payload":"yes"}`:                                                             "",
	} {
		require.Equal(t, want, wish(t, message), message)
	}
}

// wish is what the writer of a message wants.
func wish(t *testing.T, message string) campaign.Wish {
	t.Helper()
	e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages",
		"value":{"metadata":{"phone_number_id":"2"},"messages":[{"id":"wamid.1","from":"15145550123","timestamp":"1749854575",` +
		message + `}]}}]}]}`))
	require.NoError(t, err)
	in := e.Inbounds(now)
	require.Len(t, in, 1)
	return in[0].Wants()
}

// A message that its writer has edited says what it says now.
func TestReadsEdits(t *testing.T) {
	t.Parallel()
	edit := func(message string) string {
		return `"type":"edit","edit":{"original_message_id":"wamid.0","message":{` + message + `}}`
	}
	for message, want := range map[string]campaign.Wish{
		edit(`"type":"text","text":{"body":"STOP"}`):                                                      campaign.WishStop,
		edit(`"type":"text","text":{"body":"Start"}`):                                                     campaign.WishResume,
		edit(`"type":"image","image":{"id":"1","caption":"Stop, please"}`):                                campaign.WishStop,
		edit(`"type":"text","text":{"body":"See you"}`):                                                   "",
		edit(`"type":"text","text":"STOP"`):                                                               "",
		`"type":"edit","edit":{}`:                                                                         "",
		`"type":"edit","text":{"body":"STOP"},"edit":{"message":{"type":"text","text":{"body":"Hello"}}}`: "",
		`"type":"revoke","revoke":{"original_message_id":"wamid.0"}`:                                      "",
	} {
		require.Equal(t, want, wish(t, message), message)
	}
}

// What comes while an agent of Meta's answers for a sender is in a member of its own. What the agent says is no wish.
func TestReadsStandby(t *testing.T) {
	t.Parallel()
	read := func(standby string) whatsapp.Event {
		e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"standby",
			"value":{"messaging_product":"whatsapp","metadata":{"phone_number_id":"2"},"contacts":[{"wa_id":"15145550123",
			"user_id":"CA.1"}],"standby":` + standby + `}}]}]}`))
		require.NoError(t, err)
		return e
	}
	stop := `{"from":"15145550123","id":"wamid.1","timestamp":"1750101000","type":"text","text":{"body":"Stop"}}`
	e := read(`{"messages":[` + stop + `],"statuses":[{"id":"wamid.2","status":"delivered","timestamp":"1750101000"}]}`)
	require.Equal(t, []campaign.Inbound{{
		PhoneNumberID: "2", From: "15145550123", User: "CA.1", Text: "Stop", At: time.Unix(1750101000, 0).UTC(),
	}}, e.Inbounds(now))
	require.Equal(t, []campaign.Report{{
		PhoneNumberID: "2", WAMID: "wamid.2", Status: campaign.MessageDelivered, At: time.Unix(1750101000, 0).UTC(),
	}}, e.Reports(now))
	require.Empty(t, e.Others)
	e = read(`{"messages":[` + stop + `]},"messages":[` + stop + `],"statuses":[{"id":"wamid.2","status":"read"}],"x":{}`)
	require.Len(t, e.Inbounds(now), 2, "beside the member, too")
	require.Len(t, e.Reports(now), 1)
	for _, other := range []string{`{}`, `null`, `[]`, `{"message_echoes":[` + stop + `]}`, `{"standby":{"messages":[` + stop + `]}}`} {
		e := read(other)
		require.Empty(t, e.Inbounds(now), other)
		require.Len(t, e.Others, 1, other)
	}
}

// A person gets another user ID with another number: who writes under it later is that person.
func TestReadsUserChanges(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]campaign.Inbound{
		`"system":{"type":"user_changed_user_id","previous_user_id":"CA.1","user_id":"CA.2"}`: {User: "CA.2", WasUser: "CA.1"},
		`"from":"15145550123","from_user_id":"CA.1","system":{"type":"user_changed_number","wa_id":"15145550124",
			"previous_user_id":"CA.1","user_id":"CA.2"}`: {From: "15145550123", User: "CA.2", WasUser: "CA.1"},
		`"from":"15145550123","system":{"type":"user_changed_number","wa_id":"15145550124"}`: {From: "15145550123"},
		`"system":{"type":"user_changed_user_id","user_id":"CA.2"}`:                          {User: "CA.2"},
	} {
		e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages",
			"value":{"metadata":{"phone_number_id":"2"},"messages":[{"id":"wamid.1","timestamp":"1749854575","type":"system",` +
			system + `}]}}]}]}`))
		require.NoError(t, err)
		want.PhoneNumberID, want.At = "2", time.Unix(1749854575, 0).UTC()
		require.Equal(t, []campaign.Inbound{want}, e.Inbounds(now))
		require.Equal(t, 1, e.Urgent())
	}
}

// A person who has stopped may begin again by a word; a button does not, for its words are those of the sender.
func TestStartsByText(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]campaign.Wish{
		`"type":"text","text":{"body":"START"}`:                                         campaign.WishResume,
		`"type":"text","text":{"body":"Unstop, please"}`:                                campaign.WishResume,
		`"type":"text","text":{"body":"Me réabonner svp"}`:                              campaign.WishResume,
		`"type":"text","text":{"body":"Resume promotions"}`:                             campaign.WishResume,
		`"type":"text","text":{"body":"Reprendre les promotions"}`:                      campaign.WishResume,
		`"type":"text","text":{"body":"start messages now"}`:                            "",
		`"type":"text","text":{"body":"start by tomorrow"}`:                             "",
		`"type":"text","text":{"body":"Stop"}`:                                          campaign.WishStop,
		`"type":"button","button":{"text":"Start","payload":"START"}`:                   "",
		`"type":"image","image":{"caption":"Start"}`:                                    "",
		`"type":"interactive","interactive":{"button_reply":{"id":"b","title":"Alta"}}`: "",
	} {
		require.Equal(t, want, wish(t, message), message)
	}
}

// A number is read with a plus, too, as in the reference of messages of groups.
func TestReadsNumbersWithPlus(t *testing.T) {
	t.Parallel()
	e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages",
		"value":{"metadata":{"phone_number_id":"2"},"contacts":[{"wa_id":"15145550123","user_id":"CA.1"}],
		"messages":[{"id":"wamid.1","from":"+15145550123","type":"text","text":{"body":"Stop"}}],
		"statuses":[{"id":"wamid.2","status":"read","recipient_id":"+15145550124"}]}},{"field":"user_preferences",
		"value":{"user_preferences":[{"wa_id":"+15145550123","category":"marketing_messages","value":"stop"}]}}]}]}`))
	require.NoError(t, err)
	require.Equal(t, []campaign.Inbound{
		{PhoneNumberID: "2", From: "15145550123", User: "CA.1", Text: "Stop", At: now},
		{From: "15145550123", Wish: campaign.WishStop, At: now},
	}, e.Inbounds(now))
	require.Equal(t, "15145550124", e.Reports(now)[0].WaID)
	require.Equal(t, 2, e.Urgent())
}

// What only the contacts beside a status or a message say of its person counts, too.
func TestReadsContacts(t *testing.T) {
	t.Parallel()
	read := func(contacts, parts string) whatsapp.Event {
		e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages",
			"value":{"metadata":{"phone_number_id":"2"},"contacts":[` + contacts + `],` + parts + `}}]}]}`))
		require.NoError(t, err)
		return e
	}
	const one, two = `{"wa_id":"15145550123","user_id":"CA.1"}`, `{"wa_id":"15145550124","user_id":"CA.2"}`
	const stop = `"messages":[{"id":"wamid.1","type":"text","text":{"body":"Stop"}}]`
	const status = `"statuses":[{"id":"wamid.2","status":"read","recipient_id":"15145550124"}]`
	require.Equal(t, "CA.2", read(one+","+two, status).Reports(now)[0].User)
	require.Equal(t, "CA.2", read(`{"wa_id":"+15145550124","user_id":"CA.2"}`, status).Reports(now)[0].User)
	require.Empty(t, read(one, status).Reports(now)[0].User)
	require.Equal(t, []campaign.Inbound{{PhoneNumberID: "2", From: "15145550123", User: "CA.1", Text: "Stop", At: now}},
		read(one, stop).Inbounds(now))
	require.Empty(t, read(one+","+two, stop).Messages, "it may be of either")
	require.Empty(t, read(`{"profile":{"name":"Zoe"}}`, stop).Messages)
	require.Len(t, read(one+","+two, stop).Others, 1)
}

// The kinds of events that there are, and what is odd in one: reports and wishes of it count, and what may have been a
// person's message is told.
func TestKindsOfEvents(t *testing.T) {
	t.Parallel()
	const stop = `{"id":"wamid.1","from":"15145550123","timestamp":"1750101000","type":"text","text":{"body":"Stop"}}`
	const meta = `"metadata":{"phone_number_id":"2"},`
	change := func(field, value string) string {
		return `{"id":"1","changes":[{"field":"` + field + `","value":` + value + `}]}`
	}
	messages := func(list string) string { return change("messages", `{`+meta+`"messages":[`+list+`]}`) }
	says := func(content string) string {
		return messages(`{"id":"wamid.1","from":"15145550123","timestamp":"1750101000",` + content + `}`)
	}
	status := func(list string) string { return change("messages", `{`+meta+`"statuses":[`+list+`]}`) }
	good := messages(stop)
	for name, tt := range map[string]struct {
		entries string
		want    string // stops, reports
		unread  bool
	}{
		"statuses out of order": {status(`{"id":"w","status":"read","timestamp":"3"},{"id":"w","status":"delivered","timestamp":"2"},
			{"id":"w","status":"sent","timestamp":"1"}`), "0 3", false},
		"several errors":       {status(`{"id":"w","status":"failed","timestamp":"3","errors":[{"code":131026},{"code":131000}]}`), "0 1", false},
		"errors that are none": {status(`{"id":"w","status":"failed","timestamp":"3","errors":{"code":131026}}`), "0 1", false},
		"a status by user ID":  {status(`{"id":"w","status":"sent","timestamp":"3","recipient_user_id":"CA.1","recipient_parent_user_id":"CA.ENT.1"}`), "0 1", false},
		"a payment":            {status(`{"id":"w","status":"captured","type":"payment","timestamp":"3","payment":{"reference_id":"1"}}`), "0 0", false},
		"a status without ID":  {status(`{"status":"sent","timestamp":"3"},{"id":"w","status":"sent","timestamp":"3"}`), "0 1", false},
		"a preference by user ID": {change("user_preferences", `{`+meta+`"user_preferences":[{"user_id":"CA.1","category":"marketing_messages",
			"value":"stop","timestamp":1750101000}]}`), "1 0", false},
		"a preference of another kind": {change("user_preferences", `{`+meta+`"user_preferences":[{"wa_id":"15145550123",
			"category":"all_messages","value":"stop","timestamp":1750101000}]}`), "0 0", true},
		"template status":  {change("message_template_status_update", `{"event":"PAUSED","message_template_id":1,"reason":"NONE"}`) + "," + good, "1 0", false},
		"template quality": {change("message_template_quality_update", `{"previous_quality_score":"GREEN","new_quality_score":"RED"}`) + "," + good, "1 0", false},
		"account":          {change("account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"DISABLE"}}`) + "," + good, "1 0", false},
		"quality":          {change("phone_number_quality_update", `{"display_phone_number":"1","event":"FLAGGED","current_limit":"TIER_1K"}`), "0 0", false},
		"a value of text":  {change("security", `"PIN_CHANGED"`) + "," + good, "1 0", false},
		"an echo":          {change("smb_message_echoes", `{`+meta+`"message_echoes":[`+stop+`]}`), "0 0", false},
		"history":          {change("history", `{`+meta+`"history":[{"metadata":{"phase":0},"threads":[{"id":"15145550123","messages":[`+stop+`]}]}]}`), "1 0", false},
		"calls":            {change("calls", `{`+meta+`"calls":[{"id":"wacid.1","from":"15145550123","event":"connect"}]}`), "0 0", false},
		"errors":           {change("messages", `{`+meta+`"errors":[{"code":130429}]}`), "0 0", false},
		"unsupported":      {says(`"type":"unsupported","errors":[{"code":131051,"title":"Unsupported"}]`), "0 0", false},
		"a reaction":       {says(`"type":"reaction","reaction":{"message_id":"w","emoji":"🛑"}`), "0 0", false},
		"one taken back":   {says(`"type":"reaction","reaction":{"message_id":"w"}`), "0 0", false},
		"contacts":         {says(`"type":"contacts","contacts":[{"name":{"formatted_name":"Stop"}}]`), "0 0", false},
		"a place":          {says(`"type":"location","location":{"latitude":1,"longitude":2,"name":"Stop"}`), "0 0", false},
		"an order":         {says(`"type":"order","order":{"catalog_id":"1","text":"Stop","product_items":[]}`), "0 0", false},
		"a form":           {says(`"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"response_json":"{}","body":"Sent","name":"flow"}}`), "0 0", false},
		"a button":         {says(`"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"1","title":"Stop promotions"}}`), "1 0", false},
		"a row":            {says(`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"1","title":"Unsubscribe","description":"x"}}`), "1 0", false},
		"in a group":       {says(`"group_id":"g1","type":"text","text":{"body":"STOP"}`), "1 0", false},
		"from an advert":   {says(`"type":"text","text":{"body":"STOP"},"referral":{"source_url":"https://fb.me/1","ctwa_clid":"x"}`), "1 0", false},

		"a text that is none":        {says(`"type":"text","text":"STOP"`) + "," + good, "1 0", true},
		"a number beside an entry":   {`5,` + good, "1 0", true},
		"an ID that is a number":     {strings.Replace(good, `"id":"1"`, `"id":1`, 1), "1 0", true},
		"changes that are none":      {`{"id":"1","changes":{"field":"messages"}},` + good, "1 0", true},
		"a change that is none":      {`{"id":"1","changes":["messages"]},` + good, "1 0", true},
		"a field that is none":       {`{"id":"1","changes":[{"field":["messages"],"value":{}}]},` + good, "1 0", true},
		"a value that is none":       {change("messages", `"STOP"`) + "," + good, "1 0", true},
		"messages that are none":     {change("messages", `{`+meta+`"messages":`+stop+`}`) + "," + good, "1 0", true},
		"a message that is none":     {messages(`"STOP",` + stop), "1 0", true},
		"a message without ID":       {messages(`{"from":"15145550123","type":"text","text":{"body":"Stop"}},` + stop), "1 0", true},
		"a writer who is a number":   {messages(`{"id":"wamid.2","from":15145550124,"type":"text","text":{"body":"Stop"}},` + stop), "1 0", true},
		"nobody's":                   {messages(`{"id":"wamid.2","type":"text","text":{"body":"Stop"}},` + stop), "1 0", true},
		"a sender that is a number":  {strings.Replace(good, `"phone_number_id":"2"`, `"phone_number_id":2`, 1), "1 0", true},
		"no sender":                  {strings.Replace(good, meta, "", 1), "1 0", true},
		"a preference that is none":  {change("user_preferences", `{`+meta+`"user_preferences":["stop"]}`) + "," + good, "1 0", true},
		"a preference of nobody":     {change("user_preferences", `{`+meta+`"user_preferences":[{"category":"marketing_messages","value":"stop"}]}`), "0 0", true},
		"standby that is none":       {change("standby", `{`+meta+`"standby":"x"}`) + "," + good, "1 0", true},
		"contacts that are none":     {change("messages", `{`+meta+`"contacts":{},"messages":[`+stop+`]}`), "1 0", true},
		"a number between statuses":  {status(`7,{"id":"w","status":"sent","timestamp":"3"}`) + "," + good, "1 1", false},
		"nothing but what is odd":    {`"x"`, "0 0", true},
		"a time that is an object":   {says(`"timestamp":{},"type":"text","text":{"body":"STOP"}`), "1 0", false},
		"a context that is a number": {says(`"context":7,"type":"text","text":{"body":"STOP"}`), "1 0", true},
	} {
		e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[` + tt.entries + `]}`))
		require.NoError(t, err, name)
		stops := 0
		for _, in := range e.Inbounds(now) {
			if in.Wants() == campaign.WishStop {
				stops++
			}
		}
		require.Equal(t, tt.want, fmt.Sprintf("%d %d", stops, len(e.Reports(now))), name)
		require.Equal(t, tt.unread, e.Unread != "", "%s: %s", name, e.Unread)
		require.NotContains(t, e.Unread, "1514", name)
	}
}

// A number that was in use before it was connected brings its chats: who wrote a stop in them wants no messages.
func TestReadsHistory(t *testing.T) {
	t.Parallel()
	const thread = `"id":"15145550123"`
	at := time.Unix(1749854575, 0).UTC()
	stop := campaign.Inbound{PhoneNumberID: "2", From: "15145550123", Text: "STOP", At: at}
	start := campaign.Inbound{PhoneNumberID: "2", From: "15145550123", Text: "Start", Wish: campaign.WishResume, At: at}
	named := stop
	named.User = "CA.1"
	hidden := named
	hidden.From = ""
	undated := stop
	undated.At = now
	for name, tt := range map[string]struct {
		thread, message string
		want            []campaign.Inbound
	}{
		"a stop":                 {thread, `"from":"15145550123","type":"text","text":{"body":"STOP"}`, []campaign.Inbound{stop}},
		"with a plus":            {`"id":"+15145550123"`, `"from":"15145550123","type":"text","text":{"body":"STOP"}`, []campaign.Inbound{stop}},
		"a wish for more":        {thread, `"from":"15145550123","type":"text","text":{"body":"Start"}`, []campaign.Inbound{start}},
		"a stop of no time":      {thread, `"timestamp":"","from":"15145550123","type":"text","text":{"body":"STOP"}`, []campaign.Inbound{undated}},
		"more, of no time":       {thread, `"timestamp":"","from":"15145550123","type":"text","text":{"body":"Start"}`, nil},
		"anything else":          {thread, `"from":"15145550123","type":"text","text":{"body":"Until when are you open?"}`, nil},
		"a picture":              {thread, `"from":"15145550123","type":"media_placeholder"`, nil},
		"ours":                   {thread, `"from":"15145550199","type":"text","text":{"body":"STOP"}`, nil},
		"ours, to the person":    {thread, `"from":"15145550199","to":"15145550123","type":"text","text":{"body":"STOP"}`, nil},
		"to the person":          {thread, `"from":"15145550123","to":"15145550123","type":"text","text":{"body":"STOP"}`, nil},
		"to the user":            {thread, `"from":"15145550123","to_user_id":"CA.1","type":"text","text":{"body":"STOP"}`, nil},
		"by ourselves":           {thread, `"from":"15145550123","history_context":{"from_me":true},"type":"text","text":{"body":"STOP"}`, nil},
		"not by ourselves":       {thread, `"from":"15145550123","history_context":{"status":"pending"},"type":"text","text":{"body":"STOP"}`, []campaign.Inbound{stop}},
		"of a user with a phone": {thread + `,"context":{"user_id":"CA.1"}`, `"from":"15145550123","type":"text","text":{"body":"STOP"}`, []campaign.Inbound{named}},
		"of a user":              {`"context":{"user_id":"CA.1"}`, `"from_user_id":"CA.1","type":"text","text":{"body":"STOP"}`, []campaign.Inbound{hidden}},
		"of another user":        {`"context":{"user_id":"CA.1"}`, `"from_user_id":"CA.2","type":"text","text":{"body":"STOP"}`, nil},
		"of nobody":              {thread, `"type":"text","text":{"body":"STOP"}`, nil},
		"by a context":           {`"context":{"wa_id":"15145550123"}`, `"from":"15145550123","type":"text","text":{"body":"STOP"}`, []campaign.Inbound{stop}},
	} {
		e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"history",
			"value":{"metadata":{"phone_number_id":"2"},"history":[{"metadata":{"phase":0},"threads":[{` + tt.thread +
			`,"messages":[{"id":"wamid.1","timestamp":"1749854575",` + tt.message + `}]}]}]}}]}]}`))
		require.NoError(t, err, name)
		require.Equal(t, tt.want, e.Inbounds(now), name)
		require.Empty(t, e.Unread, name)
		require.Len(t, e.Others, 1, name)
	}
	e, err := whatsapp.ReadEvent([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"history",
		"value":{"history":[{"errors":[{"code":2593109}]},{"threads":[{` + thread + `,"messages":[{"id":"wamid.1","from":"15145550123",
		"type":"text","text":{"body":"STOP"}}]}]}]}}]}]}`))
	require.NoError(t, err)
	require.NotEmpty(t, e.Unread, "nothing tells whose sender it is")
}
