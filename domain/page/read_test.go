package page_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/text/unicode/norm"

	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestReadLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		o        page.ReadOptions
		want     []string // with " nofollow" behind it
	}{
		{"every kind", `<a href=1><area href='2'><iframe src="3"></iframe><frame src=4><link href=no><img src=no><form action=no>`,
			page.ReadOptions{}, []string{"1", "2", "3", "4"}},
		{"link elements", `<link rel=stylesheet href=1><link rel="dns-prefetch" href=no><link rel=preconnect href=no><link href=2>`,
			page.ReadOptions{LinkRel: true}, []string{"1", "2"}},
		{"once each", `<a href=1><a href="1#x"><a href=" 1 "><a href=#y><a href=""><a href=2>`, page.ReadOptions{},
			[]string{"1", "#y", "2"}},
		{"no address", `<a><a name=x><a hrefs=no><a data-href=no><frame src=""><iframe src=" "></iframe><base>`, page.ReadOptions{}, nil},
		{"nofollow", `<a rel=nofollow href=1><a href=2 rel="external NoFollow"><a rel=nofollows href=3><a rel=nofollow href=4><a href=4>`,
			page.ReadOptions{}, []string{"1 nofollow", "2 nofollow", "3", "4"}},
		{"case and quotes", "<A\nHREF = '1'><a HrEf=\"2>3\"/><a href=4/><a/href=5><a x='\"' href=6>", page.ReadOptions{},
			[]string{"1", "2>3", "4/", "5", "6"}},
		{"the first of two", `<a href=1 href=2>`, page.ReadOptions{}, []string{"1"}},
		{"references", `<a href="?a=1&amp;b=2&copy=3&copy;&#x26;c&lt"><a href="?a&ampb&amp=1&notit;&amp"><a href=&#49;&#0;>`,
			page.ReadOptions{}, []string{"?a=1&b=2&copy=3©&c<", "?a&ampb&amp=1&notit;&", "1\ufffd"}},
		{"noscript", `<head><noscript><meta http-equiv=refresh content="0;url=1"><a href=2></noscript></head><noscript><iframe src=3>`,
			page.ReadOptions{}, []string{"1", "2", "3"}},
		{"not in raw text", `<script>"<a href=no>"</script><style><a href=no></style><textarea><a href=no></textarea>
			<title><a href=no></title><xmp><a href=no></xmp><noframes><a href=no></noframes><noembed><a href=no></noembed>
			<iframe><a href=no></iframe><!-- <a href=no> --><a href=1>`, page.ReadOptions{}, []string{"1"}},
		{"not in templates", `<template><a href=no><template></template><a href=no></template><a href=1></template>
			<template shadowrootmode=open><a href=2></template>`, page.ReadOptions{}, []string{"1", "2"}},
		{"scripts in scripts", `<script><!-- <script> "</script><a href=no>" </script> --></script><a href=1><script><!--></script><a href=2>`,
			page.ReadOptions{}, []string{"1", "2"}},
		{"comments", `<!--><a href=1><!---><a href=2><!-- -- > <a href=no> --!><a href=3><!----><a href=4><? <a href=no><a href=5></ <a href=no>
			<a href=6><!x <a href=no><a href=7><![CDATA[<a href=no>]]><a href=8>`, page.ReadOptions{},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		{"svg", `<svg><a href=1><title/><style/><script/><a href=2></svg><svg><style><a href=no></style></svg><a href=3><svg><p><style><a
			href=no></style><a href=4>`, page.ReadOptions{}, []string{"1", "2", "3", "4"}},
		{"svg that closes itself", `<svg/><script>"<!--"</script><a href=1><svg class=x /><base href=/b/><a href=2>`, page.ReadOptions{},
			[]string{"1", "2"}},
		{"the end within a tag", `<a href=1><a href=2`, page.ReadOptions{}, []string{"1"}},
		{"the end within a value", `<a href=1><a href="2>`, page.ReadOptions{}, []string{"1"}},
		{"as many as asked for", `<a href=1><a href=2><a href=1><a href=3>`, page.ReadOptions{MaxLinks: 2}, []string{"1", "2"}},
		{"too long", `<a href=1><a href=` + strings.Repeat("x", 20<<10) + `>`, page.ReadOptions{}, []string{"1"}},
		{"self-closed in HTML", `<a href=1><script/><a href=no></script><a href=2>`, page.ReadOptions{}, []string{"1", "2"}},
		{"self-closed in XHTML", `<title/><a href="1"/><script src="x"/><a href="2"/><style/><textarea/><iframe src="3"/><a href="4"/>`,
			page.ReadOptions{XML: true}, []string{"1", "2", "3", "4"}},
		{"XHTML", `<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "<a href='no'>">]><html xmlns="http://www.w3.org/1999/xhtml"><head>
			<script><![CDATA[ "<a href='no'>" ]]></script><?php echo "<a href='no'>" ?></head><body><!-- <a href="no"/> -->
			<a href="?a&amp;b">x</a><noscript><a href="1"/></noscript></body></html>`, page.ReadOptions{XML: true}, []string{"?a&b", "1"}},
		{"prefixes", `<h:html xmlns:h="http://www.w3.org/1999/xhtml" xmlns:x="urn:x"><x:a href="no"/><h:a href="1"/><y:a href="no"/></h:html>`,
			page.ReadOptions{XML: true}, []string{"1"}},
		{"namespaces", `<html xmlns="http://www.w3.org/1999/xhtml"><a href="1"/><a xmlns="urn:x" href="no">x<a href="no"/><b/></a><a href="2"/>
			<x xmlns="urn:x"><a href="no"/><x><a href="no"/></x><div xmlns="http://www.w3.org/1999/xhtml"><a href="3"/></div><a href="no"/></x>
			<a xmlns='urn:x' href='no'/><a href="4"/><h:p xmlns:h="http://www.w3.org/1999/xhtml"><h:a href="5"/></h:p><h:a href="no"/>
			<svg xmlns="http://www.w3.org/2000/svg"><a href="6"/></svg><a xmlns="" href="no"/><a href="7"/></html>`,
			page.ReadOptions{XML: true}, []string{"1", "2", "3", "4", "5", "6", "7"}},
		{"an address of XHTML that is mistyped", `<html xmlns="https://www.w3.org/1999/xhtml/"><a href="1"/><x:a xmlns:x="https://www.w3.org/1999/xhtml" href="no"/></html>`,
			page.ReadOptions{XML: true}, []string{"1"}},
		{"a document in an iframe", `<iframe srcdoc="<a href='1?a&amp;amp;b'>x</a><iframe srcdoc='<a href=no>'></iframe><script><a
			href=no></script><a rel=nofollow href=2>"><a href=no></iframe><a href=3><iframe src=4 srcdoc=""></iframe>
			<iframe srcdoc="<base href=/b/><a href=no>"></iframe><template><iframe srcdoc="<a href=no>"></iframe></template>
			<iframe srcdoc="<meta name=robots content=nofollow><a href=5>">`, page.ReadOptions{},
			[]string{"1?a&b", "2 nofollow", "3", "4", "5 nofollow"}},
		{"a namespace in HTML", `<a xmlns="urn:x" href="1"></a>`, page.ReadOptions{}, []string{"1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := page.Read([]byte(tt.in), tt.o)
			var got []string
			for _, l := range r.Links {
				if l.Nofollow {
					l.Href += " nofollow"
				}
				got = append(got, l.Href)
			}
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.o.MaxLinks > 0, r.Cut)
		})
	}
}

