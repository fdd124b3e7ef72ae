package scrape_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read page 3: %w", scrape.Refused("429", time.Minute))
	if class, after := fault.Of(err); class != fault.Throttled || after != time.Minute {
		t.Errorf("%v is %q after %v; want throttled after 1m", err, class, after)
	}
	if r := scrape.RefusalOf(err); r == nil || r.Reason != "429" || r.Error() != "the site refuses: 429" {
		t.Errorf("RefusalOf = %+v", r)
	}
	for _, other := range []error{nil, errors.New("x"), scrape.Unrecognized("no cards")} {
		if r := scrape.RefusalOf(other); r != nil {
			t.Errorf("RefusalOf(%v) = %+v; want nil", other, r)
		}
	}
}

func TestUnrecognized(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read page 3: %w", scrape.Unrecognized("%d cards", 0))
	var shape *scrape.ShapeError
	if !errors.As(err, &shape) || shape.What != "0 cards" || err.Error() != "read page 3: page not recognized: 0 cards" {
		t.Errorf("%v", err)
	}
	if class, _ := fault.Of(err); class != fault.Invalid {
		t.Errorf("class = %q; want invalid", class)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n     int
		asked time.Duration
		dice  float64
		want  time.Duration
	}{
		{1, 0, .5, 5 * time.Second},
		{1, 0, 0, 4 * time.Second},
		{1, 0, 1, 6 * time.Second},
		{2, 0, .5, 10 * time.Second},
		{3, 0, .5, 20 * time.Second},
		{6, 0, .5, 160 * time.Second},
		{6, 0, 1, 192 * time.Second},
		{7, 0, .5, 5 * time.Minute},
		{7, 0, 1, 5 * time.Minute}, // never longer
		{7, 0, 0, 4 * time.Minute},
		{1 << 40, 0, .5, 5 * time.Minute},
		{0, 0, .5, 5 * time.Second},
		{-5, 0, .5, 5 * time.Second},
		{1, time.Minute, .5, time.Minute},     // what the site asks for, where it is longer
		{7, time.Minute, .5, 5 * time.Minute}, // and ours, where that is
		{1, 100 * time.Hour, .5, scrape.MaxRetryAfter},
		{1, -time.Hour, .5, 5 * time.Second},
	} {
		if got := scrape.Backoff(tt.n, tt.asked, tt.dice); got != tt.want {
			t.Errorf("Backoff(%d, %v, %v) = %v; want %v", tt.n, tt.asked, tt.dice, got, tt.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	was := scrape.Fingerprint("a b", "c")
	if len(was) != 16 || was != scrape.Fingerprint(" a \u00a0b\n", "c") {
		t.Errorf("Fingerprint = %q; white space counts", was)
	}
	for _, other := range [][]string{{"a", "b c"}, {"a bc"}, {"a b", "c", ""}, {"c", "a b"}, {}} {
		if got := scrape.Fingerprint(other...); got == was {
			t.Errorf("Fingerprint(%q) is that of %q", other, []string{"a b", "c"})
		}
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	p := scrape.Page{Asked: "https://a.example/x/", URL: "https://b.example/y/z?q=1"}
	for in, want := range map[string]string{
		"/v/1":                     "https://b.example/v/1",
		"w":                        "https://b.example/y/w",
		"?page=2":                  "https://b.example/y/z?page=2",
		" //c.example/i.jpg ":      "https://c.example/i.jpg",
		"http://d.example#x":       "http://d.example",
		"":                         "",
		"javascript:alert(1)":      "",
		"data:image/gif;base64,R0": "",
		"https://u:p@d.example":    "",
		"https:///x":               "",
		"http://[::1":              "",
		"\x00":                     "",
	} {
		got := ""
		if u := p.Link(in); u != nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("Link(%q) = %q; want %q", in, got, want)
		}
	}
	if u := (scrape.Page{}).Link("/x"); u != nil {
		t.Errorf("a relative address of no page = %v", u)
	}
}
