package main

import (
	"net/http/httptest"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/limit"
)

// A robots.txt may lead to any address that a page may have, also to one that url.Parse refuses.
func TestPolitelyAsksForAnyAddress(t *testing.T) {
	t.Parallel()

	srv := httptest.NewServer(nil) // which answers 400: net/http refuses it, too
	t.Cleanup(srv.Close)
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // no Redis: this process paces alone
	t.Cleanup(func() { _ = rdb.Close() })
	visits := limit.NewVisits(rdb, limit.VisitOptions{})
	t.Cleanup(visits.Close)
	client := fetch.New(fetch.Options{AllowPrivate: []string{srv.Listener.Addr().String()}})
	t.Cleanup(client.Close)
	x, err := politely(visits, client)(t.Context(), web.Request{URL: srv.URL + "/100%.txt"})
	require.NoError(t, err)
	require.Equal(t, 400, x.Status)
	_, err = politely(visits, client)(t.Context(), web.Request{URL: "ftp://a.example/"})
	require.ErrorContains(t, err, "expected http or https")
}

func TestRobotName(t *testing.T) {
	t.Parallel()

	for agent, want := range map[string]string{
		"": "Conveyor", "AcmeBot": "AcmeBot", "AcmeBot/2.1 (+https://acme.example/bot)": "AcmeBot", "AcmeBot (x)": "AcmeBot",
		"Mozilla/5.0 (compatible; AcmeBot/2.1; +https://acme.example/bot)":                      "AcmeBot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML; compatible; Acme-Bot) Chrome/130 Safari/537.36": "Acme-Bot",
		"Mozilla/5.0 (compatible;AcmeBot +https://acme.example)":                                "AcmeBot",
		"Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0":                                         "Mozilla",
		"Mozilla/5.0 (compatible; )":                                                            "Mozilla",
		"AcmeBot/2.1 (compatible; Mozilla/5.0; +https://acme.example/bot)":                      "AcmeBot",
		"AcmeBot (compatible; MSIE 7.0)":                                                        "AcmeBot",
	} {
		if got := robotName(agent); got != want {
			t.Errorf("robotName(%q) = %q; want %q", agent, got, want)
		}
	}
}
