package web_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const cloudflare = `<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script></body></html>`
	for _, tt := range []struct {
		name    string
		status  int
		after   time.Duration
		body    string
		class   fault.Class
		refusal string
	}{
		{"fine", 200, 0, "", "", ""},
		{"fine, of a file", 0, 0, "", "", ""},
		{"fine, whatever it holds", 200, 0, cloudflare, "", ""},
		{"too many", 429, time.Minute, "", fault.Throttled, "429"},
		{"too many, with a challenge", 429, 0, cloudflare, fault.Throttled, "429"},
		{"forbidden", 403, 0, "", fault.Throttled, "403"},
		{"forbidden, with a challenge", 403, 0, cloudflare, fault.Throttled, "captcha"},
		{"unauthorized", 401, 0, "", fault.Throttled, "401"},
		{"gone", 404, 0, "", fault.Gone, ""},
		{"gone for good", 410, 0, "", fault.Gone, ""},
		{"broken", 500, 0, "", fault.Transient, ""},
		{"away", 503, 0, "", fault.Throttled, ""},
		{"away for a while", 503, 2 * time.Minute, "", fault.Throttled, "503"},
		{"away, with a challenge", 503, 0, cloudflare, fault.Throttled, "captcha"},
		{"slow", 408, 0, "", fault.Transient, ""},
		{"too early", 425, 0, "", fault.Transient, ""},
		{"for legal reasons", 451, 0, "", fault.Blocked, ""},
		{"not followed", 302, 0, "", fault.Invalid, ""},
		{"wrong", 400, 0, "", fault.Invalid, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := web.Check(web.Page{Asked: "https://example.org", Status: tt.status, RetryAfter: tt.after,
				Body: []byte(tt.body)})
			class, after := fault.Of(err)
			reason := ""
			if r := web.RefusalOf(err); r != nil {
				reason = r.Reason
			}
			if class != tt.class || reason != tt.refusal || tt.refusal != "" && after != tt.after {
				t.Errorf("%v is %q, %q, after %v; want %q, %q, %v", err, class, reason, after, tt.class, tt.refusal, tt.after)
			}
		})
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	shape := web.Unrecognized("no cards")
	for _, tt := range []struct {
		name, body string
		challenge  bool
	}{
		{"hCaptcha", `<div class="h-captcha" data-sitekey="x"></div><script src="https://js.hcaptcha.com/1/api.js"></script>`, true},
		{"reCAPTCHA", `<form><div class="g-recaptcha"></div></form>`, true},
		{"DataDome", `<script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script>`, true},
		{"PerimeterX", `<title>Access to this page has been denied</title><div id="px-captcha"></div>`, true},
		{"Cloudflare", `<title>Just a moment...</title>`, true},
		{"Cloudflare, blocked", `<title>Attention Required! | Cloudflare</title>`, true},
		{"Imperva", `<title>Pardon Our Interruption</title>`, true},
		{"Imperva, in a frame", `<iframe src="/_Incapsula_Resource?x">Request unsuccessful. Incapsula incident ID: 1</iframe>`, true},
		{"Akamai", `<TITLE>Access Denied</TITLE><p>https://errors.edgesuite.net/18.1</p>`, true},
		{"words", `<h1>Vérifiez que vous êtes humain</h1>`, true},
		{"a strong sign on a large page", `<title>Just a moment...</title>` + strings.Repeat(" ", 100<<10), true},
		{"a contact form on a large page", `<div class="g-recaptcha"></div>` + strings.Repeat("<p>text</p>", 10<<10), false},
		{"an ordinary page", `<h1>Logements à louer</h1>`, false},
		{"nothing", ``, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := web.Page{Status: 200, Body: []byte(tt.body), RetryAfter: time.Minute}
			err := web.Unread(p, shape)
			r := web.RefusalOf(err)
			if tt.challenge != (r != nil && r.Reason == "captcha") || !tt.challenge && !errors.Is(err, shape) {
				t.Errorf("Unread = %v; want a challenge %t", err, tt.challenge)
			}
			assert.NoError(t, web.Unread(p, nil), "a page that was read")
			if gone := fault.Newf(fault.Gone, "removed"); !errors.Is(web.Unread(p, gone), gone) {
				t.Error("an advert that is gone is a challenge")
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	reads := func(v int, err error) func(web.Page) (int, error) {
		return func(web.Page) (int, error) { return v, err }
	}
	challenge, shape := []byte("<title>Just a moment...</title>"), web.Unrecognized("no cards")
	if v, err := web.Read(web.Page{Status: 200, Body: challenge}, reads(7, nil)); v != 7 || err != nil {
		t.Errorf("a page that is read: %d, %v", v, err)
	}
	if v, err := web.Read(web.Page{Status: 200}, reads(7, shape)); v != 0 || !errors.Is(err, shape) {
		t.Errorf("an unknown page: %d, %v", v, err)
	}
	v, err := web.Read(web.Page{Status: 200, Body: challenge}, reads(7, shape))
	if r := web.RefusalOf(err); v != 0 || r == nil || r.Reason != "captcha" {
		t.Errorf("a challenge: %d, %v", v, err)
	}
	v, err = web.Read(web.Page{Status: 429}, reads(7, nil))
	if r := web.RefusalOf(err); v != 0 || r == nil || r.Reason != "429" {
		t.Errorf("a refusal: %d, %v", v, err)
	}
}
