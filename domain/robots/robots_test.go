package robots_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	everybody := "User-agent: *\n"
	for _, tt := range []struct {
		name, body, agent, path string
		want                    bool
	}{
		{"no file", "", "bot", "/x", true},
		{"no rule", everybody + "Disallow:\n", "bot", "/x", true},
		{"everything", everybody + "Disallow: /\n", "bot", "/x", false},
		{"everything but robots.txt", everybody + "Disallow: /\n", "bot", "/robots.txt", true},
		{"a rule above all groups", "Disallow: /\n" + everybody + "Disallow: /y\n", "bot", "/x", true},
		{"not a rule of ours", everybody + "Noindex: /\n", "bot", "/x", true},
		{"no path is the root", everybody + "Disallow: /\n", "bot", "", false},
		{"a fragment is not asked for", everybody + "Disallow: /*x\n", "bot", "/y#x", true},

		// RFC 9309, 2.2.1: the user-agent line
		{"named", "User-agent: bot\nDisallow: /\n", "bot", "/x", false},
		{"case", "USER-AGENT: BoT\ndisALLOW: /\n", "bOt", "/x", false},
		{"version", "User-agent: bot/2.1\nDisallow: /\n", "bot/7", "/x", false},
		{"another", "User-agent: robot\nDisallow: /\n", "bot", "/x", true},
		{"a longer name", "User-agent: bot-images\nDisallow: /\n", "bot", "/x", true},
		{"a shorter name", "User-agent: bot\nDisallow: /\n", "bot-images", "/x", true},
		{"named and everybody", everybody + "Disallow: /\n\nUser-agent: bot\nAllow: /x\n", "bot", "/y", true},
		{"named with nothing", "User-agent: bot\n\n" + everybody + "Disallow: /\n", "bot", "/y", false}, // one group of two
		{"named and left alone", "User-agent: bot\nDisallow:\n\n" + everybody + "Disallow: /\n", "bot", "/y", true},
		{"two names", "User-agent: a\nUser-agent: bot\nDisallow: /x\n", "bot", "/x", false},
		{"two names, blank line, sitemap", "User-agent: a\n\nSitemap: https://e.org/s.xml\nUser-agent: bot\nDisallow: /x\n", "a",
			"/x", false},
		{"two groups of one name", "User-agent: bot\nDisallow: /x\n\nUser-agent: a\nDisallow: /z\n\nUser-agent: bot\n" +
			"Disallow: /y\n", "bot", "/y", false},
		{"two groups of everybody", everybody + "Disallow: /x\n\n" + everybody + "Disallow: /y\n", "bot", "/x", false},
		{"after a delay comes another group", "User-agent: a\nCrawl-delay: 5\nUser-agent: bot\nDisallow: /x\n", "a", "/x",
			true},

		// 2.2.2: which rule decides
		{"longest", everybody + "Allow: /x/page.html\nDisallow: /x/\n", "bot", "/x/page.html", true},
		{"longest, the other way", everybody + "Allow: /x\nDisallow: /x/y\n", "bot", "/x/y/z", false},
		{"equally long", everybody + "Disallow: /x\nAllow: /x\n", "bot", "/x", true},
		{"wildcards count", everybody + "Disallow: /*/a/long/way\nAllow: /q\n", "bot", "/q/a/long/way", false},
		// "The most specific match is the match that has the most octets": of addresses, whose reserved characters are one
		// octet each however the rule spells them, while those outside ASCII are three for each of their bytes.
		{"a bracket is one octet", everybody + "Allow: /x(\nDisallow: /*abc\n", "bot", "/x(abc", false},
		{"so where the address escapes it", everybody + "Allow: /x(\nDisallow: /*abc\n", "bot", "/x%28abc", false},
		{"so where the rule does", everybody + "Allow: /x%28\nDisallow: /*abc\n", "bot", "/x(abc", false},
		{"a colon is one octet", everybody + "Disallow: /*%3A\nAllow: /pag\n", "bot", "/pag:e", true},
		{"a square bracket in a query", everybody + "Disallow: /*?f[\nAllow: /list\n", "bot", "/list?f[]=1", true},
		{"at", everybody + "Allow: /@a\nDisallow: /*/b\n", "bot", "/@a/b", false},
		{"é is six", everybody + "Allow: /é\nDisallow: /*abcd\n", "bot", "/%C3%A9abcd", true},
		{"é is six where it is escaped", everybody + "Allow: /%C3%A9\nDisallow: /*abcd\n", "bot", "/éabcd", true},
		{"a letter that is escaped is one", everybody + "Disallow: /%62\nAllow: /*b\n", "bot", "/b", true},
		{"case of paths", everybody + "Disallow: /X\n", "bot", "/x", true},
		{"the query is part", everybody + "Disallow: /*?price=\n", "bot", "/b-apartments/c37l1?price=1", false},
		{"without the query", everybody + "Disallow: /*?price=\n", "bot", "/b-apartments/c37l1", true},
		{"not from the beginning", everybody + "Disallow: /x\n", "bot", "/y/x", true},
		{"a prefix, no segment", everybody + "Disallow: /fish\n", "bot", "/fishing", false},
		{"a folder", everybody + "Disallow: /fish/\n", "bot", "/fish", true},

		// 2.2.2: encoding, the table of the RFC
		{"query and ampersand", everybody + "Disallow: /foo/bar?baz=quz\n", "bot", "/foo/bar?baz=quz", false},
		{"an address in a query", everybody + "Disallow: /foo/bar?baz=https://foo.bar\n", "bot",
			"/foo/bar?baz=https://foo.bar", false},
		{"encoded in the page's address", everybody + "Disallow: /foo/bar/ツ\n", "bot", "/foo/bar/%E3%83%84", false},
		{"encoded in the rule", everybody + "Disallow: /foo/bar/%E3%83%84\n", "bot", "/foo/bar/ツ", false},
		{"small letters", everybody + "Disallow: /%c3%a9t%c3%a9\n", "bot", "/%C3%A9t%C3%A9", false},
		{"encoded without need", everybody + "Disallow: /foo/bar/%62%61%7A\n", "bot", "/foo/bar/baz", false},
		{"encoded without need, there", everybody + "Disallow: /foo/bar/baz\n", "bot", "/foo/bar/%62%61%7a", false},
		{"an encoded slash is no slash", everybody + "Disallow: /a/b\n", "bot", "/a%2Fb", true},
		{"braces", everybody + "Disallow: /*{{\n", "bot", "/x/%7B%7Burl}}", false},
		{"what browsers escape in a path", everybody + "Disallow: /\"<a>^`|\n", "bot", "/%22%3Ca%3E%5E%60|/b", false},
		{"an apostrophe, escaped in a query", everybody + "Disallow: /*?q='\n", "bot", "/x?q=%27a", false},
		{"colons, escaped by a script", everybody + "Disallow: /*?q=:relevance\n", "bot", "/c?q=%3Arelevance%3Abrand", false},
		{"brackets, not escaped by a script", everybody + "Disallow: /*?f%5B0%5D=\n", "bot", "/c?f[0]=red", false},
		{"an encoded ampersand is none", everybody + "Disallow: /*&b\n", "bot", "/x?a=1%26b", true},
		{"half an encoding", everybody + "Disallow: /100%\n", "bot", "/100%", false},
		{"no encoding", everybody + "Disallow: /%zz\n", "bot", "/%zz", false},

		// 2.2.3: special characters
		{"end", everybody + "Disallow: /*.gif$\n", "bot", "/a/b.gif", false},
		{"not the end", everybody + "Disallow: /*.gif$\n", "bot", "/b.gif?x", true},
		{"whole path", everybody + "Disallow: /x$\n", "bot", "/x", false},
		{"more than the whole path", everybody + "Disallow: /x$\n", "bot", "/xy", true},
		{"the last of several", everybody + "Disallow: /a*b*b$\n", "bot", "/abcb", false},
		{"no overlap", everybody + "Disallow: /ab*b$\n", "bot", "/ab", true},
		{"wildcard", everybody + "Disallow: /*/private\n", "bot", "/x/y/private/z", false},
		{"wildcard is nothing, too", everybody + "Disallow: /a*b\n", "bot", "/ab", false},
		{"only a wildcard", everybody + "Disallow: *\n", "bot", "/x", false},
		{"a star to be found", everybody + "Disallow: /file-with-a-%2A.html\n", "bot", "/file-with-a-*.html", false},
		{"a star, not anything", everybody + "Disallow: /file-with-a-%2A.html\n", "bot", "/file-with-a-b.html", true},
		{"a dollar to be found", everybody + "Disallow: /foo-%24\n", "bot", "/foo-$", false},
		{"a dollar in the middle", everybody + "Disallow: /a$b\n", "bot", "/a$b", false},
		{"comment", everybody + "Disallow: /x # not /y\n#Disallow: /y\n", "bot", "/y", true},

		// 2.3, 2.5: the file
		{"byte order mark", "\ufeff" + everybody + "Disallow: /x\n", "bot", "/x", false},
		{"a byte order mark between two files", "User-agent: a\nDisallow: /\n\ufeffUser-agent: *\nDisallow: /x\n", "bot", "/x", false},
		{"spaces that are not seen", "User-agent:\u00a0*\nDisallow: /x\u200b\n\u200bDisallow: /y\n", "bot", "/x", false},
		{"line ends of Windows", "User-agent: *\r\nDisallow: /x\r\n", "bot", "/x", false},
		{"line ends of old", "User-agent: *\rDisallow: /x", "bot", "/x", false},
		{"no last line end", everybody + "Disallow: /x", "bot", "/x", false},
		{"white space", " User-agent :\t* \n  Disallow\t:  /x  \n", "bot", "/x", false},
		{"a page of HTML", "<!DOCTYPE html><html><body>Disallow: /</body></html>", "bot", "/x", true},
		{"500 KiB are read", everybody + strings.Repeat("#\n", 250<<10-40) + "Disallow: /x\n", "bot", "/x", false},
		{"what is beyond is not", everybody + strings.Repeat("#\n", 250<<10) + "Disallow: /x\n", "bot", "/x", true},
		{"a rule that is cut in two", everybody + strings.Repeat("#", robots.MaxSize-len(everybody)-12) + "\n" +
			"Disallow: /xyz\n", "bot", "/x", true},

		// Not of the RFC, but found in the wild and read by other parsers
		{"no colon", "user-agent bot\ndisallow /x\n", "bot", "/x", false},
		{"no colon, more words", everybody + "disallow /x /y\n", "bot", "/x", true},
		{"misspelled", "Useragent: bot\nDisalow: /x\n", "bot", "/x", false},
		{"with a space", "User agent: bot\nDissallow: /x\n", "bot", "/x", false},
		{"an agent with more words", "User-agent: bot and others\nDisallow: /x\n", "bot", "/x", false},
		{"everybody and more words", "User-agent: * all\nDisallow: /x\n", "bot", "/x", false},
		{"a wildcard in an agent", "User-agent: *bot\nDisallow: /x\n", "bot", "/x", true},
		{"no agent at all", "User-agent:\nDisallow: /x\n", "bot", "/x", true},
		{"a line of spaces within a group", everybody + "Disallow: /y\n \t \nDisallow: /x\n", "bot", "/x", false},
		{"no slash in front", everybody + "Disallow: x\n", "bot", "/x", true},
		{"an address as rule", everybody + "Disallow: http://e.org/x\n", "bot", "/x", true},
		{"a wildcard in front", everybody + "Disallow: *.php\n", "bot", "/a/b.php?c", false},
		{"several wildcards", everybody + "Disallow: /a**b\n", "bot", "/axb", false},
		{"a dollar alone", everybody + "Disallow: $\n", "bot", "/x", true},
		{"root only", everybody + "Disallow: /\nAllow: /$\n", "bot", "/", true},
		{"not the root", everybody + "Disallow: /\nAllow: /$\n", "bot", "/x", false},
		{"rules of three groups", "User-agent: bot\nDisallow: /x\nUser-agent: bot\nAllow: /x/y\nUser-agent: bot\n" +
			"Disallow: /x/y/z\n", "bot", "/x/y/q", true},

		// What Kijiji's file says, in short: filters are not for robots.
		{"a search", kijiji, "ConveyorBot", "/b-apartments-condos/ville-de-montreal/page-2/c37l1700281", true},
		{"an advert", kijiji, "ConveyorBot", "/v-apartments-condos/ville-de-montreal/4-1-2/1691588114", true},
		{"a search by price", kijiji, "ConveyorBot", "/b-apartments-condos/ville-de-montreal/c37l1700281?price=0__900", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := robots.Parse([]byte(tt.body)).Allowed(tt.agent, tt.path); got != tt.want {
				t.Errorf("Allowed(%q, %q) = %t; want %t", tt.agent, tt.path, got, tt.want)
			}
		})
	}
}

