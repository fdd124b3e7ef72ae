// Package robots reads robots.txt by RFC 9309: which paths a site asks robots to leave alone.
//
// It is our own, for neither library at hand fits. github.com/temoto/robotstxt (last release 2021) is older than the
// RFC and answers otherwise where an Allow and a Disallow are equally long, for percent-encoded and non-ASCII paths,
// and for agents whose name begins like ours. github.com/jimsmart/grobotstxt (last release 2022), a port of Google's
// parser, does not take "%62" for "b" as section 2.2.2 wants, knows no Crawl-delay, and parses the file again for
// every question.
package robots

import (
	"bytes"
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mtlrent/conveyor/domain/fault"
)

// MaxSize is how many bytes of a robots.txt are read, the RFC's least. A rule that the limit cuts in two is dropped.
const MaxSize = 500 * 1024

// maxDelay is the longest Crawl-delay that is believed.
const maxDelay = time.Hour

// maxSitemaps is how many Sitemap lines are kept.
const maxSitemaps = 1000

// Rules are a robots.txt. The zero value allows everything.
type Rules struct {
	groups   []group
	named    map[string][]int // groups by agent, in lower case; "*" = every agent that is not named elsewhere
	sitemaps []string
	size     int // bytes of memory
}

// What rules take of memory beside their text: bytes, of slices that have grown, and so have a part of them unused.
const (
	bytesOfRule  = 60
	bytesOfPart  = 16
	bytesOfGroup = 56
	bytesOfAgent = 160 // of a name, in the map
)

// A group is the lines below one or several User-agent lines.
type group struct {
	rules []rule        // the one that decides first
	delay time.Duration // 0 = not stated
}

type rule struct {
	allow bool
	size  int      // of the pattern, in octets
	parts []string // normalized; between them is any text
	whole bool     // the last one ends the path
}

// keys are the names of the lines that count. Common misspellings are those that other parsers accept, too.
var keys = map[string]string{
	"user-agent": "user-agent", "useragent": "user-agent", "user agent": "user-agent",
	"allow":    "allow",
	"disallow": "disallow", "dissallow": "disallow", "dissalow": "disallow", "disalow": "disallow",
	"diasllow": "disallow", "disallaw": "disallow",
	"crawl-delay": "crawl-delay", "crawldelay": "crawl-delay", "crawl delay": "crawl-delay",
	"sitemap": "sitemap", "site-map": "sitemap",
}

// Parse reads a robots.txt. Whatever it holds, there are rules: a line that is not understood says nothing.
func Parse(body []byte) Rules {
	if len(body) > MaxSize {
		body = body[:MaxSize]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	r := Rules{named: map[string][]int{}, size: len(body)}
	naming := false // the last line that counts was a User-agent
	for line := range bytes.FieldsFuncSeq(body, func(c rune) bool { return c == '\r' || c == '\n' }) {
		key, value := field(line)
		last := len(r.groups) - 1
		switch key {
		case "user-agent":
			if !naming {
				r.groups = append(r.groups, group{})
				r.size += bytesOfGroup
				last, naming = last+1, true
			}
			agent := product(value)
			of := r.named[agent]
			if len(of) == 0 {
				r.size += bytesOfAgent
			}
			if len(of) == 0 || of[len(of)-1] != last {
				r.named[agent] = append(of, last)
			}
		case "sitemap": // it belongs to no group and ends none
			if value != "" && len(r.sitemaps) < maxSitemaps {
				r.sitemaps = append(r.sitemaps, value)
			}
		case "allow", "disallow":
			naming = false
			if value != "" && last >= 0 { // else no agent is named yet
				rule := compile(key == "allow", value)
				r.groups[last].rules = append(r.groups[last].rules, rule)
				r.size += bytesOfRule + bytesOfPart*len(rule.parts) + 2*max(rule.size-len(value), 0) // what is escaped grows
			}
		case "crawl-delay":
			naming = false
			if s := seconds(value); s > 0 && last >= 0 {
				g := &r.groups[last]
				g.delay = max(g.delay, time.Duration(s*float64(time.Second)))
			}
		}
	}
	for _, g := range r.groups {
		slices.SortStableFunc(g.rules, rule.before)
	}
	return r
}

// field reads a line: its key, "" for one that does not count, and its value. The colon may be missing between two
// words.
func field(line []byte) (key, value string) {
	line, _, _ = bytes.Cut(line, []byte("#"))
	k, v, ok := strings.Cut(string(line), ":")
	if !ok {
		words := strings.Fields(k)
		if len(words) != 2 {
			return "", ""
		}
		k, v = words[0], words[1]
	}
	return keys[strings.ToLower(trim(k))], trim(v)
}

// trim cuts off what is not seen, such as the byte order mark of a file that was put behind another one.
func trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) })
}

// seconds reads a Crawl-delay, "1.5", "1,5" or "10 s", up to maxDelay; 0 = it is none, or of another unit: "500ms".
func seconds(value string) float64 {
	number := strings.TrimRight(strings.Replace(strings.ToLower(value), ",", ".", 1), " second.;")
	s, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(s, 0) {
		return 0
	}
	return min(max(s, 0), maxDelay.Seconds())
}

// before orders rules: the longest first, an Allow among equally long ones.
func (r rule) before(other rule) int {
	switch {
	case r.size != other.size:
		return other.size - r.size
	case r.allow == other.allow:
		return 0
	case r.allow:
		return -1
	}
	return 1
}

