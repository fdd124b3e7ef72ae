package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// spell writes an Ask in a line: [a b] is a phrase.
func spell(a search.Ask) string {
	var parts []string
	for _, c := range a.Clauses {
		s := strings.Join(c.Words, " ")
		if c.Phrase {
			s = "[" + s + "]"
		}
		if c.Joined != "" {
			s += " of " + c.Joined
		}
		if c.Prefix {
			s += "*"
		}
		if c.Title {
			s = "title " + s
		}
		if c.Name {
			s = "name " + s
		}
		if c.Not {
			s = "not " + s
		}
		parts = append(parts, s)
	}
	for _, f := range []struct {
		name   string
		values []string
	}{{"site", a.Sites}, {"no site", a.NotSites}, {"lang", a.Languages}, {"type", a.Types}} {
		if len(f.values) > 0 {
			parts = append(parts, f.name+" "+strings.Join(f.values, ","))
		}
	}
	return strings.Join(parts, "; ")
}

func TestParse(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ text, want string }{
		{"apple pie", "apple; pie"},
		{"  Économies\tà\nLOUER ", "economies; a; louer"},
		{`"apple pie" tart`, "[apple pie]; tart"},
		{`“apple pie” «le chat» „x y“`, "[apple pie]; [le chat]; [x y]"},
		{`"apple"`, "[apple]"},
		{`apple "apple"`, "apple; [apple]"},
		{`apple"pie tart"cake`, "apple; [pie tart]; cake"},
		{`"apple pie`, "apple; pie"},
		{`apple" pie`, "apple; pie"},
		{`"a b" "c d`, "[a b]; c; d"},
		{`"" " " x`, "x"},
		{"-apple +pie", "not apple; pie"},
		{`-"apple pie"`, "not [apple pie]"},
		{"−apple –pie a – b", "not apple; not pie; a; b"},
		{"grep -r", "grep; r"}, {"kill -9 -pid", "kill of kill9; 9 of kill9; not pid"}, {`grep -"r" NOT v`, "grep; not [r]; not v"},
		{"--verbose --dry-run", "verbose; dry of dryrun; run of dryrun"},
		{"apple - pie * \" : +", "apple; pie"},
		{"apple AND pie OR tart NOT cake", "apple; pie; tart; not cake"},
		{`NOT "apple pie"`, "not [apple pie]"},
		{"IS NOT NULL", "is; not; null"}, {"NOT NULL x", "not; null; x"}, {"laptop NOT IBM", "laptop; not ibm"},
		{"STUDIO NOT BASEMENT", "studio; not basement"}, {"BMW AND VW NOT AUDI", "bmw; vw; not audi"}, {`x NOT "NULL"`, "x; not [null]"},
		{"IT jobs, WHO (US) x", "name it; jobs; name who; name us; x"}, {"IT JOBS", "it; jobs"}, {"IT WHO 5", "it; who; 5"},
		{`"IT" jobs -US intitle:WHO IT*`, "[it]; jobs; not us; title who; it*"}, {"it IT jobs", "name it; jobs"},
		{"404 NOT FOUND", "404; not; found"}, {"NOT BASEMENT studio", "not basement; studio"},
		{"ps 5", "ps of ps5; 5 of ps5"}, {"H2Y 1A1", "h2y of h2y1a1; 1a1 of h2y1a1"}, {"x 5-b", "x; 5 of 5b; b of 5b"},
		{"3 bedroom a 5 laptop 16gb", "3; bedroom; a; 5; laptop; 16gb"},
		{"AND", "and"}, {"a NOT", "a; not"}, {"or and not", "or; and; not"}, {"NOT", "not"},
		{"run*", "run*"}, {"-run*", "not run*"}, {"run** r*n", "run*; r; n"}, {"run.*", "run"}, {`"run ba*"`, "[run ba]"},
		{"intitle:pie", "title pie"}, {`intitle:"apple pie"`, "title [apple pie]"}, {"-InTitle:pie", "not title pie"},
		{`-intitle:"apple pie" intitle:run*`, "not title [apple pie]; title run*"},
		{"intitle: pie", "pie"}, {"intitle:apple-pie", "title apple of applepie; title pie of applepie"},
		{"site:example.com x", "x; site example.com"},
		{"site:HTTPS://www.Example.com/a?b -site:b.com.", "site www.example.com; no site b.com"},
		{"site:*.example.com site:a.com,b.com,,a.com", "site example.com,a.com,b.com"},
		{"site:example.com:8080 site:café.fr", "site example.com:8080,xn--caf-dma.fr"},
		{"site: x", "x"},
		{"lang:EN lang:fr-CA,de", "lang en,fr,de"},
		{"type:PDF", "type pdf"},
		{"ｓｉｔｅ：ａ．ｃｏｍ　＂ａ　ｂ＂　－ｃｄ", "[a b]; not cd; site a.com"},
		{"foo:bar http://a.com/b_c?d", "foo; bar; http; a.com; b_c; d"},
		{"std::vector site::x", "std::vector; site::x"},
		{"foo_bar a.b.c v1.2.3 C++ c# .NET", "foo_bar; abc; v1.2.3; c++; c#; .net"},
		{`"self.foo_bar c++ code"`, "[self foo bar c++ code]"},
		{"e-mail two-part state-of-the-art utf-8", "email; two of twopart; part of twopart; state; of; the; art; utf of utf8; 8 of utf8"},
		{"-two-part -foo:bar -e-mail", "not [two part]; not twopart; not [foo bar]; not email"},
		{"-intitle:two-part two-part", "not title [two part]; not title twopart; two of twopart; part of twopart"},
		{"wi fi wi-fi Wi-Fi", "wi; fi; wi of wifi; fi of wifi"},
		{"bora-bora wi-fi* wi-fi's", "bora; wi; fi*; wi of wifi; fi of wifi"},
		{"wi-4½", "wi; [4 1 2]"},
		{"AT&T, R&D Q&A's black&white a&b=c -h&m", "[at t]; [r d]; q; a; black; white; b; c; not [h m]"},
		{"都0*", "都*; 0*"}, {"猫&犬 日本&米国", "猫*; 犬*; 日本; 米国"}, {"a&c++ a&c# d&.e f&g.2024", "a; c++; c#; d; e; f; g.2024"},
		{"a-louer-laval t-mobile.com e-mail. e-mail,x e-mail--y", "a; louer; laval; t; mobile.com; email; x; y"},
		{"vitamin-c USB-C x-ray", "vitamin of vitaminc; c of vitaminc; usb of usbc; c of usbc; xray"},
		{"vitamin-a Hépatite-A plan-i* add-on", "[vitamin a]; [hepatite a]; [plan i]; add of addon; on of addon"},
		{"-vitamin-a", "not [vitamin a]; not vitamina"}, {"-intitle:hepatitis-a", "not title [hepatitis a]; not title hepatitisa"},
		{"www.ville-laval.qc.ca https://WWW.foo-bar.example", "ville; laval.qc.ca; https; foo; bar.example"},
		{"l'eau qu'il John's", "eau; il; john"},
		{"東京都 京 \"東京 都\"", "[東京 京都]; 京*; [東京 都]"},
		{"東京大学 東京大学病院 \"東京大学病院\"", "[東京 京大 大学]; 東京; 京大; 大学; 学病; 病院; [東京 京大 大学 学病 病院]"},
		{"-東京大学病院 intitle:東京大学病院", "not [東京 京大 大学 学病 病院]; title 東京; title 京大; title 大学; title 学病; title 病院"},
		{"-東京都 東京", "not [東京 京都]; 東京"},
		{"4½ 4½* 24/7 12:30 -1/2", "[4 1 2]; [24 7]; [12 30]; not [1 2]"},
		{"a.com/2024/05 10-12 1 2", "a.com; 2024; 05; 10; 12; 1; 2"},
		{"a\x00b \xff c\u200bd", "a; b; cd"},
		{"apple Apple APPLE", "apple"},
		{"Robert'); DROP TABLE pages;--", "robert; drop; table; pages"},
		{"(apple | pie) & !tart", "apple; pie; tart"},
	} {
		a, err := search.Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		assert.Equal(t, c.want, spell(a), c.text)
		again(t, a)
	}
}

