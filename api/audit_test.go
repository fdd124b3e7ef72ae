package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// changes are a request for every operation that changes something, by its ID: the path, the body and what is recorded.
func changes(t *testing.T, d *apitest.Door) map[string][3]string {
	t.Helper()

	d.Scrape(t, apitest.Kijiji("1"), "4½", apitest.Now)
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("2"), Title: "4½", RentCents: 90_000}, "", apitest.Now)
	_, err := apitest.Scraped(t, d).PutSearch(t.Context(), scrape.Search{Platform: "kijiji", Name: "rooms"}, dblistings.SearchPut{URL: apitest.SearchURL},
		db.AuditEntry{At: apitest.Now, Actor: "Ginette", Action: "platform_search.put", Subject: "platform/kijiji/rooms"})
	require.NoError(t, err)
	one, other, third := d.Bury(t, "a", 1), d.Bury(t, "b", 2), d.Bury(t, "c", 3)
	fourth := d.Bury(t, "d", 4, func(l *db.DeadLetter) { l.Reason = "doomed" })
	require.NoError(t, d.Letters.Discard(t.Context(), one, "Ginette", apitest.Now))
	apitest.Read[api.KeyMade](t, d.Ask(t, http.MethodPost, "/keys", `{"name":"first","role":"admin"}`), 201)
	replay, event := uuid.New(), uuid.New()
	called := d.RequestDraft(t, `{"url":"https://shop.example/c"}`).EventID
	run := d.Crawl(t)
	d.Fail(t, run, crawl.Failed, 1)
	path := fmt.Sprint("/crawl-runs/", run)
	apitest.Tenant(t, d.Pool, "acme")
	sender := uuid.New()
	key, box, err := apitest.SecretBox(t, "old").Seal(dboutreach.SenderPurpose(sender), []byte("token"))
	require.NoError(t, err)
	require.NoError(t, d.Senders.Store.Add(t.Context(), dboutreach.Sender{
		ID: sender, Tenant: "acme", Name: "Support", PhoneNumberID: "1", BusinessAccountID: "7", CreatedAt: apitest.Now,
	}, db.Sealed{Key: key, Box: box}, "test"))
	plan := dboutreach.Plan{
		Name: "x", Sender: sender, Template: campaign.Body{Type: "text", Text: &campaign.Text{Body: "x"}},
		Audience: campaign.Audience{All: true},
	}
	of := func(state campaign.State) (id, subject string) {
		id = apitest.NewCampaign(t, d.Campaigns.Store, "acme", plan, state).String()
		return "/campaigns/" + id, " campaign/" + id
	}
	draft, drafted := of(campaign.Draft)
	queued, queuing := of(campaign.Queued)
	running, ran := of(campaign.Running)
	list, err := d.Contacts.Store.CreateList(t.Context(), "acme", "Friends", "test", apitest.Now)
	require.NoError(t, err)
	friend := contact.Contact{Email: "friend@example.org", Key: contact.Key("", "friend@example.org")}
	person, _, err := d.Contacts.Store.Put(t.Context(), "acme", friend, dboutreach.KnownUpdate, "test", apitest.Now)
	require.NoError(t, err)
	shown, twin := d.Twins(t, "77")
	_, undone := d.Twins(t, "78")
	said, err := d.Store.DecideHome(t.Context(), dblistings.HomeDecision{
		Home: undone, Verdict: listing.SayDifferent, Listing: undone, By: "test", At: apitest.Now}, nil)
	require.NoError(t, err)
	apitest.StoppedTenant(t, d.Pool, "gone")
	const acme = "?tenant=acme"
	letter, err := d.Messages.Store.Put(t.Context(), "acme", dboutreach.NewMessage{
		ID: uuid.New(), Sender: sender, Recipient: "+15145550199", Body: plan.Template,
	}, apitest.Now)
	require.NoError(t, err)
	message, sent := "/messages/"+letter.ID.String(), " message/"+letter.ID.String()
	kept, dropped := d.SaveSearch(t, "kept"), d.SaveSearch(t, "dropped")
	targeted := d.SaveSearch(t, "targeted")
	feed := apitest.Read[apilistings.SavedSearch](t, d.Get(t, "/searches/"+kept+"?tenant=acme"), 200).Targets[0].ID.String()
	target, _ := d.Subscriber(t, targeted, saved.Email, "j…@example.org")
	hook := d.Hook(t, targeted)
	_, confirmed := d.Subscriber(t, targeted, saved.Email, "j…@example.org")
	_, stopped := d.Subscriber(t, targeted, saved.Email, "j…@example.org")
	return map[string][3]string{
		"claim-listing":          {"/listings/kijiji/2/claim", "", "listing.claimed listing/kijiji/2"},
		"unclaim-listing":        {"/listings/kijiji/2/unclaim", "", "listing.unclaimed listing/kijiji/2"},
		"process-listing":        {"/listings/kijiji/1/process", "", "listing.process_wanted listing/kijiji/1"},
		"decide-duplicate":       {"/duplicates/" + shown.String(), `{"verdict":"different","listing_id":"` + twin.String() + `"}`, "home.decided listing/" + twin.String()},
		"undo-duplicate":         {fmt.Sprintf("/duplicates/verdicts/%d/undo", said.Verdict), "", fmt.Sprint("home.undone home-verdict/", said.Verdict)},
		"request-crawl":          {"/crawl-requests", `{"url":"https://shop.example/p","event_id":"` + event.String() + `"}`, "crawl_request.created crawl-request/" + event.String()},
		"cancel-crawl-request":   {"/crawl-requests/" + called.String() + "/cancel", "", "crawl_request.canceled crawl-request/" + called.String()},
		"run-staleness":          {"/staleness/run", "", "staleness.started workflow/staleness-by-hand"},
		"replay-dead-letter":     {letterPath(one) + "/replay", `{"force":true}`, fmt.Sprint("dead_letter.replayed dead-letter/", one)},
		"replay-dead-letters":    {"/dead-letters/replay", `{"dry_run":false,"limit":1}`, fmt.Sprint("dead_letter.replayed dead-letter/", other)},
		"discard-dead-letters":   {"/dead-letters/discard", `{"dry_run":false,"reason":"doomed"}`, fmt.Sprint("dead_letter.discarded dead-letter/", fourth)},
		"discard-dead-letter":    {letterPath(third), "", fmt.Sprint("dead_letter.discarded dead-letter/", third)},
		"start-replay":           {"/replays", `{"id":"` + replay.String() + `"}`, "replay.started replay/" + replay.String()},
		"cancel-replay":          {"/replays/" + replay.String(), "", "replay.canceled replay/" + replay.String()},
		"set-platform":           {"/platforms/kijiji", `{"max_pages_per_cycle":7}`, "platform.set platform/kijiji"},
		"scrape-platform":        {"/platforms/kijiji/scrape", "", "platform.scrape_wanted platform/kijiji"},
		"pause-platform":         {"/platforms/kijiji/pause", "", "platform.paused platform/kijiji"},
		"resume-platform":        {"/platforms/kijiji/resume", "", "platform.resumed platform/kijiji"},
		"create-key":             {"/keys", `{"name":"second","role":"read"}`, "api_key.created"},
		"revoke-key":             {"/keys/first", "", "api_key.revoked"},
		"start-crawl-run":        {"/crawl-runs", `{"seedUrl":"https://example.org"}`, "crawl_run.started crawl-run/"},
		"pause-crawl-run":        {path + "/pause", "", fmt.Sprint("crawl_run.paused crawl-run/", run)},
		"resume-crawl-run":       {path + "/resume", "", fmt.Sprint("crawl_run.resumed crawl-run/", run)},
		"retry-crawl-run":        {path + "/retry", "", fmt.Sprint("crawl_run.retried crawl-run/", run)},
		"cancel-crawl-run":       {path + "/cancel", "", fmt.Sprint("crawl_run.cancelled crawl-run/", run)},
		"start-reindex":          {"/search/reindex", "", "search.reindex_wanted search/postgres"},
		"delete-pages":           {"/pages?url=" + d.Page(t, "https://example.org/a", "example.org", "A", "words").URL, "", "pages.delete_wanted page/https://example.org/a"},
		"create-contact-list":    {"/contact-lists" + acme, `{"name":"Others"}`, "contact_list.created contact-list/"},
		"export-contacts":        {"/contacts/export" + acme, `{}`, "contacts.exported tenant/acme"},
		"change-contact-list":    {"/contact-lists/" + list.ID.String() + "/members" + acme, fmt.Sprintf(`{"add":[%d]}`, person), "contact_list.changed contact-list/" + list.ID.String()},
		"delete-contact-list":    {"/contact-lists/" + list.ID.String() + acme, "", "contact_list.deleted contact-list/" + list.ID.String()},
		"create-tenant":          {"/tenants", `{"id":"globex","name":"Globex"}`, "tenant.created tenant/globex"},
		"erase-tenant":           {"/tenants/gone/erasure", `{"tenant":"gone"}`, "tenant.erasure_requested tenant/gone"},
		"change-tenant":          {"/tenants/acme", `{"name":"Acme"}`, "tenant.changed tenant/acme"},
		"add-sender":             {"/tenants/acme/senders", strings.Replace(apitest.SenderBody, "Support", "Sales", 1), "sender.created sender/"},
		"change-sender":          {"/tenants/acme/senders/" + sender.String(), `{"per_second":7}`, "sender.changed sender/" + sender.String()},
		"reseal-tokens":          {"/senders/reseal", "", "senders.resealed secret-key/new"},
		"create-campaign":        {"/campaigns" + acme, apitest.CampaignBody(sender.String()), "campaign.created campaign/"},
		"edit-campaign":          {draft + acme, apitest.CampaignBody(sender.String()), "campaign.edited" + drafted},
		"start-campaign":         {draft + "/start" + acme, "", "campaign.scheduled" + drafted},
		"unschedule-campaign":    {queued + "/unschedule" + acme, "", "campaign.unscheduled" + queuing},
		"pause-campaign":         {running + "/pause" + acme, "", "campaign.paused" + ran},
		"resume-campaign":        {running + "/resume" + acme, "", "campaign.resumed" + ran},
		"retry-failed-messages":  {running + "/retry-failed" + acme, "", "campaign.retried" + ran},
		"retry-message":          {message + "/retry" + acme, "", "message.retried" + sent},
		"show-message-recipient": {message + "/recipient" + acme, "", "message.recipient_shown" + sent},
		"cancel-campaign":        {running + "/cancel" + acme, "", "campaign.canceled" + ran},
		"save-search":            {"/searches" + acme, `{"name":"x","filter":{},"targets":[{"kind":"feed"}]}`, "search.saved search/"},
		"change-search":          {"/searches/" + kept + acme, `{"name":"y"}`, "search.changed search/" + kept},
		"add-search-target":      {"/searches/" + kept + "/targets" + acme, `{"kind":"feed"}`, "search.target_added search/" + kept},
		"delete-search-target":   {"/searches/" + targeted + "/targets/" + target + acme, "", "search.target_deleted search/" + targeted},
		"challenge-search-target": {
			"/searches/" + targeted + "/targets/" + hook + "/challenge" + acme, "", "search.target_challenged search/" + targeted,
		},
		"rotate-search-target": {
			"/searches/" + kept + "/targets/" + feed + "/rotate" + acme, "", "search.target_rotated search/" + kept,
		},
		"confirm-subscription": {"/subscriptions/" + confirmed + "/confirm", "", "search.target_confirmed search/" + targeted},
		"unsubscribe":          {"/subscriptions/" + stopped + "/unsubscribe", "", "search.target_stopped search/" + targeted},
		"delete-search":        {"/searches/" + dropped + acme, "", "search.deleted search/" + dropped},
		"forget-listing":       {"/listings/kijiji/9", "", "listing.forgotten listing/" + apitest.Kijiji("9").ID().String()},

		"put-platform-search":    {"/platforms/kijiji/searches/laval", `{"url":"` + apitest.SearchURL + `"}`, "platform_search.put platform/kijiji/laval"},
		"remove-platform-search": {"/platforms/kijiji/searches/rooms", "", "platform_search.removed platform/kijiji/rooms"},
	}
}