// Sitemaps are the addresses in the Sitemap lines, as they are written: most are absolute.
func (r Rules) Sitemaps() []string { return r.sitemaps }

// Size is how many bytes of memory the rules take, about: short lines, and lines of asterisks, many times their text.
func (r Rules) Size() int { return r.size }

// FromStatus returns the rules that an answer to GET /robots.txt stands for. By RFC 9309 a 2xx is parsed, and a 4xx
// other than 429 allows everything. A 429 or 5xx is an error of the class that fault.OfStatus gives it; anything else,
// status 0 of a site that cannot be reached included, is fault.Transient. Rules that disallow everything come with the
// error, for nothing may be requested until it is resolved. The caller follows redirects, five at least.
func FromStatus(status int, body []byte) (Rules, error) {
	switch {
	case status >= 200 && status < 300:
		return Parse(body), nil
	case status >= 400 && status < 500 && status != 429:
		return Rules{}, nil
	}
	return Parse([]byte("User-agent: *\nDisallow: /\n")),
		fault.Newf(cmp.Or(fault.OfStatus(status), fault.Transient), "read robots.txt: status %d", status)
}

// Allowed tells whether a robot may ask for path, which may have a query, on this site. agent is its product token,
// as in "ConveyorBot"; a version or more words after it are ignored. The longest rule that matches decides, an Allow
// among equally long ones; robots.txt itself is always allowed.
func (r Rules) Allowed(agent, path string) bool {
	path, _, _ = strings.Cut(path, "#")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if path == "/robots.txt" {
		return true
	}
	path = normalize(path)
	decides := rule{allow: true}
	for _, i := range r.of(agent) {
		for _, rule := range r.groups[i].rules {
			if rule.before(decides) >= 0 && decides.size > 0 {
				break
			}
			if rule.matches(path) {
				decides = rule
				break
			}
		}
	}
	return decides.allow
}

// CrawlDelay is how long the site asks a robot to wait between two requests, at most an hour; 0 = it does not say. It
// is no part of the RFC, but some sites state it.
func (r Rules) CrawlDelay(agent string) (delay time.Duration) {
	for _, i := range r.of(agent) {
		delay = max(delay, r.groups[i].delay)
	}
	return delay
}

// of returns every group that names agent, and those for "*" if none does.
func (r Rules) of(agent string) []int {
	if name := product(agent); name != "" {
		if groups := r.named[name]; len(groups) > 0 {
			return groups
		}
	}
	return r.named["*"]
}

// product cuts a user agent down to its product token: letters, "_" and "-". "*" stays, but "*bot" is none.
func product(agent string) string {
	agent = strings.ToLower(strings.TrimSpace(agent))
	if agent == "*" || strings.HasPrefix(agent, "* ") || strings.HasPrefix(agent, "*\t") {
		return "*"
	}
	end := strings.IndexFunc(agent, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' && c != '-' })
	if end < 0 {
		return agent
	}
	return agent[:end]
}

// compile reads the path of a rule: "*" is any text, "$" at the end the end of the path.
func compile(allow bool, path string) rule {
	path, whole := strings.CutSuffix(path, "$")
	r := rule{allow: allow, whole: whole, parts: strings.Split(path, "*")}
	r.size = len(r.parts) - 1
	if whole {
		r.size++
	}
	for i, part := range r.parts {
		r.parts[i] = normalize(part)
		r.size += octets(r.parts[i])
	}
	return r
}

// octets are those of a normalized path as an address has it, whichever way the rule is written: what RFC 3986 reserves
// stands there as itself.
func octets(path string) int {
	n := len(path)
	for at := strings.IndexByte(path, '%'); at >= 0 && at+2 < len(path); {
		if c, err := strconv.ParseUint(path[at+1:at+3], 16, 8); err == nil && strings.IndexByte(reserved, byte(c)) >= 0 {
			n -= 2
		}
		next := strings.IndexByte(path[at+1:], '%')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return n
}

// normalize makes two spellings of a path one: "é" and "%c3%a9" are "%C3%A9", "%62" is "b", "{" and ":" are "%7B" and
// "%3A". The characters that part an address keep their form: an encoded "/" is not a "/".
func normalize(path string) string {
	same := func(c rune) bool { return c > ' ' && c < 0x7f && c != '%' && !strings.ContainsRune(escapes, c) }
	if strings.TrimLeftFunc(path, same) == "" {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if decoded, err := url.PathUnescape(path[i : i+3]); err == nil {
				i += 2
				if c = decoded[0]; unreserved(c) {
					b.WriteByte(c)
				} else {
					b.WriteString(escaped(c))
				}
				continue
			}
		}
		if c <= ' ' || c >= 0x7f || strings.IndexByte(escapes, c) >= 0 {
			b.WriteString(escaped(c))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// escapes are the characters of ASCII that are compared in their escaped form: those that no address has by RFC 3986,
// and those that it reserves, but for the ones that part an address: "/?#&=+;".
const (
	escapes  = "\"<>\\^`{|}" + reserved
	reserved = "!$'()*,:@[]"
)

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func escaped(c byte) string {
	const hex = "0123456789ABCDEF"
	return string([]byte{'%', hex[c>>4], hex[c&15]})
}

// matches tells whether path, which is normalized, begins with what the rule says, or is it where that ends in "$". Its
// time is linear in both.
func (r rule) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, r.parts[0])
	if !ok {
		return false
	}
	for i, part := range r.parts[1:] {
		if r.whole && i == len(r.parts)-2 { // the last one stands at the end
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !r.whole || rest == ""
}