// again holds String to what it says.
func again(t *testing.T, a search.Ask) {
	t.Helper()

	s := a.String()
	if utf8.RuneCountInString(s) > search.MaxAsk {
		return
	}
	b, err := search.Parse(s)
	require.NoError(t, err, s)
	b.Cut = a.Cut
	require.Equal(t, b, a, s)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()

	for _, s := range []string{"", " ", "*", "-", "\"", ":", "\"\"", "\x00", "❤", "site:", "site:a%22b", "site:http://",
		"lang:english", "lang:1x", "-lang:en", "type:a/b", "-type:pdf", "lang:", "+ - \" *", "site:" + strings.Repeat("a", 1900)} {
		_, err := search.Parse(s)
		if err == nil {
			t.Errorf("%q passes", s)
			continue
		}
		if class, _ := fault.Of(err); class != fault.Invalid {
			t.Errorf("%q: %v", s, class)
		}
		if errors.Unwrap(err) == nil && err.Error() == "" {
			t.Errorf("%q: no reason", s)
		}
	}
}

// dense is n different characters in a row.
func dense(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune('一' + rune(i))
	}
	return b.String()
}

func TestReword(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		text   string
		clause int
		word   string
		want   string
	}{
		{"iphnoe 15 case", 0, "iphone", "iphone 15 case"},
		{"case iphnoe 15", 1, "iphone", "case iphone 15"},
		{"wi-fo", 1, "fi", "wi-fi"},
		{"lapotp bag", 0, "laptop", "laptop bag"},
	} {
		ask, err := search.Parse(c.text)
		require.NoError(t, err)
		ask.Reword(c.clause, c.word)
		assert.Equal(t, c.want, ask.String(), c.text)
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()

	many := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form+" ", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		text           string
		clauses, words int
		cut            bool
	}{
		{many("w%d", 32), 32, 32, false},
		{many("w%d", 33), 32, 32, true},
		{many("w%d OR", 1000), 32, 32, true},
		{many("w%d", 31) + "wi-fi", 31, 31, true},
		{many("w%d", 30) + "wi-fi hotel", 32, 32, true},
		{`"` + many("w%d", 40) + `"`, 1, 32, true},
		{strings.Repeat("a", 10_000), 1, 1, true},
		{strings.Repeat("\"", 10_000) + "a", 0, 0, true},
		{strings.Repeat("東京", 400), 2, 2, false},
		{dense(400), 32, 32, true},
		{`"` + dense(400) + `"`, 1, 32, true},
		{many("site:s%d.com", 40) + "x", 1, 1, true},
		{strings.Repeat("a ", 999), 1, 1, false},
	} {
		a, err := search.Parse(c.text)
		if c.clauses == 0 {
			if err == nil {
				t.Errorf("%.40q passes", c.text)
			}
			continue
		}
		if err != nil || len(a.Clauses) != c.clauses || a.Words != c.words || a.Cut != c.cut {
			t.Errorf("%.40q: %d clauses, %d words, cut %v, %v", c.text, len(a.Clauses), a.Words, a.Cut, err)
		}
		if len(a.Sites) > 32 {
			t.Errorf("%d sites", len(a.Sites))
		}
		again(t, a)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`"a b" -c site:a.com lang:en`, "東京都 intitle:x*", "e-mail foo_bar.baz::q c++", "4½ l'eau", `-"a`,
		"wi-fi -wi-fi intitle:wi-fi wi-fi* bora-bora",
		"NOT a OR b AND", "site:*.b.com,c.com type:pdf", "ｓｉｔｅ：ａ．ｃｏｍ", "か\u3099き", "\u1112\u1161\u11ab",
		"0a 0-0a ps 5 e 471", "wi  0 wi-0 16 gb 16-gb", "5 e-3a x 5-b", "IT x it WHO* \"US\" -US y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := search.Parse(s)
		if err != nil {
			if class, _ := fault.Of(err); class != fault.Invalid {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		words, quoted := 0, strings.ContainsAny(s, `"＂“”„‟«»「」『』`)
		for _, c := range a.Clauses {
			if len(c.Words) == 0 || c.Phrase != (len(c.Words) > 1) && !(c.Phrase && quoted) || c.Prefix && c.Phrase {
				t.Fatalf("%q: %+v", s, c)
			}
			if !c.Not {
				words += len(c.Words)
			}
		}
		if len(a.Clauses) > search.MaxClauses || words != a.Words {
			t.Fatalf("%q: %+v", s, a)
		}
		again(t, a)
	})
}

// A word that is a part of several counts once, however it is met.
func TestPartsCountOnce(t *testing.T) {
	t.Parallel()

	got := search.NewPlan(parse(t, "two-part part three-part"), search.Query{}).Conditions()
	require.Len(t, got, 3, got)
	for i, want := range [][]string{{"twopart"}, {"twopart", "threepart"}, {"threepart"}} {
		for _, w := range want {
			if !slices.ContainsFunc(got[i].Terms, func(t search.Term) bool { return t.Text == w && t.Exact }) {
				t.Errorf("%+v is not met by %s", got[i], w)
			}
		}
	}
}