// unaudited are operations whose rows are a record of their own, and too many for the audit, those that change nothing,
// of which TestEveryReadOfPersonsIsAudited looks at those that give out persons, and those of sessions, which
// TestSessions looks at.
var unaudited = []string{
	"send-message", "receive-whatsapp-webhook", "search-contacts", "count-contacts",
	"try-search", "open-session", "close-session", "end-sessions",
}

// Every operation that changes something leaves an entry with its caller and its request. One that is missing in changes
// fails here: say what it records.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	requests := changes(t, d)
	maps.Copy(requests, apitest.ContactChanges(t, d))
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	require.NoError(t, json.Unmarshal([]byte(d.Get(t, "/openapi.json").Body), &doc))
	methods := map[string]string{}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			if method != "get" && !slices.Contains(unaudited, o.OperationID) {
				methods[o.OperationID] = strings.ToUpper(method)
				require.Containsf(t, requests, o.OperationID, "%s %s: record it in the audit, and say in changes how", method, path)
			}
		}
	}
	require.Len(t, methods, len(requests))
	order := []string{ // the rest before and after these, in any order
		"claim-listing", "unclaim-listing", "start-replay", "cancel-replay", "scrape-platform", "pause-platform", "resume-platform", "replay-dead-letter",
		"replay-dead-letters", "discard-dead-letter", "pause-crawl-run", "resume-crawl-run", "retry-crawl-run",
		"cancel-crawl-run", "edit-campaign", "start-campaign", "pause-campaign", "resume-campaign", "retry-failed-messages",
		"cancel-campaign", "change-contact-list", "delete-contact-list",
	}
	for id := range requests {
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	for _, id := range order {
		had := len(d.Deeds(t))
		var headers []string
		if strings.HasPrefix(requests[id][1], "--"+apitest.FormBoundary) {
			headers = []string{"Content-Type", apitest.FormType}
		}
		r := d.Ask(t, methods[id], requests[id][0], requests[id][1], headers...)
		require.Less(t, r.Status, 300, "%s: %s", id, r.Body)
		var deed, remote, request string
		require.Greaterf(t, len(d.Deeds(t)), had, "%s left no entry", id)
		require.NoError(t, d.Pool.QueryRow(t.Context(), `SELECT actor || ' ' || action || ' ' || subject, remote, request_id
			FROM audit ORDER BY id DESC LIMIT 1`).Scan(&deed, &remote, &request))
		require.Contains(t, deed, "anonymous "+requests[id][2], id)
		require.Equal(t, "127.0.0.1", remote, id)
		require.Equal(t, r.Header.Get("X-Request-Id"), request, id)
		require.NoError(t, uuid.Validate(request))
	}
}