func TestReadRefresh(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"0; url=x": "x", "0;URL='x y'z": "x y", `5 , url = "x`: "x", "1.5;x": "x", "0 url=x": "x", ".;x": "x", "0;urls=x": "urls=x",
		"5": "", "": "", "x": "", "0x": "", "-1;url=x": "", "0;": "", "0; url=": "", "0;url": "url", " 0;url=#y": "#y",
	} {
		r := page.Read(fmt.Appendf(nil, `<meta http-equiv=Refresh content="%s">`, html.EscapeString(content)), page.ReadOptions{})
		got := ""
		if len(r.Links) == 1 {
			got = r.Links[0].Href
		}
		if got != want || len(r.Links) > 1 {
			t.Errorf("refresh %q = %v; want %q", content, r.Links, want)
		}
	}
}

func TestReadHead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want page.Reading
	}{
		{`<html lang=fr-CA><title> Deux\n&amp; trois </title><title>no</title><meta name=Description content=" Une
			page &eacute; "><meta name=description content=no><base target=x><base href=" /b/ "><base href=no>`,
			page.Reading{Title: `Deux\n& trois`, Lang: "fr-CA", Description: "Une page é", Base: "/b/"}},
		{`<base href=""><base href="/b/">`, page.Reading{}},
		{`<svg><base href=/no/></svg><base href=/b/>`, page.Reading{Base: "/b/"}},
		{`<svg><title>no</title></svg><title>yes`, page.Reading{Title: "yes"}},
		{`<template><title>no</title><base href=no><meta name=robots content=noindex></template>`, page.Reading{}},
		{`<meta name=robots content="index, NoFollow">`, page.Reading{NoFollow: true}},
		{`<meta content=none name=ROBOTS>`, page.Reading{NoFollow: true, NoIndex: true}},
		{`<meta name=conveyorbot content=noindex><meta name=otherbot content=nofollow>`, page.Reading{NoIndex: true}},
		{`<title>` + strings.Repeat("é", 2000), page.Reading{Title: strings.Repeat("é", 512)}},
		{``, page.Reading{}},
	} {
		assert.Equal(t, tt.want, page.Read([]byte(tt.in), page.ReadOptions{Agent: "conveyorbot"}), tt.in)
	}
	got := page.Read([]byte(`<html xml:lang="fr"><head><title>A <b/>&amp; B</title></head><body><title>no</title>c</body></html>`),
		page.ReadOptions{XML: true, Text: true})
	require.Equal(t, (page.Reading{Title: "A & B", Lang: "fr", Text: "c"}), got)
}

