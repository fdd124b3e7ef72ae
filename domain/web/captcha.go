package web

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Read is how a parser reads a page: one that Check refuses is not read, and an error, as Unread has it, is returned
// alone. Code that only loads pages calls none of the three.
func Read[T any](p Page, read func(Page) (T, error)) (T, error) {
	var none T
	if err := Check(p); err != nil {
		return none, err
	}
	v, err := read(p)
	if err != nil {
		return none, Unread(p, err)
	}
	return v, nil
}

// Check returns nil for a page that a parser may read, and otherwise the error that its status stands for.
// 429, 401 and 403 are a *Refusal with the status as its reason, and so is 503 with a Retry-After; an error page that
// is a challenge is the *Refusal "captcha". A status whose class is fault.Invalid, and a redirect, are a *ShapeError;
// the others have the class of fault.OfStatus. Status 0, of a page that was read from a file, counts as 200.
func Check(p Page) error {
	status, class := strconv.Itoa(p.Status), fault.OfStatus(p.Status)
	switch {
	case p.Status == 0 || p.Status >= 200 && p.Status < 300:
		return nil
	case class == fault.Gone:
		return fault.Newf(class, "read %q: status %d", p.Asked, p.Status)
	case p.Status == 429:
		return Refused(status, p.RetryAfter)
	}
	if err := Challenge(p); err != nil {
		return err
	}
	switch {
	case p.Status == 401 || p.Status == 403 || p.Status == 503 && p.RetryAfter > 0:
		return Refused(status, p.RetryAfter)
	case class != "" && class != fault.Invalid:
		return fault.Newf(class, "read %q: status %d", p.Asked, p.Status)
	}
	return Unrecognized("status %d", p.Status)
}

// strong are signs that only a page holds which stands in for the one that was asked for; lower case.
var strong = [][]byte{
	[]byte("cf_chl_opt"), []byte("cf-challenge"), []byte("<title>just a moment...</title>"),
	[]byte("<title>attention required! | cloudflare"), // Cloudflare
	[]byte("captcha-delivery.com"),                    // DataDome
	[]byte("px-captcha"), []byte("captcha.px-cdn.net"), []byte("press &amp; hold to confirm"),
	[]byte("press & hold to confirm"),                                         // PerimeterX, now HUMAN
	[]byte("<title>pardon our interruption"), []byte("incapsula incident id"), // Imperva
	[]byte("<title>access denied</title>"), []byte("errors.edgesuite.net"), // Akamai
	[]byte("our systems have detected unusual traffic"), // Google
}

// weak are signs that an ordinary page may hold as well: a contact form its reCAPTCHA, a site its guard's script. On a
// small page that is not recognized otherwise, they make a challenge.
var weak = [][]byte{
	[]byte("hcaptcha.com/"), []byte("h-captcha"), []byte("g-recaptcha"), []byte("google.com/recaptcha/"),
	[]byte("recaptcha.net/recaptcha/"), []byte("cf-turnstile"), []byte("/cdn-cgi/challenge-platform/"),
	[]byte("_incapsula_resource"), []byte("pardon our interruption"), []byte("access denied"), []byte("captcha"),
	[]byte("verify you are human"), []byte("verify you are a human"), []byte("are you a robot"),
	[]byte("vérifiez que vous êtes humain"), []byte("vérifiez que vous êtes un humain"), []byte("êtes-vous un robot"),
}

// smallPage is how large a page may be that weak signs make a challenge, in bytes. Those of the vendors are below 40
// KiB.
const smallPage = 64 << 10

// Challenge returns the *Refusal "captcha" for a page that wants proof of a human visitor: hCaptcha, reCAPTCHA,
// Turnstile, DataDome, PerimeterX, Imperva, Akamai, or plain words; nil for any other. It goes by what such pages load
// and say, so ask it only of a page in which nothing of the site's own was found.
func Challenge(p Page) error {
	body := bytes.ToLower(p.Body)
	holds := func(sign []byte) bool { return bytes.Contains(body, sign) }
	if slices.ContainsFunc(strong, holds) || len(body) <= smallPage && slices.ContainsFunc(weak, holds) {
		return Refused("captcha", p.RetryAfter)
	}
	return nil
}

// Unread is the last call of a parser: where err is a *ShapeError and the page is a challenge it returns that *Refusal,
// and otherwise err, nil included.
func Unread(p Page, err error) error {
	if shape := (*ShapeError)(nil); errors.As(err, &shape) {
		if challenge := Challenge(p); challenge != nil {
			return challenge
		}
	}
	return err
}