func TestAuditOverTheAPI(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	admin := f.Key(t, "root", access.Admin)
	id, _ := access.KeyID(admin)
	made := f.As(t, admin, "POST", "/keys", `{"name":"ci","role":"operate"}`)
	key := apitest.Read[api.KeyMade](t, made, 201)
	apitest.Read[api.Key](t, f.As(t, admin, "DELETE", "/keys/ci"), 200)
	apitest.Refused(t, f.As(t, f.Key(t, "ops", access.Operate), "GET", "/audit"), 403)

	list := func(query string) api.AuditPage {
		return apitest.Read[api.AuditPage](t, f.As(t, admin, "GET", "/audit?"+query), 200)
	}
	all := list("").Items
	require.Len(t, all, 4)
	require.Equal(t, "api_key.revoked", all[1].Action, "the newest first")
	made1 := all[2]
	require.Equal(t, []string{"root", "api_key.created", "api-key/" + key.ID, "127.0.0.1", made.Header.Get("X-Request-Id"), id},
		[]string{made1.Actor, made1.Action, made1.Subject, made1.Remote, made1.RequestID, made1.KeyID})
	require.JSONEq(t, `{"name":"ci","role":"operate","tenant":"","expires_at":null}`, string(made1.Detail))
	for query, want := range map[string]int{
		"actor=root": 2, "actor=nobody": 0, "action=api_key.created": 3, "subject=api-key/" + key.ID: 2,
		"since=" + apitest.Now.Format(time.RFC3339): 4, "until=2026-09-30T00:00:00Z": 0, "action=api_key.revoked&actor=root": 1,
		"action=api_key.created,api_key.revoked": 4, "actor=nobody,root": 2, "actor=nobody&actor=x": 0,
	} {
		require.Len(t, list(query).Items, want, query)
	}
	var ids []int64
	for cursor, pages := "", 0; ; pages++ {
		p := list("limit=1&cursor=" + cursor)
		ids = append(ids, p.Items[0].ID)
		if cursor = p.NextCursor; cursor == "" {
			require.Equal(t, 3, pages)
			break
		}
	}
	require.Equal(t, []int64{all[0].ID, all[1].ID, all[2].ID, all[3].ID}, ids)
	letters := "eyJ0IjoiMjAyNi0xMC0wMVQxMjowMDowMFoiLCJpIjoxfQ" // a cursor of the list of dead letters
	for query, field := range map[string]string{
		"cursor=x": "cursor", "cursor=" + letters: "cursor", "actor=%00": "actor", "since=x": "since", "limit=0": "limit",
		"since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z": "until", "subject=a&subject=b": "subject", "action=%00": "action", "who=x": "who",
	} {
		p := apitest.Refused(t, f.As(t, admin, "GET", "/audit?"+query), 422)
		require.Equal(t, []string{"query." + field}, p.Fields(), query)
	}
}