func TestReadText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"<title>no</title><p>Un  <b>MOT</b>t\n\t&nbsp;deux</p>Trois<br>quatre<td>5</td><td>6</td>", "un mott deux trois quatre 5 6"},
		{"H<sub>2</sub>O <a href=x>L</a>ien", "h2o lien"},
		{"<nav><a href=1>Home</a><a href=2><b>About</b></a><span><a href=3>Us</a></span></nav>un<a href=4>link</a>ed", "home about us unlinked"},
		{"un<a id=top></a><a href=1>linked</a>", "unlinked"},
		{"a<script>no</script>b<!-- no -->c<style>no</style>d<template>no</template>e<textarea>no</textarea>f", "abcde f"},
		{"<noscript>no <a href=x>no</a></noscript>a<head><noscript>no</head>b<noscript>no<body>c", "ab c"},
		{"&Eacute;t&eacute; &amp;amp; &lt;b&gt; &hellip;&#8217;&#x80;&#0;&#xD800;&#99999999999; &notit; &unknown; &", "été &amp; <b> …’€\ufffd\ufffd\ufffd ¬it; &unknown; &"},
		{"1 < 2 <3 <> </> a", "1 < 2 <3 <> a"},
		{"e\u0301 A\u030a \u200bz\u00ad\ufeff\x00\x07\xff", "é å z"},
		{"ÀÉÎ ΣΊΣΥΦΟΣ ДА İ", "àéî σίσυφοσ да i"},
		{"<svg><text>a</text><![CDATA[ <B> ]]></svg><xmp><I></xmp>", "a <b> <i>"},
		{"a<plaintext>b<c>", "a b<c>"},
		{"", ""},
		{" \n ", ""},
	} {
		assert.Equal(t, tt.want, page.Read([]byte(tt.in), page.ReadOptions{Text: true}).Text, tt.in)
	}
	r := page.Read([]byte("<p>aé é<p>x"), page.ReadOptions{Text: true, MaxText: 5})
	if r.Text != "aé" || !r.Cut {
		t.Errorf("cut: %+v", r)
	}
	if r := page.Read([]byte("abcde"), page.ReadOptions{Text: true, MaxText: 5}); r.Text != "abcde" || r.Cut {
		t.Errorf("not cut: %+v", r)
	}
	if r := page.Read([]byte("abc"), page.ReadOptions{}); r.Text != "" {
		t.Errorf("text that was not asked for: %q", r.Text)
	}
}

