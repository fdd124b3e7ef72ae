package api_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	l := listing.Listing{
		Ref: apitest.Kijiji("1668602387"), Title: "Grand 4½ au Plateau", RentCents: 148_500, Bedrooms: 2,
		Address: listing.Address{Text: "3650 rue Saint-Denis, Montréal"},
	}
	d.Publish(t, l, "", apitest.Now)
	home := "listing /ui/listings/" + l.ID().String()
	d.Scrape(t, apitest.Kijiji("778"), "Without a rent", apitest.Now)
	advert := "listing /ui/listings/" + apitest.Kijiji("778").ID().String()
	letter := d.Bury(t, "x", 1, func(l *db.DeadLetter) { l.WorkflowID = "listing/kijiji/1668602387" })
	died := "dead_letter /ui/dead-letters/" + strconv.FormatInt(letter, 10)
	event := uuid.New()
	r := draft.Fail(draft.Request{EventID: event, URL: "https://shop.example/p/778"}, fault.Gone, "HTTP 404", apitest.Now)
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), r, nil, apitest.Now))
	drawn := "draft /ui/drafts/" + draft.ID(event).String()
	waiting := d.RequestDraft(t, `{"url":"https://shop.example/p/779"}`).EventID
	asked := "request /ui/drafts/requests/" + waiting.String()
	run := "crawl /ui/crawl/" + strconv.FormatInt(d.Crawl(t), 10)

	for typed, want := range map[string][]string{
		l.ID().String():                           {home},
		"1668602387":                              {home},
		"https://example.org/1668602387":          {home},
		"https://example.org/x/1668602387?utm=a#": {home},
		"listing/kijiji/1668602387":               {home, died},
		"3650 RUE saint":                          {home},
		"plateau":                                 {home},
		"778":                                     {advert},
		"https://shop.example/p/778":              {advert, drawn},
		event.String():                            {drawn},
		draft.ID(event).String():                  {drawn},
		"draft/" + event.String():                 {drawn},
		waiting.String():                          {asked},
		"draft/" + waiting.String():               {asked},
		"https://example.org":                     {run},
		"example.org":                             {run},
		"scrape/nowhere":                          nil,
		"%":                                       nil,
		"zzz nothing of this":                     nil,
	} {
		require.Equal(t, want, d.Look(t, typed), typed)
	}
	require.Contains(t, d.Look(t, "#"+strconv.FormatInt(letter, 10)), died)
	for _, wrong := range []string{"", "?q=", "?q=a&q=b", "?q=%ff", "?q=a&kind=b"} {
		require.Contains(t, []int{400, 422}, d.Get(t, "/find"+wrong).Status, wrong)
	}
}

// Many of one kind leave room for the others, and there are never more than ten.
func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for i := range 12 {
		d.Publish(t, listing.Listing{Ref: apitest.Kijiji(strconv.Itoa(i)), Title: "example.org", RentCents: 1}, "", apitest.Now)
		d.Crawl(t)
	}
	got := map[string]int{}
	for _, f := range apitest.Read[api.Findings](t, d.Get(t, "/find?q=example.org"), 200).Items {
		got[f.Kind]++
	}
	require.Equal(t, map[string]int{"listing": 5, "crawl": 5}, got)
}

// A kind that takes too long is left out, and said.
func TestFindIsPartial(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) { p.Find.Within = time.Second })
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE product_drafts")
	require.NoError(t, err)
	got := apitest.Read[api.Findings](t, d.Get(t, "/find?q=example.org"), 200)
	require.Contains(t, got.Partial, "draft")
}

// A kind that makes the API panic is left out, and said: the process and the other kinds go on.
func TestFindPanics(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) {
		p.Find.Store = db.NewFinder(nil, nil) // each statement panics
	})
	got := apitest.Read[api.Findings](t, d.Get(t, "/find?q=plateau"), 200)
	require.Contains(t, got.Partial, "listing")
}

// A key of a tenant finds what is of the tenant, and nothing of the house; nobody finds a contact.
func TestFindOfTenants(t *testing.T) {
	t.Parallel()
	f := apitest.Walkable(t)
	apitest.Tenant(t, f.Pool, "acme")
	apitest.Tenant(t, f.Pool, "rival")
	of := func(tenant string) string {
		return "Bearer " + f.Key(t, tenant+"-key", access.Read, func(k *db.Key) { k.Tenant = tenant })
	}
	sender := apitest.AddSender(t, f.Pool, "acme", "acme")
	text := campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "hi"}}
	id := apitest.NewCampaign(t, dboutreach.NewCampaigns(f.Pool, nil), "acme", dboutreach.Plan{
		Name: "Autumn news", Sender: sender, Template: text, Audience: campaign.Audience{All: true},
	}, campaign.Draft)
	c := contact.Contact{Email: "autumn@example.org", Name: "Autumn"}
	c.Key = contact.Key("", c.Email)
	_, _, err := dboutreach.NewContacts(f.Pool, nil).Put(t.Context(), "acme", c, dboutreach.KnownUpdate, "test", apitest.Now)
	require.NoError(t, err)
	acme, rival, house := of("acme"), of("rival"), "Bearer "+f.Key(t, "house", access.Read)
	found := []string{"campaign /ui/campaigns/" + id.String() + "?tenant=acme"}
	for _, typed := range []string{"autumn", id.String(), "campaign/" + id.String()} {
		require.Equal(t, found, f.Look(t, typed, "Authorization", acme), typed)
		require.Empty(t, f.Look(t, typed, "Authorization", rival), typed)
		require.Empty(t, f.Look(t, typed, "Authorization", house), typed)
	}
	named := apitest.Read[api.Findings](t, f.Get(t, "/find?q=autumn&tenant=acme", "Authorization", house), 200)
	require.Len(t, named.Items, 1)
	require.Equal(t, "Autumn news", named.Items[0].Title)
	require.Empty(t, f.Look(t, "autumn@example.org", "Authorization", acme))

	m, err := dboutreach.NewMessages(f.Pool, nil).Put(t.Context(), "acme", dboutreach.NewMessage{
		ID: uuid.New(), Sender: sender, Recipient: "+15145550177", Body: text,
	}, apitest.Now)
	require.NoError(t, err)
	require.Equal(t, []string{"message /ui/messages/" + m.ID.String() + "?tenant=acme"},
		f.Look(t, m.ID.String(), "Authorization", acme))
	require.NotContains(t, f.Get(t, "/find?q="+m.ID.String(), "Authorization", acme).Body, "0177")
	for _, other := range []string{rival, house} {
		require.Empty(t, f.Look(t, m.ID.String(), "Authorization", other))
	}
	require.Empty(t, f.Look(t, "15145550177", "Authorization", acme))
}