// A flood of refused credentials is an entry for each caller and address, with a count. It holds nothing that the sender
// chose.
func TestRefusedCredentialsAreAudited(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t, func(o *api.GuardOptions) { o.Refusals = apitest.Rates(t, 1, 5) })
	f = audited(t, f)
	gone, idle := f.Key(t, "gone", access.Read), f.Key(t, "idle", access.Read)
	_, err := f.KeyStore.Revoke(t.Context(), "gone", "test", apitest.Now)
	require.NoError(t, err)
	for range 50 {
		f.As(t, "cvr_aaaaaaaa_"+strings.Repeat("A", 43), "GET", "/listings")
	}
	f.As(t, "hunter2", "GET", "/keys")
	f.As(t, gone, "GET", "/listings")
	f.As(t, idle, "POST", "/listings/kijiji/1/process")
	f.As(t, idle, "GET", "/audit")
	f.Get(t, "/listings") // without credentials it is no try
	f.Recorded(t)

	type entry struct {
		Actor, Action, Remote, Detail string
		KeyID                         bool
	}
	rows, err := f.Pool.Query(t.Context(), `SELECT actor, action, remote, detail::text, key_id <> '' FROM audit
		WHERE subject = 'api' ORDER BY action, actor`)
	require.NoError(t, err)
	var got []entry
	for rows.Next() {
		var e entry
		require.NoError(t, rows.Scan(&e.Actor, &e.Action, &e.Remote, &e.Detail, &e.KeyID))
		got = append(got, e)
	}
	require.NoError(t, rows.Err())
	detail := func(count int, reasons, operations string) string {
		at := apitest.Now.Format(time.RFC3339)
		return fmt.Sprintf(`{"count":%d,"first":%q,"last":%q,"reasons":{%s},"operations":{%s}}`, count, at, at, reasons, operations)
	}
	want := []entry{
		{"idle", "access.refused", "127.0.0.1", detail(2, `"role":2`, `"process-listing":1,"list-audit":1`), true},
		{"anonymous", "credentials.refused", "127.0.0.1",
			detail(51, `"unknown_key":51`, `"search-listings":50,"list-keys":1`), false},
		{"gone", "credentials.refused", "127.0.0.1", detail(1, `"revoked_key":1`, `"search-listings":1`), true},
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.JSONEq(t, want[i].Detail, got[i].Detail)
		got[i].Detail = want[i].Detail
	}
	require.Equal(t, want, got)
	f.Recorded(t)
	require.Equal(t, 3, apitest.Value[int](t, &apitest.Door{Pool: f.Pool}, "SELECT count(*) FROM audit WHERE subject = 'api'"), "once")
}