// kijiji is made up from what is known of the real file: browse pages allowed, every query filter not.
const kijiji = "User-agent: *\nDisallow: /*?price=\nDisallow: /*&price=\nDisallow: /*?sort=\nDisallow: /m-\n"

func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		want time.Duration
	}{
		{"", 0},
		{"User-agent: *\nCrawl-delay: 10\n", 10 * time.Second},
		{"User-agent: *\nCrawl-delay: 1.5\n", 1500 * time.Millisecond},
		{"User-agent: *\nCrawl-delay: 10\nUser-agent: bot\nCrawl-delay: 2\n", 2 * time.Second},
		{"User-agent: *\nCrawl-delay: 10\nUser-agent: bot\nDisallow:\n", 0},
		{"User-agent: bot\nCrawl-delay: 2\nUser-agent: bot\nCrawl-delay: 3\n", 3 * time.Second},
		{"User-agent: *\nCrawl-delay: 1,5\n", 1500 * time.Millisecond},
		{"User-agent: *\nCrawl-delay: 10 Seconds\n", 10 * time.Second},
		{"User-agent: *\nCrawl-delay: 2s;\n", 2 * time.Second},
		{"User-agent: *\nCrawl-delay: 500ms\n", 0},
		{"User-agent: *\nCrawl-delay: 1 min\n", 0},
		{"User-agent: *\nCrawl-delay: soon\n", 0},
		{"User-agent: *\nCrawl-delay: -1\n", 0},
		{"User-agent: *\nCrawl-delay: NaN\n", 0},
		{"User-agent: *\nCrawl-delay: Inf\n", 0},
		{"User-agent: *\nCrawl-delay: 1e300\n", time.Hour},
	} {
		assert.Equal(t, tt.want, robots.Parse([]byte(tt.body)).CrawlDelay("bot/1.0"), tt.body)
	}
}

