package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The pages of one queue and of one search of a platform; their neighbours are in TestTheConsole.
func TestPagesOfOneThing(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := consoleWorld(t)
	v := w.visit(t, playwright.BrowserNewContextOptions{
		Locale: playwright.String("en-CA"), Viewport: &playwright.Size{Width: 390, Height: 900},
	})
	for path, says := range map[string]string{
		"/queues?kind=rabbitmq&queue=scraped.kijiji": "6 hours",
		"/platforms/kijiji/searches/default":         "what is left empty is as the site has it",
	} {
		p := v.page(path)
		v.sees(p, says)
		wider, err := p.Evaluate("document.documentElement.scrollWidth > innerWidth + 1")
		require.NoError(t, err)
		require.Equal(t, false, wider, path)
		require.NoError(t, p.Close())
	}
}

// Rows are walked along, chosen and acted on by keys alone, and only what was chosen is acted on.
func TestKeysOfTheConsole(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := consoleWorld(t)
	for _, reason := range []string{"first", "second", "third"} {
		_, err := w.db.Exec(t.Context(), `
			INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class, headers, first_at, last_at)
			VALUES (sha256($1::text::bytea), 'scraped.kijiji', 'scraped', 'kijiji', '{}', 'its '||$1||' reason', 'invalid', '{}',
				now(), now())`, reason)
		require.NoError(t, err)
	}
	v := w.visit(t, playwright.BrowserNewContextOptions{Locale: playwright.String("en-CA")})
	p := v.page("/dead-letters?reason=its+")
	v.sees(p, "3 rows")
	press := func(keys ...string) {
		for _, k := range keys {
			require.NoError(t, p.Keyboard().Press(k))
		}
	}
	focus := func() any {
		text, err := p.Evaluate("document.activeElement.closest('tr')?.dataset.index ?? ''")
		require.NoError(t, err)
		return text
	}
	for range 20 { // past the groups, which are rows too
		if press("j"); focus() == "0" {
			break
		}
	}
	require.Equal(t, "0", focus())
	press("x", "j", "Shift+X")
	v.sees(p, "2 chosen")
	v.until(p, "nothing is away that a replay needs", "() => !document.querySelector('[data-actions] button').disabled")
	press("a", "Enter")
	v.sees(p, "Replay the chosen letters")
	require.NoError(t, p.GetByText("Replay 2").Click())
	v.sees(p, "Sent again: 2.")
	press("Escape")
	w.eventually("two were replayed", func() bool {
		return one[int](w, "SELECT count(*)::int FROM audit WHERE action = 'dead_letter.replayed'") == 2
	})

	press("?")
	v.sees(p, "choose all that match")
	require.NoError(t, p.GetByLabel("Switch single letters off").Check())
	press("Escape", "g", "q")
	require.Contains(t, p.URL(), "/ui/dead-letters", "a letter that is switched off does something")
	require.NoError(t, p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Keyboard shortcuts"}).Click())
	require.NoError(t, p.GetByLabel("Switch single letters off").Uncheck())
	press("Escape", "Escape", "g", "q")
	v.sees(p, "Everything that can wait")

	// A list that is read is empty all the same once what it had is dealt with.
	v.open(p, "/dead-letters?reason=its+")
	v.rows(p, 1)
	for range 20 {
		if press("j"); focus() == "0" {
			break
		}
	}
	press("x", "a", "Enter")
	require.NoError(t, p.GetByText("Replay 1").Click())
	v.sees(p, "Sent again: 1.")
	press("Escape", "j")
	v.sees(p, "Nothing matches.")
}