// audited serves what f serves, with an audit of refusals.
func audited(t *testing.T, f *apitest.Fort) *apitest.Fort {
	t.Helper()
	return apitest.GuardedBy(t, f.Pool, func(o *api.GuardOptions) { o.Audit = db.NewAuditLog(f.Pool) })
}

// A key in the table and one in the settings do not share a name.
func TestNamesAreOfOneKey(t *testing.T) {
	t.Parallel()
	plain := apitest.Guarded(t)
	old := plain.Key(t, "ci", access.Read)
	plain.Key(t, "root", access.Admin)
	fixed := "cvr_bbbbbbbb_" + strings.Repeat("B", 43)
	f := apitest.GuardedBy(t, plain.Pool, func(o *api.GuardOptions) {
		o.Fixed = []access.Grant{
			{Name: "ci", Role: access.Admin, Sum: access.SumOf(fixed)}, {Name: "free", Role: access.Read},
		}
	})
	p := apitest.Refused(t, f.As(t, fixed, "POST", "/keys", `{"name":"free","role":"read"}`), 409)
	require.Contains(t, p.Detail, `CONVEYOR_API_KEYS has a key "free"`)
	require.ErrorContains(t, f.Guard.Check(t.Context()), `has a key named "ci"`)
	require.Contains(t, apitest.Refused(t, f.As(t, old, "GET", "/listings"), 401).Detail, "has the name of a key in CONVEYOR_API_KEYS")
	apitest.Read[apitest.Page](t, f.As(t, fixed, "GET", "/listings"), 200)

	_, err := f.KeyStore.Revoke(t.Context(), "ci", "test", apitest.Now)
	require.NoError(t, err)
	require.NoError(t, f.Guard.Check(t.Context()), "a revoked key acts no more")
	require.NoError(t, plain.Guard.Check(t.Context()))
	f.Pool.Close()
	require.NoError(t, f.Guard.Check(t.Context()), "an API starts without its database")
}

