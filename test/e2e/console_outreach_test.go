package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// At the console a file is looked at before it is imported, its refused rows have their reasons, and a number is masked
// until somebody asks for it, which the audit notes.
func TestOutreachInTheConsole(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	p := newPost(t, "CONVEYOR_DISPATCH_STANDARD=50")
	sender := p.tenant("acme", campaign.Standard)
	p.start("worker")
	p.start("api")
	p.eventually("the API answers", func() bool { return p.status("127.0.0.1", "") == 200 })
	id := p.campaign("acme", sender, 5)
	require.NoError(t, p.launch.StartCampaign(t.Context(), "acme", id))
	v := p.visit(t, playwright.BrowserNewContextOptions{
		Viewport: &playwright.Size{Width: 1440, Height: 900}, Locale: playwright.String("en-CA"),
	})
	click := func(page playwright.Page, button string) {
		require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{
			Name: button, Exact: playwright.Bool(true),
		}).Click())
	}

	uploads := v.page("/uploads?tenant=acme")
	v.sees(uploads, "Drop a file of contacts")
	file := "Name,Phone\nZoé,+15145550123\nMax,514 555-01\nAli,+15145550124\nZoé,+15145550123\n"
	require.NoError(t, uploads.Locator("input[type=file]").SetInputFiles([]playwright.InputFile{
		{Name: "people.csv", MimeType: "text/csv", Buffer: []byte(file)},
	}))
	v.sees(uploads, "What each column is taken for")
	v.screenshot(uploads, "upload-held")
	click(uploads, "Start")
	v.sees(uploads, "4 read = 2 stored + 1 duplicate + 1 invalid + 0 skipped")
	v.sees(uploads, "Failed, by reason")
	v.sees(uploads, "51• •••-01")
	v.screenshot(uploads, "upload-done")

	p.eventually("the campaign is sent", func() bool {
		c, err := dboutreach.NewCampaigns(p.db, nil).Get(t.Context(), "acme", id)
		require.NoError(t, err)
		return c.State == campaign.Done
	})
	messages := v.page("/messages?tenant=acme")
	v.sees(messages, "5 rows")
	v.screenshot(messages, "messages")
	another, err := messages.Locator("a[href*='/messages/']").Nth(1).GetAttribute("href")
	require.NoError(t, err)
	require.NoError(t, messages.GetByText("+15••••••").First().Click())
	v.sees(messages, "What happened to it")
	click(messages, "Show the number")
	v.sees(messages, "+1514000000")
	v.screenshot(messages, "message")
	v.axe(messages, true)
	require.Equal(t, int64(1), one[int64](p.world, "SELECT count(*) FROM audit WHERE action = 'message.recipient_shown'"))
	first := messages.URL()
	_, err = messages.Evaluate("to => history.pushState(null, '', to)", another)
	require.NoError(t, err)
	v.sees(messages, "Show the number") // the number of one message is not shown as that of another
	_, err = messages.Evaluate("to => history.pushState(null, '', to)", first)
	require.NoError(t, err)

	shown := v.page("/campaigns/" + id.String() + "?tenant=acme")
	v.sees(shown, "5 messages = 0 waiting + 5 sent")
	v.screenshot(shown, "campaign")
	v.axe(shown, true)
	narrow := size(390)
	narrow.ColorScheme = playwright.ColorSchemeDark
	phone := p.visit(t, narrow)
	on := phone.page("/")
	for path, says := range map[string]string{
		"/campaigns/" + id.String() + "?tenant=acme":          "5 messages = 0 waiting + 5 sent",
		strings.TrimPrefix(messages.URL(), p.world.api+"/ui"): "What happened to it",
	} {
		phone.open(on, path)
		phone.sees(on, says)
		phone.fits(on)
		phone.axe(on, false)
	}

	made := v.page("/campaigns?tenant=acme")
	click(made, "New campaign")
	require.NoError(t, made.GetByLabel("Name").Fill("Summer"))
	require.NoError(t, made.Locator("input[name=template]").Fill("summer_sale"))
	require.NoError(t, made.Locator("input[name=tags]").Fill("vip"))
	v.screenshot(made, "campaign-new")
	click(made, "Create the draft")
	require.NoError(t, made.WaitForURL(regexp.MustCompile("/ui/campaigns/[0-9a-f]"))) // the form has a Cancel, too
	v.sees(made, "draft")
	click(made, "Start")
	v.sees(made, "0 messages would be sent. Left out: 0 opted out, 0 without a telephone number.")
	v.screenshot(made, "campaign-start")
	click(made, "Close")
	click(made, "Cancel")
	v.sees(made, "0 messages would be skipped for good")
	click(made, "Cancel the campaign")
	v.sees(made, "canceled")

	today := v.page("/")
	v.sees(today, "rows uploaded")
	var flow api.FlowReport
	require.Equal(t, 200, p.get("/flow", &flow))
	figures := map[string]int64{}
	for _, station := range flow.Lines[3].Stations {
		figures[station.Station] = *station.N
	}
	require.Equal(t, map[string]int64{
		"uploaded": 4, "valid": 2, "contacts": 2, "scheduled": 0, "dispatched": 5, "delivered": figures["delivered"],
		"read": figures["read"],
	}, figures)
	v.screenshot(today, "today")
}
