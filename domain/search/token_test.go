package search_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/search"
)

// words spells the tokens of a text: word@position, without the position where it is one after that before.
func words(s string) string {
	var b []string
	last := int32(-1)
	search.Tokenize(s, func(t search.Token) bool {
		w := t.Word
		if t.Position != last+1 {
			w = fmt.Sprintf("%s@%d", w, t.Position)
		}
		last = t.Position
		b = append(b, w)
		return true
	})
	return strings.Join(b, " ")
}

func TestTokenize(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"the quick brown fox", "the quick brown fox"},
		{"The Quick, brown. Fox!", "the quick brown fox"},
		{"Économies à LOUER, cœur ß Ærø", "economies a louer coeur ss aero"},
		{"e\u0301te\u0301 ＦＵＬＬ １２ ﬁn", "ete full 12 fin"},
		{"Ελληνικά Άσος ΆΣΟΣ", "ελληνικα ασοσ ασοσ"},
		{"Ёлка МОСКВА", "елка москва"},
		{"שָׁלוֹם עולם", "שלום עולם"},
		{"العَرَبِيَّة ٣٤", "العربيه 34"},
		{"تبریز کتاب علی مدرسة", "تبريز كتاب علي مدرسه"},
		{"हिन्दी", "हिन्दी"},
		{"soft\u00adhyphen zero\u200bwidth \u202ebidi\u202c", "softhyphen zerowidth bidi"},
		{"a\x00b \xff\xfe c\xffd", "a b c d"},
		{"❤️ love 👨‍👩‍👧 it ™ 1️⃣", "love it 1"},
		// Apostrophes.
		{"John's cats' don't we'll I'm O’Brien rock'n'roll 'quoted'", "john cats dont we i obrien rocknroll quoted"},
		{"l'eau d’été qu'il jusqu'à aujourd'hui quelqu'un c'est L'Économie",
			"eau ete il a aujourdhui quelquun est economie"},
		{"l' eau 5'10 90's", "l eau 5 10 90"},
		{"a Sant'Angelo, sant’Agata-bis sant' x", "a santangelo sant@1 angelo sant agata bis sant x"},
		{"un bell'appartamento, tutt'altro", "un appartamento altro"},
		{"Hawaiʻi ʻOhana Qurʾan ʿAbd l´été aujourd´hui don‛t Gorʹkij ´x´", "hawaii ohana quran abd ete aujourdhui dont gorkij x"},
		// Hyphens.
		{"state-of-the-art", "state of the art"},
		{"an e-mail or email", "an email e@1 mail or email"},
		{"utf-8 10-12 covid‑19", "utf8 utf@0 8 10 12 covid19 covid@4 19"},
		{"- -a b- a--b a -- b", "a b a b a b"},
		{"St-Jean-Baptiste", "st jean baptiste"},
		{"E-Bike-Akku y-a-t-il 3-fach-stecker", "ebike e@0 bike akku y a t il 3 fach stecker"},
		{"c'est-à-dire", "est a dire"},
		// Identifiers.
		{"foo_bar", "foo_bar foo@0 bar"},
		{"__init__ a______b", "init a b"},
		{"a.b.c", "abc a@0 b c"},
		{"aa.b.cc", "aa.b.cc aa@0 b.cc b@1 cc"},
		{"U.S.A. e.g. this", "usa u@0 s a eg e@3 g this"},
		{"pkg.Func() os.path.join", "pkg.func pkg@0 func os.path.join os@2 path.join path@3 join"},
		{"self.foo_bar.x", "self.foo_bar.x self@0 foo_bar.x foo_bar@1 foo@1 bar x"},
		{"foo::bar v1.2.3 3.14", "foo::bar foo@0 bar v1.2.3 1.2.3@2 v1@2 1@2 2 3 3.14 3@5 14"},
		{"C++ C# .NET g++, c++11 (.NET) ASP.NET", "c++ c@0 c# c@1 .net net@2 g++ g@3 c++ c@4 11 .net net@6 asp.net asp@7 net"},
		{"fooBar getHTTPServer iPhone URLs PDFs JavaScript", "foobar foo@0 bar@0 gethttpserver get@1 http@1 server@1 iphone urls pdfs javascript java@5 script@5"},
		{"V2.10 v10 v.1 v1.x dev1.2 v1_2", "v2.10 2.10@0 v2@0 2@0 10 v10 v.1 v@3 1 v1.x v1@5 x dev1.2 dev1@7 2 v1_2 v1@9 2"},
		{"\u0995\u09c7\u09beaaBa\u0434\u0434", "\u0995\u09cbaaba\u0434\u0434"},
		{"c# f#, x #1", "c# c@0 f# f@1 x 1"},
		{"objective-c++ c++-like", "objective c++ c@1 c++ c@2 like"},
		{"end.Next", "end.next end@0 next"},
		{"end...Next a..b", "end next a b"},
		// Numbers.
		{"1,000 1,234,567.89 1,2,3 3½ 10,0000", "1000 1234567.89 1234567@1 89 1 2 3 3 1 2 10 0000"},
		{"4½ ½ m² ①", "4 1 2 1 2 m2 1"},
		// Addresses.
		{"john.doe@example.com", "john.doe john@0 doe example.com example@2 com"},
		{"https://www.example.com/a/c.html?x=1", "https www.example.com www@1 example.com example@2 com a c.html c@5 html x 1"},
		// Scripts without spaces.
		{"東京都", "東京 京都"},
		{"東 京", "東 京"},
		{"iPhone15手机foo", "iphone15 手机 foo"},
		{"カタカナ ｶﾞｶﾞ か\u3099き", "カタ タカ カナ ガガ がき"},
		{"한국어 \u1112\u1161\u11ab\u1100\u116e\u11a8", "한국 국어 한국"},
		{"ภาษาไทย", "ภา าษ ษา าไ ไท ทย"},
	} {
		assert.Equal(t, c.want, words(c.text), c.text)
	}
}