// Pages that are made to be slow. Each is read in a tenth of a second when nothing else runs.
func TestReadIsLinear(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"<", "</", "<!", "<!--", "<!-- --", "<!---", "<?", "<a", "<a ", "<a href=", "<a href='", "<a href=x ", "<a x ", " x",
		"<a " + strings.Repeat("x=y ", 1000), "<script>", "<script><!--", "<script><!--<script>", "</script", "<title>", "<title></titl",
		"<style></", "<svg>", "<svg><title>", "<template>", "</template>", "<![CDATA[", "<svg><![CDATA[", "]]", "&", "&#", "&#x", "&a", "&amp", "&#1",
		"&" + strings.Repeat("a", 5000), "a", " ", "\u0301", "é", "\xff", "<p>", "<noscript>", "<plaintext>", "<a href=#x>", "<meta content='0;url=x'>",
		"<meta name=robots content=', , '>", "<a rel='" + strings.Repeat("x ", 5000) + "' href=x>", "<a href='" + strings.Repeat("&", 9000) + "'>",
		"<!DOCTYPE [", "<x xmlns:a='http://www.w3.org/1999/xhtml'>", "<base href='&'>",
		"<iframe srcdoc=x>", "<iframe srcdoc='<a href=x>'></iframe>", "<iframe srcdoc='" + strings.Repeat("&", 9000) + "'></iframe>",
		"<iframe srcdoc=\"<iframe srcdoc='", "<iframe srcdoc='" + strings.Repeat("<a href=x>", 5000) + "'></iframe><iframe srcdoc=x></iframe>"} {
		for xml, size := range map[bool]int{false: 2_000_000, true: 1_000_000} {
			body := []byte(strings.Repeat(unit, size/len(unit)))
			took := servicetest.CPU(func() {
				page.Read(body, page.ReadOptions{XML: xml, Text: true, LinkRel: true, MaxText: 20 << 20})
			})
			if took > 10*time.Second {
				t.Errorf("%.40q (XML %t): %v", unit, xml, took)
			}
		}
	}
	var many bytes.Buffer
	for i := 0; many.Len() < 10_000_000; i++ {
		fmt.Fprintf(&many, "<a href=%d>", i)
	}
	if r := page.Read(many.Bytes(), page.ReadOptions{}); len(r.Links) != page.DefaultMaxLinks || !r.Cut {
		t.Errorf("%d links, cut %t", len(r.Links), r.Cut)
	}
}

// tokens reads as Read does, with the library's tokenizer: the links of a and the characters of the text, but for white
// space.
func tokens(body []byte) (hrefs []string, text string) {
	z := html.NewTokenizer(bytes.NewReader(body))
	seen := map[string]bool{}
	var b strings.Builder
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			f := strings.Join(strings.Fields(b.String()), "")
			return hrefs, f
		case html.TextToken:
			b.Write(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			isA := string(name) == "a"
			for found := false; more; {
				var k, v []byte
				k, v, more = z.TagAttr()
				if href := strings.TrimFunc(string(v), func(c rune) bool { return c <= ' ' }); isA && !found && string(k) == "href" {
					found = true
					if key, _, _ := strings.Cut(href, "#"); !seen[key] {
						seen[key] = true
						hrefs = append(hrefs, href)
					}
				}
			}
		}
	}
}