func TestFromStatus(t *testing.T) {
	t.Parallel()
	body := []byte("User-agent: *\nDisallow: /x\n")
	for _, tt := range []struct {
		status int
		x, y   bool // may be requested
		class  fault.Class
	}{
		{200, false, true, ""},
		{204, false, true, ""},
		{401, true, true, ""},
		{403, true, true, ""},
		{404, true, true, ""},
		{408, true, true, ""},
		{410, true, true, ""},
		{451, true, true, ""},
		{429, false, false, fault.Throttled},
		{500, false, false, fault.Transient},
		{503, false, false, fault.Throttled},
		{301, false, false, fault.Transient}, // one redirect too many
		{0, false, false, fault.Transient},   // no answer
	} {
		r, err := robots.FromStatus(tt.status, body)
		if r.Allowed("bot", "/x") != tt.x || r.Allowed("bot", "/y") != tt.y {
			t.Errorf("status %d: /x %t, /y %t; want %t, %t", tt.status, r.Allowed("bot", "/x"), r.Allowed("bot", "/y"), tt.x, tt.y)
		}
		if class, _ := fault.Of(err); class != tt.class {
			t.Errorf("status %d: %v is %q; want %q", tt.status, err, class, tt.class)
		}
	}
}

func TestSitemaps(t *testing.T) {
	t.Parallel()
	r := robots.Parse([]byte("Sitemap: https://e.org/1.xml\nUser-agent: a\nSITEMAP : https://e.org/2.xml # x\n" +
		"Disallow: /x\nsitemap:\nSite-map: /3.xml"))
	assert.Equal(t, []string{"https://e.org/1.xml", "https://e.org/2.xml", "/3.xml"}, r.Sitemaps())
	if got := robots.Parse(bytes.Repeat([]byte("Sitemap: /x\n"), 10_000)).Sitemaps(); len(got) != 1000 {
		t.Errorf("%d sitemaps are kept", len(got))
	}
	if _, err := robots.FromStatus(404, nil); err != nil || (robots.Rules{}).Sitemaps() != nil {
		t.Error("no file has sitemaps")
	}
}

