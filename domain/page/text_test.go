package page_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"block tags end lines", "<div><p>Superficie<br>4 1/2</p><p>libre</p></div>", "Superficie\n4 1/2\n\nlibre"},
		{"inline tags are spaces", "4<sup>1/2</sup> <b>chauffé</b>", "4 1/2 chauffé"},
		{"list", "<ul><li>balcon</li><li>piscine</li></ul>", "balcon\n\npiscine"},
		{"scripts and comments vanish", "a<script>alert('<b>')</script><!-- x > y -->b<style>p{}</style>", "a b"},
		{"entities", "Caf&eacute; &amp; Cie &#233; &nbsp; fin", "Café & Cie é fin"},
		{"decoded once", "&amp;lt;", "&lt;"},
		{"not a tag", "chien < 25 lbs, 3 > 2, <3", "chien < 25 lbs, 3 > 2, <3"},
		{"unclosed tag", "avant <div class=\"x", "avant <div class=\"x"},
		{"unclosed comment", "a <!-- b", "a <!-- b"},
		{"spaces of all kinds", " a\u00a0\u202f\t b \r\n c ", "a b\nc"},
		{"zero width", "a\u200bb\ufeffc\u00ad", "abc"},
		{"nul and controls", "a\x00b\x07c\x7f", "abc"},
		{"not utf-8", "a\xffb\xc3", "ab"},
		{"composed", "e\u0301te\u0301", "été"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, page.Text(tt.in), tt.in)
		})
	}
	require.Equal(t, "a b c", page.Line("a<br>b\nc"))
}

func TestTextIsLinear(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"<!--", "<a", "<script>", "&", "<", "</", "41/2", "1 ", "$", "- ", "a "} {
		in := strings.Repeat(s, 200_000/len(s))
		page.Text(in)
	}
	in := strings.Repeat("<", 2<<20) + ">"
	if took := servicetest.CPU(func() { page.Text(in) }); took > 10*time.Second {
		t.Errorf("2 MiB of < before one > take %v", took)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"4½ À LOUER": "4 1/2 a louer", "Cœur": "coeur", "L’Érablière": "l'erabliere", "pi²": "pi2", "𝟒": "4", "a–b": "a-b",
		"É": "e", "ﬁn": "fin",
	} {
		assert.Equal(t, want, page.Fold(in), in)
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"tél. 418-555-1234":                      "tél. [phone]",
		"(418) 555 1234 jour":                    "[phone] jour",
		"+1 418.555.1234":                        "[phone]",
		"4185551234":                             "[phone]",
		"écrire à jean@exemple.ca":               "écrire à [email]",
		"1 250 $ le 1er juillet 2018":            "1 250 $ le 1er juillet 2018",
		"4 1/2":                                  "4 1/2",
		"2026-07-01T00:00:00Z":                   "2026-07-01T00:00:00Z",
		"du 2026-07-01 au 2027-06-30":            "du 2026-07-01 au 2027-06-30",
		"2026-07-01 4185551234":                  "2026-07-01 [phone]",
		"2026-07-011":                            "[phone]",
		"5142-26-0701":                           "[phone]",
		"+1 514-2018-07-01":                      "[phone]",
		"":                                       "",
		"514-555-1234/438-555-9876":              "[phone]/[phone]",
		"514-555-1234/438-555-9876/450-555-1111": "[phone]/[phone]/[phone]",
		"514 555 1234 438 555 9876 jour":         "[phone] [phone] jour",
		"2345 6789 / 2345 6780":                  "[phone] / [phone]",
		"514-555-1234 2026-07-01":                "[phone] 2026-07-01",
		"4185551234 41111111111111111":           "[phone] 41111111111111111",
		"41111111111111111":                      "41111111111111111",
	} {
		assert.Equal(t, want, page.Mask(in), in)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"<div>a</div>", "&amp;lt;b&gt;", "a\x00\xff", "<!--<script>-->", "<a<b>", "½4½", "\u0301",
		"é́"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := page.Text(s)
		if !utf8.ValidString(p) || strings.ContainsRune(p, 0) || strings.TrimSpace(p) != p {
			t.Errorf("Text(%q) = %q", s, p)
		}
		if line := page.Line(s); strings.ContainsAny(line, "\r\n") {
			t.Errorf("Line(%q) = %q", s, line)
		}
		folded := page.Fold(p)
		assert.Equal(t, strings.ToLower(folded), folded, p)
		page.Mask(s)
	})
}

func TestShortened(t *testing.T) {
	t.Parallel()

	for n, want := range map[int]string{9: "éàü", 3: "éàü", 2: "é…", 1: "…"} {
		require.Equal(t, want, page.Short("éàü", n), n)
	}
	for n, want := range map[int]string{9: "éàü", 6: "éàü", 5: "éà", 4: "éà", 1: "", 0: ""} {
		require.Equal(t, want, page.CutBytes("éàü", n), n)
	}
	require.Empty(t, page.CutBytes("\x80\x80\x80", 2), "no character begins there")
}
