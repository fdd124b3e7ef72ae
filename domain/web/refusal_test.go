package web_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read page 3: %w", web.Refused("429", time.Minute))
	if class, after := fault.Of(err); class != fault.Throttled || after != time.Minute {
		t.Errorf("%v is %q after %v; want throttled after 1m", err, class, after)
	}
	if r := web.RefusalOf(err); r == nil || r.Reason != "429" || r.Error() != "the site refuses: 429" {
		t.Errorf("RefusalOf = %+v", r)
	}
	for _, other := range []error{nil, errors.New("x"), web.Unrecognized("no cards")} {
		if r := web.RefusalOf(other); r != nil {
			t.Errorf("RefusalOf(%v) = %+v; want nil", other, r)
		}
	}
}

func TestUnrecognized(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read page 3: %w", web.Unrecognized("%d cards", 0))
	var shape *web.ShapeError
	if !errors.As(err, &shape) || shape.What != "0 cards" || err.Error() != "read page 3: page not recognized: 0 cards" {
		t.Errorf("%v", err)
	}
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
}

func TestLink(t *testing.T) {
	t.Parallel()
	p := web.Page{Asked: "https://a.example/x/", URL: "https://b.example/y/z?q=1"}
	for in, want := range map[string]string{
		"/v/1":                     "https://b.example/v/1",
		"w":                        "https://b.example/y/w",
		"?page=2":                  "https://b.example/y/z?page=2",
		" //c.example/i.jpg ":      "https://c.example/i.jpg",
		"http://d.example#x":       "http://d.example",
		"/rabais-50%/17?a=5%":      "https://b.example/rabais-50%25/17?a=5%",
		"//c.example/100%.jpg":     "https://c.example/100%25.jpg",
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
		assert.Equal(t, want, got, in)
	}
	if u := (web.Page{}).Link("/x"); u != nil {
		t.Errorf("a relative address of no page = %v", u)
	}
}
