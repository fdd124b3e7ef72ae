package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A search is saved, paused and deleted at the console, in dialogs that people can use who see little or have no mouse:
// what is wrong is said beside its field, which gets the focus, and the focus goes back when a dialog is closed.
func TestSavedSearchesInTheConsole(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := consoleWorld(t, secretKeys)
	require.Equal(t, 201, w.send("POST", "/tenants", `{"id":"acme","name":"Acme"}`))
	for _, view := range []struct {
		name  string
		theme *playwright.ColorScheme
		width int
	}{{"light", playwright.ColorSchemeLight, 1440}, {"dark narrow", playwright.ColorSchemeDark, 390}} {
		t.Run(view.name, func(t *testing.T) {
			o := size(view.width)
			o.ColorScheme = view.theme
			v := w.visit(t, o)
			v.expects(`status of 4\d\d`) // the browser's line on the answer that is provoked below
			p := v.page("/listings?tenant=acme&max_price=1500")
			look := func(says, name string) {
				t.Helper()
				v.sees(p, says)
				v.fits(p)
				v.axe(p, true)
				v.screenshot(p, "saved-"+name+"-"+view.name)
			}
			in := func(selector string) playwright.Locator { return p.Locator("dialog " + selector) }
			has := func(what, js string) {
				t.Helper()
				v.until(p, what, "() => document.activeElement"+js)
			}

			stored := func() []apilistings.SavedSearch {
				var list struct{ Items []apilistings.SavedSearch }
				require.Equal(t, 200, w.get("/searches?tenant=acme", &list))
				return list.Items
			}

			v.press(p, "Save this search")
			look("Notifications start now.", "form")
			require.NoError(t, in("input[name=name]").Fill(`Mine <b>`+view.name))
			_, err := in("select").Nth(1).SelectOption(playwright.SelectOptionValues{Values: &[]string{"webhook"}})
			require.NoError(t, err)
			require.NoError(t, in("input[name=address]").Fill("http://hooks.example.org/x"))
			require.NoError(t, in("[type=submit]").Click())
			has("the address that is refused has the focus", ".matches('[name=address][aria-invalid=true]')")
			look("begins with https://, without a password", "refused")
			require.Empty(t, stored())
			_, err = in("select").Nth(1).SelectOption(playwright.SelectOptionValues{Values: &[]string{"feed"}})
			require.NoError(t, err)
			require.NoError(t, in("[type=submit]").Click())
			look("is saved.", "made")
			require.Len(t, stored(), 1)
			require.Equal(t, `Mine <b>`+view.name, stored()[0].Name)
			require.NoError(t, in("a").Click())

			look("Nothing since it was saved.", "one")
			v.press(p, "Pause")
			v.sees(p, "Resume")
			require.Equal(t, "paused", stored()[0].State)
			v.press(p, "New address")
			look("gets 404 at once.", "rotate")
			require.NoError(t, in("[type=submit]").Click())
			look("Any holder of a feed’s address can read the feed.", "rotated")
			require.NoError(t, in("button").Last().Click())
			has("the button that opened the dialog has the focus", ".closest('.todo button')?.textContent === 'New address …'")
			v.press(p, "Delete target")
			look("Pending notifications are dropped, and a feed ends.", "target")
			require.NoError(t, p.Keyboard().Press("Escape"))
			has("the button that opened the dialog has the focus", ".closest('.todo button')?.textContent === 'Delete target …'")
			require.NoError(t, p.Keyboard().Press("Enter"))
			require.NoError(t, in("button").First().Click())
			v.until(p, "the target is gone", "() => !document.querySelector('dialog, .todo li')")
			require.Empty(t, stored()[0].Targets)
			require.NoError(t, p.GetByRole("button", playwright.PageGetByRoleOptions{
				Name: "Delete …", Exact: playwright.Bool(true),
			}).Click())
			look("Pending notifications are dropped, and its feeds end.", "delete")
			require.NoError(t, in("button").First().Click())
			v.sees(p, "No saved search yet.")
			v.axe(p, true)
			require.Empty(t, stored())
		})
	}
}
