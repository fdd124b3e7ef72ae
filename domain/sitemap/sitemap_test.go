package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/sitemap"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

const at = "https://a.example/sitemaps/1.xml"

func TestParse(t *testing.T) {
	t.Parallel()
	urlset := `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
		xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
		<url><loc> https://a.example/1?a&amp;b </loc><lastmod>2026-01-01</lastmod><image:image><image:loc>https://a.example/i.jpg</image:loc>
		</image:image></url><url><loc><![CDATA[https://A.example:443/2#x]]></loc></url><url><loc>/3</loc></url>
		<url><loc>https://a.example/2</loc></url><url><loc>mailto:x</loc></url><url><loc/></url><!-- <url><loc>/no</loc></url> --></urlset>`
	feed := func(encoding, title string) string {
		return "<?xml version='1.0' encoding='" + encoding + "'?><rss><channel><item><title>a" + title +
			"b</title><link>/1</link></item><item><link>/2</link></item></channel></rss>"
	}
	both := sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}}
	urls := []string{"https://a.example/1?a&b", "https://a.example/2", "https://a.example/3"}
	for _, tt := range []struct {
		name, in string
		want     sitemap.Sitemap
	}{
		{"urlset", urlset, sitemap.Sitemap{URLs: urls}},
		{"gzip", packed(t, urlset), sitemap.Sitemap{URLs: urls}},
		{"byte order mark", "\ufeff\n" + urlset, sitemap.Sitemap{URLs: urls}},
		{"UTF-16", wide(`<?xml version="1.0" encoding="utf-16"?><urlset><url><loc>/é</loc></url></urlset>`),
			sitemap.Sitemap{URLs: []string{"https://a.example/%C3%A9"}}},
		{"Latin-1", "<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>/\xe9</loc></url></urlset>",
			sitemap.Sitemap{URLs: []string{"https://a.example/%C3%A9"}}},
		{"UTF-16 that is UTF-8", `<?xml version="1.0" encoding="utf-16"?><urlset><url><loc>/é</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/%C3%A9"}}},
		{"an encoding that nobody knows", `<?xml version="1.0" encoding="utf8mb4"?><urlset><url><loc>/é</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/%C3%A9"}}},
		{"XML 1.1", `<?xml version="1.1" encoding="UTF-8"?><urlset><url><loc>/é</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/%C3%A9"}}},
		{"index", `<sitemapindex><sitemap><loc>/s1.xml.gz</loc></sitemap><sitemap><loc>https://b.example/s2.xml</loc></sitemap></sitemapindex>`,
			sitemap.Sitemap{Sitemaps: []string{"https://a.example/s1.xml.gz", "https://b.example/s2.xml"}}},
		{"prefixes and case", `<sm:URLSET xmlns:sm="x"><sm:Url><sm:LOC>/1</sm:LOC></sm:Url></sm:URLSET>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1"}}},
		{"RSS", `<rss><channel><link>/no</link><item><title>x</title><link>/1</link></item></channel></rss>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1"}}},
		{"RSS without links", `<rss><channel><guid>https://a.example/no</guid><item><guid>https://a.example/1</guid></item><item><link/>
			<guid isPermaLink="true"> https://a.example/2 </guid></item><item><guid isPermaLink="false">https://a.example/no</guid></item>
			<item><guid>https://a.example/no</guid><link>/3</link></item><item><guid>4</guid></item></channel></rss>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2", "https://a.example/3"}}},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><link href="/no"/><entry><link rel="alternate" href="/1"/>
			<link rel="edit" href="/no"/></entry><entry><link href="/2"/></entry></feed>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}}},
		{"text", "https://a.example/1\r\nHTTP://b.example\n# no\n/no\n\n https://a.example/1 ",
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "http://b.example/"}}},
		{"a warning before it", "Notice: x\n<br />\n<b>Warning</b>: y\n" + `<?xml version="1.0"?><urlset><url><loc>/1</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1"}}},
		{"two byte order marks", "\ufeff\ufeff" + `<?xml version="1.0"?><urlset><url><loc>/1</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1"}}},
		{"a declaration within it", `<urlset><url><loc>/1</loc></url><!-- <?xml version="1.0"?> --><url><loc>/2</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}}},
		{"cut off", `<urlset><url><loc>/1</loc></url><url><loc>/2`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1"}, Cut: true}},
		{"broken in the middle", `<urlset><url><loc>/1</loc></url><url <loc>/2</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1"}, Cut: true}},
		{"bare ampersands", `<urlset><url><loc>/1?a&b&nbsp;c</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1?a&b%C2%A0c"}}},
		{"gzip cut off", strings.TrimSuffix(packed(t, urlset), packed(t, urlset)[len(packed(t, urlset))-8:]),
			sitemap.Sitemap{URLs: urls, Cut: true}},
		{"a bomb of entities", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>/&b;</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/&b;"}}},
		{"what XML may not hold", "<?xml version='1.0' encoding='UTF-8'?><rss><channel><item><title>a\x0bb</title><link>/1\x02</link></item>" +
			"<item><title>caf\xe9</title><link>/2</link></item></channel></rss>",
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}}},
		{"signs of another encoding", "<?xml version='1.0' encoding='iso-2022-jp'?><urlset><url><loc>/\x1b$B$\"\x1b(B</loc></url></urlset>",
			sitemap.Sitemap{URLs: []string{"https://a.example/%E3%81%82"}}},
		// XML 1.0, production 2 (Char), and 4.1: "Characters referred to using character references MUST match the production
		// for Char".
		{"an escape", feed("UTF-8", "\x1b[1m <!-- \x1b --><![CDATA[\x1b]]><x y='\x1b'/>"), both},
		{"noncharacters", feed("utf-8", "\ufffe\uffff"), both},
		{"references to controls", feed("UTF-8", "&#11;&#x1B;&#0;<x y='&#1;'/>"), both},
		{"references to what is no character", feed("UTF-8", "&#xD83D;&#xDE00;&#65534;&#x110000;&#99999999999;"), both},
		{"references that stay", feed("UTF-8", "&#x1F600;&#9;&#;&#x;&#12a;&#00000000000000000000000011;&#"), both},
		{"an escape in another encoding", feed("windows-1252", "\x1b\xe9&#8;"), both},
		{"an escape in an encoding that nobody knows", feed("utf8mb4", "\x1b\ufffe&#2;"), both},
		{"an escape in UTF-16", wide(feed("UTF-16", "\x1b\ufffe&#2;")), both},
		// XML 1.0, appendix F.1: 3C 00 3F 00 and 00 3C 00 3F are UTF-16 without a byte order mark.
		{"UTF-16 without a mark", wide(feed("UTF-16", "é"))[2:], both},
		{"UTF-16 without a mark, big-endian", strings.TrimSuffix("\x00"+wide(feed("UTF-16", "é"))[2:], "\x00"), both},
		{"an address that is not whole", "<urlset><url><loc>/1\ufffe2</loc></url><url><loc>/3\xff</loc></url></urlset>", sitemap.Sitemap{}},
		{"dashes in a comment", `<urlset><url><loc>/1</loc></url><!-- by x -- no <url><loc>/no</loc></url> ---><url><loc>/2</loc></url></urlset>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}, Cut: true}},
		{"what is no XML", "<rss><channel><item><title>I <3 this ]]> \x1b \ufffe &#11; &#xD83D;</title><media:text alt='a<b'/><link>/1</link></item>" +
			"<item><author>Jo <jo@x.example></author><link>/2</link></item><item><link>/\ufffe</link></item><item><link>/<3</link></item></channel></rss>",
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}, Cut: true}},
		{"what is no XML, in another encoding", "<?xml version='1.0' encoding='shift_jis'?><rss><channel><item><title>\x93\xfa\x1b <3</title>" +
			"<link>/1</link></item></channel></rss>", sitemap.Sitemap{URLs: []string{"https://a.example/1"}, Cut: true}},
		{"bases", `<feed xml:base="/b/"><entry xml:base="c/"><link href="1"/><link href="2" xml:base="//b.example/"/></entry><entry><link href="3"/>
			</entry></feed><rss><channel><item><link>4</link></item></channel></rss>`, sitemap.Sitemap{URLs: []string{
			"https://a.example/b/c/1", "https://b.example/2", "https://a.example/b/3", "https://a.example/sitemaps/4"}}},
		{"spellings of a relation", `<feed><entry><link rel="Alternate" href="/1"/><link rel="self" href="/no"/>
			<link rel="http://www.iana.org/assignments/relation/alternate" href="/2"/></entry></feed>`,
			sitemap.Sitemap{URLs: []string{"https://a.example/1", "https://a.example/2"}}},
		{"nothing", "", sitemap.Sitemap{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := sitemap.Parse([]byte(tt.in), at)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Parse = %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
	for _, in := range []string{"<html><body>not found</body></html>", "<!-- -->", "<"} {
		_, err := sitemap.Parse([]byte(in), at)
		if class, _ := fault.Of(err); class != fault.Invalid {
			t.Errorf("Parse(%q): %v", in, err)
		}
	}
	if _, err := sitemap.Parse([]byte(urlset), "/x"); err == nil {
		t.Error("a sitemap without an address")
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range sitemap.MaxEntries + 1 {
		fmt.Fprintf(&many, "https://a.example/%d\n", i)
	}
	for _, tt := range []struct {
		name, in string
		urls     int
	}{
		{"many lines", many.String(), sitemap.MaxEntries},
		{"many elements", "<urlset>" + strings.ReplaceAll(strings.ReplaceAll(many.String(), "https", "<url><loc>https"), "\n", "</loc></url>") +
			"</urlset>", sitemap.MaxEntries},
		{"the same again", strings.Repeat("https://a.example/\n", 200_000), 1},
		{"a gzip bomb", packed(t, "https://a.example/\n"+strings.Repeat(strings.Repeat("x", 1000)+"\n", 60_000)), 1},
		{"deep", strings.Repeat("<urlset>", 500_000), 0},
		{"a long value", "<urlset><url><loc>" + strings.Repeat("x", 5<<20), 0},
		{"a long name", "<urlset><" + strings.Repeat("x", 5<<20), 0},
		{"attributes", "<urlset><url " + strings.Repeat("a='b' ", 1<<20), 0},
		{"faults", "<urlset>" + strings.Repeat("<3", 5<<20), 0},
		{"faults in comments", "<urlset>" + strings.Repeat("<!-- -- -->", 1<<20), 0},
		{"an open comment", "<urlset><!-- --" + strings.Repeat("- ", 5<<20), 0},
		{"a long line", "https://a.example/" + strings.Repeat("x", 5<<20), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got sitemap.Sitemap
			var err error
			took := servicetest.CPU(func() { got, err = sitemap.Parse([]byte(tt.in), at) })
			if err != nil || len(got.URLs) != tt.urls {
				t.Errorf("%d addresses, %v; want %d", len(got.URLs), err, tt.urls)
			}
			if whole := tt.name == "the same again" || tt.name == "a long line"; got.Cut == whole {
				t.Errorf("Cut = %t", got.Cut)
			}
			if took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func packed(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// wide is s in UTF-16, little endian, with a byte order mark.
func wide(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://a.example/1\n", "<urlset><url><loc>/1</loc></url></urlset>", "\x1f\x8b", "\xff\xfe<\x00",
		"<?xml version='1.0' encoding='x'?><feed><entry><link href='/1'/></entry></feed>", "<rss><item><link>/</item>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := sitemap.Parse(body, at)
		if len(s.URLs)+len(s.Sitemaps) > sitemap.MaxEntries || err != nil && len(s.URLs) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