// What a caller that may only read sees of a payload has a known, harmless name; operators see all but contact data.
func TestReadersSeeHarmlessFields(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	f.Parts.DeadLetters.Store = db.NewDeadLetters(f.Pool, nil)
	store, letters := dblistings.NewListings(f.Pool), db.NewDeadLetters(f.Pool, nil)
	reader, operator := f.Key(t, "reader", access.Read), f.Key(t, "operator", access.Operate)
	d := &apitest.Door{Parts: f.Parts, Pool: f.Pool, Store: store, Letters: letters}
	d.Serve(t)
	payload := `{"platform":"kijiji","platform_id":"1","title":"4½","price":{"amount_cents":1.50,"seller":"J. Tremblay"},
		"address":"1 rue X","attributes":{"heat":["1"],"tel":["514-555-0199"]},"seller":{"name":"J. Tremblay"},
		"image_urls":["https://x/1",{"by":"J. Tremblay"}],"url":{"x":"J. Tremblay"},"contact":{"name":"J. Tremblay"},
		"raw":{"slug":"x","seller":{"name":"J. Tremblay","tel":"+15145550199"},"neighbourhood":{"name":"Anjou","of":"J. Tremblay"}}}`
	_, err := store.Receive(t.Context(), []dblistings.Arrival{{
		Ref: apitest.Kijiji("1"), URL: "https://example.org/1", Payload: []byte(payload), ContentHash: []byte("x"), ScrapedAt: apitest.Now,
	}}, apitest.Now)
	require.NoError(t, err)
	letter := d.Bury(t, "a", 1, func(l *db.DeadLetter) {
		l.Body, l.Headers["Seller"] = []byte(payload), "J. Tremblay"
	})
	harmless := `{"platform":"kijiji","platform_id":"1","title":"4½","price":{"amount_cents":1.50},"address":"1 rue X",
		"attributes":{"heat":["1"]},"image_urls":["https://x/1"],"raw":{"slug":"x","neighbourhood":{"name":"Anjou"}}}`
	for path, body := range map[string]func(string) (json.RawMessage, int){
		"/listings/" + apitest.Kijiji("1").ID().String(): func(key string) (json.RawMessage, int) {
			r := d.As(t, key, "GET", "/listings/"+apitest.Kijiji("1").ID().String())
			got := apitest.Read[apilistings.Advert](t, r, 200).Audit.Revisions[0]
			return got.Payload, got.Hidden + 1 // the query leaves contact out
		},
		letterPath(letter): func(key string) (json.RawMessage, int) {
			got := apitest.Read[api.LetterDetail](t, d.As(t, key, "GET", letterPath(letter)), 200)
			require.Equal(t, "price: is missing", got.Headers["x-error"])
			_, seller := got.Headers["Seller"]
			require.Equal(t, key == operator, seller)
			return got.Body, got.Hidden - map[bool]int{true: 0, false: 2}[seller] // mine, Seller
		},
	} {
		seen, hidden := body(reader)
		require.JSONEq(t, harmless, string(seen), path)
		require.Contains(t, string(seen), "1.50", "numbers as they were printed")
		require.NotContains(t, string(seen), "Tremblay")
		require.Equal(t, 8, hidden, path)
		seen, hidden = body(operator)
		require.Contains(t, string(seen), `"seller":{"name":"J. Tremblay","tel":"+15145550199"}`, path)
		require.NotContains(t, string(seen), "contact")
		require.Equal(t, 1, hidden, path)
	}
	for i, body := range []string{`"514-555-0199"`, `["a",["514-555-0199"]]`, `{"raw":"514-555-0199","attributes":["514-555-0199"]}`, `514`} {
		id := d.Bury(t, fmt.Sprint("x", i), 1, func(l *db.DeadLetter) { l.Body = []byte(body) })
		r := d.As(t, reader, "GET", letterPath(id))
		got := apitest.Read[api.LetterDetail](t, r, 200)
		require.NotContains(t, r.Body, "514", body)
		require.Positive(t, got.Hidden, body)
	}
}