// Files of 500 KiB that are made to be slow, asked about a long path.
func TestHugeFiles(t *testing.T) {
	t.Parallel()
	path := "/" + strings.Repeat("ab", 2048)
	for name, line := range map[string]string{
		"wildcards":      "Disallow: /*a*b*a*b*c\n",
		"one wildcard":   "Disallow: *bax\n",
		"near misses":    "Disallow: *" + strings.Repeat("ab", 64) + "c\n",
		"one long rule":  "Disallow: " + strings.Repeat("*a", 200_000) + "c\n",
		"plain rules":    "Disallow: /abababababac\n",
		"all agents":     "User-agent: bot\n",
		"groups":         "User-agent: bot\nDisallow: /x\n",
		"escapes":        "Disallow: /%61%62%zz%\n",
		"blanks":         " \t \t:::\n",
		"ends of a line": "\r",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := []byte("User-agent: bot\n" + strings.Repeat(line, (robots.MaxSize-20)/len(line)+1))
			took := servicetest.CPU(func() {
				r := robots.Parse(body)
				for range 3 {
					r.Allowed("bot", path)
				}
			})
			if took > 10*time.Second {
				t.Errorf("parsed, and three answers, in %v", took)
			}
		})
	}
}

// Rules say how much memory they take, of files that are made to take much of it. It measures the heap, so it is not
// parallel.
func TestSize(t *testing.T) {
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for name, line := range map[string]string{
		"asterisks":     "Disallow: /" + strings.Repeat("*", robots.MaxSize) + "\n",
		"wildcards":     "Disallow: /" + strings.Repeat("*a", robots.MaxSize/2) + "\n",
		"short rules":   "allow:/\n",
		"short escapes": "allow:\x01\n",
		"escapes":       "Disallow: /" + strings.Repeat("\x01", 1000) + "\n",
		"groups":        "useragent:a\nallow:/\n",
		"blanks":        "allow" + strings.Repeat(" ", 1000) + ":/\n",
		"text":          "Disallow: /" + strings.Repeat("x", 1000) + "\n",
	} {
		room := robots.MaxSize - len("User-agent: *\n")
		if len(line) > room {
			line = line[:room-1] + "\n"
		}
		body := []byte("User-agent: *\n" + strings.Repeat(line, room/len(line)))
		before := heap()
		r := robots.Parse(body)
		took := heap() - before
		if got := r.Size(); got < took*8/10 || got > 2*max(took, len(body)) {
			t.Errorf("%s: Size = %d of %d bytes", name, got, took)
		}
		runtime.KeepAlive(body)
	}
	var agents strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&agents, "useragent:%c%c%c\n", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26)
	}
	before := heap()
	r := robots.Parse([]byte(agents.String()))
	if got, took := r.Size(), heap()-before; got < took*8/10 {
		t.Errorf("agents: Size = %d of %d bytes", got, took)
	}
	assert.EqualValues(t, 0, (robots.Rules{}).Size(), "no rules take memory")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /*?price=$\nAllow: /%62\nCrawl-delay: 1\n"), "bot", "/b?price=")
	f.Add([]byte("\xef\xbb\xbfUser-agent: a/1\r\rDisallow: *a*a*a*a*b$\n"), "A", "/aaaaaaaaaaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, body []byte, agent, path string) {
		r := robots.Parse(body)
		got := r.Allowed(agent, path)
		assert.Equal(t, got, robots.Parse(append(bytes.Clone(body), "\n# more"...)).Allowed(agent, path))
		if d := r.CrawlDelay(agent); d < 0 || d > time.Hour {
			t.Errorf("CrawlDelay = %v", d)
		}
		all, _ := robots.FromStatus(503, body)
		if all.Allowed(agent, "/x") {
			t.Error("allowed while the site fails")
		}
	})
}
