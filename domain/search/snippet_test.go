package search_test

import (
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func asked(t testing.TB, text string) search.Ask {
	t.Helper()

	a, err := search.Parse(text)
	require.NoError(t, err)
	return a
}

// marked writes a text with its ranges in brackets.
func marked(text string, ranges []search.Range) string {
	r := []rune(text)
	var b strings.Builder
	at := 0
	for _, m := range ranges {
		b.WriteString(string(r[at:m.Start]) + "[" + string(r[m.Start:m.End]) + "]")
		at = m.End
	}
	return b.String() + string(r[at:])
}

func TestMark(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ query, language, text, want string }{
		{"run", "en", "Runs, running and a runner; run-time", "[Runs], [running] and a runner; [run]-time"},
		{"running", "", "Runs, running", "Runs, [running]"},
		{"economie", "fr", "Les économies d’énergie, l’ÉCONOMIE", "Les [économies] d’énergie, l’[ÉCONOMIE]"},
		{"economie", "fr", "e\u0301conomie cafe\u0301", "[e\u0301conomie] cafe\u0301"},
		{"cafe", "fr", "un cafe\u0301!", "un [cafe\u0301]!"},
		{`"apple pie"`, "en", "apple pies, apple pie and pie apple; an apple, pie", "apple pies, [apple pie] and pie apple; an [apple, pie]"},
		{`"a b a c"`, "en", "a b a b a c", "a b [a b a c]"},
		{`"foo bar"`, "en", "x.foo_bar()", "x.[foo_bar]()"},
		{"foo_bar", "en", "self.foo_bar foo bar", "self.[foo_bar] foo bar"},
		{"bar", "en", "foo_bar fooBar", "foo_[bar] [fooBar]"},
		{"ru*", "en", "rust runs true", "[rust] [runs] true"},
		{"-apple pie", "en", "apple pie", "apple [pie]"},
		{"intitle:apple", "en", "apple pie", "[apple] pie"},
		{"the house", "en", "the house", "the [house]"},
		{"the", "en", "the house", "[the] house"},
		{"東京都", "ja", "私は東京都にいる。東京", "私は[東京都]にいる。東京"},
		{"京", "ja", "京都と東京", "[京都]と東京"},
		{"week-end", "en", "a weekend, weekends, a week-end; the week ends", "a [weekend], [weekends], a [week-end]; the [week] [ends]"},
		{"www.a.example", "en", "www.a.example, a.example/b", "[www.a.example], [a.example]/b"},
		{"vitamin-c", "en", "vitamin C, vitamin-c", "[vitamin] [C], [vitamin-c]"},
		{"e-mail", "en", "an email or e-mail", "an [email] or [e-mail]"},
		{"ebike", "de", "ein E-Bike-Akku", "ein [E-Bike]-Akku"},
		{"C++", "en", "c++ and c", "[c++] and c"},
		{"4½", "fr", "un 4½ et 3½, 4 1/2", "un [4½] et 3½, [4 1/2]"},
		{"שלום", "he", "אמר שָׁלוֹם לכם", "אמר [שָׁלוֹם] לכם"},
		{"site:a.com", "en", "a com", "a com"},
		{"é", "fr", "", ""},
	} {
		assert.Equal(t, c.want, marked(c.text, search.Mark(c.text, asked(t, c.query), c.language)), c.query)
	}
}

func TestMarkBounds(t *testing.T) {
	t.Parallel()

	assert.Len(t, search.Mark(strings.Repeat("a ", 1000), asked(t, "a"), ""), search.MaxMarks)
	far := strings.Repeat("x ", 1<<17) + "apple"
	assert.Empty(t, search.Mark(far, asked(t, "apple"), ""))
	if n := len(search.MarkAll(far, asked(t, "x apple"), "", 1<<17+1)); n != 1<<17+1 {
		t.Errorf("%d ranges of all", n)
	}
	const row = "a a a a b"
	assert.Equal(t, "["+row+"]", marked(row, search.MarkAll(row, asked(t, `a "a a a a b"`), "", 1)))
}