// Text is in NFC, where its letters need no look at it, and where they do.
func TestTextIsNFC(t *testing.T) {
	t.Parallel()
	for c := rune(0xa0); c <= 0x2200; c++ {
		for _, text := range []string{"e" + string(c) + "e", string(c) + "\u0301", "å\u0301 " + string(c)} {
			if got := page.Read([]byte(text), page.ReadOptions{Text: true}).Text; !norm.NFC.IsNormalString(got) {
				t.Errorf("%+q: %+q", text, got)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`<a href="?a&amp;b&copy=1">x</a>`, "<a href='&lt&lt=&ltx&hellip&semi;&ampamp;&#128;'>&lt= &hellip &semi;", "<!--><a href=1>--!>", "<p a=b/c d = 'e'>f</p >", "</ x><a/href=1>", "<a href=1 href=2 x",
		"a &amp b &notit; &#x41 <b", "<!-- - -- --!> <a href=2>", "<?php <a href=1>?>", "<![CDATA[<a href=1>]]>", "<a\x00b href\t=\n'\"'>&lt",
		"<svg><title/><a href=1>", "<script><!--<script></script>--></script>", "<template><a href=1></template>", "<x xmlns:a='urn:x'/>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, o := range []page.ReadOptions{{Text: true}, {XML: true, Text: true, LinkRel: true, MaxText: 10, MaxLinks: 2}} {
			r := page.Read(body, o)
			if !utf8.ValidString(r.Text) || !utf8.ValidString(r.Title) || strings.TrimSpace(r.Text) != r.Text ||
				strings.Contains(r.Text, "  ") {
				t.Errorf("Read(%q) = %+v", body, r)
			}
		}
		// The library's tokenizer says the same of what has no elements that only Read knows.
		lower := bytes.ToLower(body)
		for _, s := range []string{"\x00", "\r", "<![", "<n", "<s", "<t", "<x", "<p", "<i", "<f", "<m", "<ar"} {
			if bytes.Contains(lower, []byte(s)) {
				return
			}
		}
		if !utf8.Valid(body) {
			return
		}
		hrefs, text := tokens(body)
		r := page.Read(body, page.ReadOptions{Text: true})
		var got []string
		for _, l := range r.Links {
			got = append(got, l.Href)
		}
		assert.Equal(t, hrefs, got, body)
		for _, c := range text {
			if c >= utf8.RuneSelf || c < ' ' || c == 0x7f {
				return
			}
		}
		if got := strings.ReplaceAll(r.Text, " ", ""); got != strings.ToLower(text) {
			t.Errorf("Text of %q = %q; the library: %q", body, got, text)
		}
	})
}

func TestReadHeadings(t *testing.T) {
	t.Parallel()

	many := strings.Repeat("<h2>x</h2>", 60)
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"three levels", "a<h1 class=x>The <b>First</b>\n One</h1>b<H2>Second</H2><h3>&Eacute;t&eacute;</h3><h4>no</h4>c",
			[]string{"the first one", "second", "été"}},
		{"empty ones", "<h1></h1><h2> <img> </h2><h3><!-- x --></h3>", nil},
		{"not closed", "<h1>one<h2>two", []string{"one", "two"}},
		{"one in the other", "<h1>one <h2>two</h2> three</h1>", []string{"one", "two"}},
		{"not rendered", "<template><h1>no</h1></template><noscript><h1>no</h1></noscript><script><h1>no</h1></script>", nil},
		{"too many", many, strings.Fields(strings.Repeat("x ", 50))},
		{"too long", "<h1>" + strings.Repeat("é", 300) + "</h1>", []string{strings.Repeat("é", 200)}},
		{"never closed", "<h1>" + strings.Repeat("word ", 1000), []string{strings.Repeat("word ", 39) + "word"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, page.Read([]byte(tt.in), page.ReadOptions{Text: true}).Headings)
			require.Empty(t, page.Read([]byte(tt.in), page.ReadOptions{}).Headings, "without text")
		})
	}
	cut := page.Read([]byte("<p>abc</p><h1>defghijkl</h1><h2>x</h2>"), page.ReadOptions{Text: true, MaxText: 6})
	require.Equal(t, "abc de", cut.Text)
	require.Equal(t, []string{"de"}, cut.Headings)
}
