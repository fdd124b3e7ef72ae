package main

import "testing"

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