// What a page makes the marks of a query cost is bounded: here each phrase is at each word. Nothing runs beside it.
func TestMarkAllocates(t *testing.T) {
	var rows strings.Builder
	for n := 2; n <= search.MaxClauses; n++ {
		rows.WriteString(`"` + strings.Repeat("a ", n) + `" `)
	}
	a, text := asked(t, rows.String()), strings.Repeat("a ", 50_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	marks := search.MarkAll(text, a, "", 1000)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; len(marks) != 1 || grown > 4<<20 {
		t.Errorf("%d marks, %d bytes", len(marks), grown)
	}
}

func TestSnip(t *testing.T) {
	t.Parallel()

	filler := strings.Repeat("lorem ipsum dolor sit amet, ", 20)
	sentences := strings.Repeat("Lorem ipsum dolor sit amet. ", 20)
	for _, c := range []struct{ name, query, title, description, text, want string }{
		{"short text", "pie", "", "", "an apple pie", "an apple [pie]"},
		{"beginning", "pie", "", "", "an apple pie. " + filler, "an apple [pie]. " + filler[:217] + " …"},
		{"whole sentences", "pie", "", "", "an apple pie. " + sentences, "an apple [pie]. " + sentences[:195] + " …"},
		{"most words", "apple pie", "", "", "an apple. " + sentences + "the apple pie is here. " + sentences,
			"… " + sentences[:55] + " the [apple] [pie] is here. " + sentences[:139] + " …"},
		{"a phrase is two", `"apple pie" tart`, "", "", "tart and apple. " + sentences + "one apple pie.",
			"… " + sentences[:196] + "one [apple pie]."},
		{"whole words", "pie", "", "", filler + "one pie " + filler,
			"… " + filler[12:84] + "one [pie] " + filler[:151] + " …"},
		{"first of equals", "pie", "", "", "pie one. " + sentences + "pie two.", "[pie] one. " + sentences[:223] + " …"},
		{"description", "pie", "", "a page of pie", filler, "a page of [pie]"},
		{"text before description", "pie", "", "a page of pie", "eat pie", "eat [pie]"},
		{"better description", "apple pie", "", "apple pie", "eat pie", "[apple] [pie]"},
		{"nothing", "pie", "", "a page", filler, "a page"},
		{"nothing, no description", "pie", "My page", " ", "my page | some  text\nhere", "some text here"},
		{"only filters", "site:a.com", "", "", "some text", "some text"},
		{"lines", "pie", "", "", "one\n\n two\t\x00pie\u2028three", "one two [pie] three"},
		{"end", "pie", "", "", filler + "and here is the pie", "… " + filler[len(filler)-212:] + "and here is the [pie]"},
		{"empty", "pie", "", "", "", ""},
	} {
		s := search.Snip(c.title, c.description, c.text, asked(t, c.query), "en")
		assert.Equal(t, c.want, marked(s.Text, s.Marks), c.name)
	}
}

func TestSnipWithoutSpaces(t *testing.T) {
	t.Parallel()

	text := strings.Repeat("私は学生です。", 100) + "東京都" + strings.Repeat("私は学生です", 100)
	s := search.Snip("", "", text, asked(t, "東京都"), "ja")
	if n := utf8.RuneCountInString(s.Text); n > 240 || n < 150 || !strings.Contains(marked(s.Text, s.Marks), "[東京都]") {
		t.Errorf("%d characters: %s", n, marked(s.Text, s.Marks))
	}
	text = strings.Repeat("x", 1000) + " pie " + strings.Repeat("y", 1000)
	s = search.Snip("", "", text, asked(t, "pie"), "")
	if n := utf8.RuneCountInString(s.Text); n > 240 || marked(s.Text, s.Marks) == s.Text {
		t.Errorf("%d characters: %s", n, s.Text)
	}
}

// What people see as one character is not cut in two.
func TestSnipCutsNoCharacter(t *testing.T) {
	t.Parallel()

	for name, one := range map[string]string{
		"letters with a mark": "e\u0301", "Thai vowels": "\u0e01\u0e34\u0e48", "flags": "\U0001f1e8\U0001f1e6",
		"a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467", "a colour of skin": "\U0001f44d\U0001f3fd",
		"a sign for emoji": "\u2764\ufe0f",
	} {
		for i := range 8 { // wherever it is cut
			text := strings.Repeat(one, 300) + strings.Repeat("x", i) + "(pie)" + strings.Repeat("y", i) + strings.Repeat(one, 300)
			s := search.Snip("", "", text, asked(t, "pie"), "")
			got := strings.Trim(s.Text, "… ")
			got = strings.ReplaceAll(got, one, "")
			// A word that is cut may be left out.
			if want := strings.Repeat("x", i) + "(pie)" + strings.Repeat("y", i); !strings.HasPrefix(want, got) {
				t.Errorf("%s, %d: %+q is left of %+q", name, i, got, s.Text)
			}
			if utf8.RuneCountInString(s.Text) > 240 || marked(s.Text, s.Marks) == s.Text {
				t.Errorf("%s, %d: %q", name, i, s.Text)
			}
		}
	}
	marks := strings.Repeat("\u0301", 1000)
	if s := search.Snip("", "", "e"+marks+" pie e"+marks, asked(t, "pie"), ""); !strings.Contains(s.Text, "pie") {
		t.Errorf("no word in %q", s.Text)
	}
}

// Snippets of large pages are made for every hit: it takes 40 ms each; were the time quadratic, it would be minutes.
func TestSnipIsLinear(t *testing.T) {
	t.Parallel()

	var query strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		query.WriteString(strings.Repeat(string(c), 2) + " \"" + string(c) + " b\" ")
	}
	a := asked(t, query.String()+" zzzz")
	for _, text := range []string{strings.Repeat("a b c d e f aa bb cc ", 20_000), strings.Repeat("a", 1<<20),
		strings.Repeat("a.b_c ", 100_000), strings.Repeat("東京", 1<<17), strings.Repeat(". ", 1<<18)} {
		if took := servicetest.CPU(func() { search.Snip("", text, text, a, "en") }); took > 20*time.Second {
			t.Errorf("%.20s: %v", text, took)
		}
	}
}

func FuzzSnip(f *testing.F) {
	f.Add("apple \"b c\"", "title", "description", "some apple. and b c, of course.", "en")
	f.Add("東京都 é*", "", "", "東京都 écoles e\u0301t\u0327", "fr")
	f.Add("foo_bar 4½", "t", "foo", "x.foo_bar 4½ ﷺ", "")
	f.Fuzz(func(t *testing.T, query, title, description, text, language string) {
		a, err := search.Parse(query)
		if err != nil {
			return
		}
		s := search.Snip(title, description, text, a, language)
		n := utf8.RuneCountInString(s.Text)
		if n > 240 || !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\n\r\t\x00") {
			t.Fatalf("%d characters: %q", n, s.Text)
		}
		last := 0
		for _, r := range s.Marks {
			if r.Start < last || r.End <= r.Start || r.End > n {
				t.Fatalf("%v in %d characters: %q", s.Marks, n, s.Text)
			}
			last = r.End
		}
	})
}

func BenchmarkSnip(b *testing.B) {
	text := strings.Repeat("the heat transfer of a slender body in hypersonic flow is compared with the theory. ", 3000)
	a := asked(b, "boundary layer transition")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		search.Snip("", "", text, a, "en")
	}
}
