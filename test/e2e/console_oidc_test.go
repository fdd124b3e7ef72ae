package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A person logs in at an identity provider, comes back to the page where that was asked for, finds a thing, and logs
// out. A provider that lies lets nobody in, and the page says what to do.
func TestLoginByOIDCOfTheConsole(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := newWorld(t)
	issuer := oidctest.New(t)
	issuer.Lie(oidctest.Lies{Claims: map[string]any{"roles": "operate"}})
	w.env = append(w.env, "CONVEYOR_API_URL="+w.api, "CONVEYOR_OIDC_ISSUER="+issuer.URL,
		"CONVEYOR_OIDC_AUDIENCE=conveyor", "CONVEYOR_OIDC_CLIENT_ID="+oidctest.ClientID,
		"CONVEYOR_OIDC_CLIENT_SECRET="+oidctest.ClientSecret)
	w.start("api")
	w.eventually("authentication is on", func() bool { return w.status("127.0.0.1", "") == 401 })
	v := w.visit(t, playwright.BrowserNewContextOptions{Locale: playwright.String("en-CA")})
	p := v.page("/dead-letters?queue=scraped.kijiji")
	const button = "Sign in with your organization"
	v.sees(p, button)
	shot := func(name string) {
		if shots := os.Getenv("CONVEYOR_SHOTS"); shots != "" {
			_, err := p.Screenshot(playwright.PageScreenshotOptions{Path: playwright.String(filepath.Join(shots, name+".png"))})
			require.NoError(t, err)
		}
	}
	shot("login")
	require.NoError(t, p.GetByText(button).Click())
	v.sees(p, "oidc:jo")
	u, err := url.Parse(p.URL())
	require.NoError(t, err)
	require.Equal(t, "/ui/dead-letters?queue=scraped.kijiji", u.RequestURI())
	kept, err := p.Evaluate("JSON.stringify(Object.entries(localStorage)) + document.cookie")
	require.NoError(t, err)
	require.NotContains(t, kept, "conveyor_", "scripts see a cookie")

	require.NoError(t, p.Keyboard().Press("Control+k"))
	one[int64](w, `INSERT INTO crawl_runs (seed_url, normalized_seed_url, root_url, allowed_hosts, run_config, status,
		created_at, updated_at) VALUES ($1, $1, $1, '{}', '{}', 'COMPLETED', now(), now()) RETURNING id`,
		"https://books.example/")
	require.NoError(t, p.Locator("dialog input[role=combobox]").Fill("https://books.example/"))
	require.NoError(t, p.GetByRole("option").GetByText("https://books.example/").WaitFor())
	shot("find")
	require.NoError(t, p.Locator("dialog input[role=combobox]").Press("Enter"))
	require.NoError(t, p.WaitForURL(w.api+"/ui/crawl/*"))
	require.NoError(t, p.GetByText("Licences").Click())
	v.sees(p, "golang.org/x/net")
	shot("licences")

	require.NoError(t, p.GetByText("Sign out").Click())
	v.sees(p, button)
	issuer.Lie(oidctest.Lies{Claims: map[string]any{"roles": "operate", "nonce": "x"}})
	require.NoError(t, p.GetByText(button).Click())
	v.sees(p, "could not be trusted")
	shot("login-failed")
	issuer.Lie(oidctest.Lies{Claims: map[string]any{"roles": "read"}})
	require.NoError(t, p.GetByText(button).Click())
	v.sees(p, "golang.org/x/net")
	u, err = url.Parse(p.URL())
	require.NoError(t, err)
	require.Equal(t, "/ui/licences", u.RequestURI())
	v.mu.Lock()
	v.troubles = nil // requests to the provider, and the browser's lines on the answers 401
	v.mu.Unlock()
}