func TestTokenizeCutsLongWords(t *testing.T) {
	t.Parallel()

	for _, s := range []string{strings.Repeat("a", 1000), strings.Repeat("É", 1000), strings.Repeat("ш", 1000),
		strings.Repeat("a_", 1000) + "a", strings.Repeat("Ab", 500), strings.Repeat("a.b", 1000)} {
		search.Tokenize(s, func(tok search.Token) bool {
			if len(tok.Word) > search.MaxWord {
				t.Errorf("%d bytes: %q", len(tok.Word), tok.Word)
			}
			return true
		})
	}
}

func TestTokenizeStops(t *testing.T) {
	t.Parallel()

	for _, s := range []string{"a b c", "a-b c", "a.b.c", "東京都", "fooBar x", "½½"} {
		n := 0
		search.Tokenize(s, func(search.Token) bool { n++; return false })
		assert.EqualValues(t, 1, n, s)
	}
}

func TestTokenizeAllocatesNothing(t *testing.T) {
	s := strings.Repeat("a page of 12 words, in lower case. all of them: ascii\n", 10)
	if n := testing.AllocsPerRun(10, func() { search.Tokenize(s, func(search.Token) bool { return true }) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{
		"l'eau d’été", "foo_bar.baz::Qux()", "1,000.50", "東京ｶﾞ", "a-b-c e-mail", "\u1112\u1161\u11ab", "ﷺ½",
		"Objective-C++ I'Ll fooBar-Baz .NET", "\u0995\u09c7\u09beaaBa\u0434\u0434",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		position, start := int32(0), int32(0)
		search.Tokenize(s, func(tok search.Token) bool {
			switch {
			case tok.Position < position || tok.Position > position+1:
				t.Fatalf("%q: position %d after %d", s, tok.Position, position)
			case tok.Start < 0 || tok.Start >= tok.End || int(tok.End) > len(s):
				t.Fatalf("%q: %q at %d to %d", s, tok.Word, tok.Start, tok.End)
			case tok.Start < start && tok.Position != position:
				t.Fatalf("%q: %q goes back", s, tok.Word)
			case tok.Word == "" || len(tok.Word) > search.MaxWord || strings.ToValidUTF8(tok.Word, "") != tok.Word:
				t.Fatalf("%q: word %q", s, tok.Word)
			case strings.ContainsAny(tok.Word, " \x00\n\t") || search.Fold(tok.Word) != tok.Word:
				t.Fatalf("%q: %q is not folded: %q", s, tok.Word, search.Fold(tok.Word))
			}
			position, start = tok.Position, tok.Start
			return true
		})
		// Pages come in lower case, titles and queries as they were typed: they must meet.
		if strings.IndexFunc(s, func(r rune) bool { return r > '~' }) < 0 {
			typed := map[string]bool{}
			search.Tokenize(s, func(tok search.Token) bool {
				typed[fmt.Sprint(tok.Word, tok.Position)] = true
				return true
			})
			search.Tokenize(strings.ToLower(s), func(tok search.Token) bool {
				if !typed[fmt.Sprint(tok.Word, tok.Position)] {
					t.Fatalf("%q: %q at %d only in lower case", s, tok.Word, tok.Position)
				}
				return true
			})
		}
	})
}

// A word of a page is the same word as a query, whatever letter is in it: Ask.String depends on it.
func TestWordsStay(t *testing.T) {
	t.Parallel()

	words := func(text string) (words []string) {
		search.Tokenize(text, func(t search.Token) bool {
			words = append(words, t.Word)
			return true
		})
		return words
	}
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if r == '\u0e33' || r == '\u0eb3' { // of a letter and a mark, which goes with the letter before
			continue
		}
		for _, text := range []string{string(r), "a" + string(r), string(r) + "a"} {
			for _, w := range words(text) {
				if again := words(w); len(again) == 0 || again[0] != w {
					t.Errorf("%U: of %q, %q is %q", r, text, w, again)
				}
			}
		}
	}
}
