package search_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

func TestStem(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ language, word, want string }{
		{"en", "economies", "economi"},
		{"en", "economy", "economi"},
		{"en", "running", "run"},
		{"en", "run", ""},
		{"fr", "appartements", "appart"},
		{"fr", "meublees", "meubl"},
		{"fr", "condos", "condo"},
		{"", "running", ""},
		{"de", "hauser", "haus"},
		{"de", "lehrerinnen", "lehrerin"}, {"de", "apfeln", "apfel"}, {"de", "mietet", "miet"}, {"de", "mieten", "miet"},
		{"de", "repariert", "repari"}, {"de", "reparieren", "repari"},
		{"de", "autos", "auto"}, {"de", "videos", "video"}, {"de", "kostenlos", ""}, {"de", "grosse", "gross"}, {"de", "glas", ""},
		{"de", "serios", "serio"}, {"de", "seriose", "serio"}, {"de", "mobliert", "mobli"}, {"de", "moblierte", "mobli"},
		{"de", "vermietet", "vermiet"}, {"de", "vermietete", "vermiet"}, {"de", "gewinne", "gewin"}, {"de", "gewinnen", "gewin"},
		{"es", "habitaciones", "habit"},
		{"es", "habitacion", "habit"},
		{"pt", "informacoes", "inform"}, {"pt", "animais", "animal"}, {"pt", "mais", ""},
		{"es", "luz", "luc"}, {"es", "luces", "luc"}, {"nl", "huizen", "huis"}, {"nl", "brieven", "brief"},
		{"nl", "verhuizing", "verhuis"}, {"nl", "uitgave", "uitgaf"}, {"nl", "grijze", "grijs"}, {"es", "felizmente", "felic"},
		{"sv", "husen", "hus"},
		{"fi", "talossa", ""},
		{"en", "foo_bars", ""},
		{"en", "v2s", ""},
		{"en", strings.Repeat("running", 9), ""},
		{"en", "", ""},
	} {
		for range 2 { // the second time from what is remembered
			if got := search.Stem(c.language, c.word); got != c.want {
				t.Errorf("%s %q: %q, not %q", c.language, c.word, got, c.want)
			}
		}
	}
}

// The forms of a word should have one stem, typed with or without accents; two words should not.
func TestStemFamilies(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("testdata/families.tsv")
	require.NoError(t, err)
	pairs, meet, shared := map[string]int{}, map[string]int{}, map[string]int{}
	owner := map[string]int{}
	for n, family := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		language, words, _ := strings.Cut(family, "\t")
		var of []string
		for _, word := range strings.Fields(words) {
			word = search.Fold(word)
			stem := search.Stem(language, word)
			if stem == "" {
				stem = word
			}
			of = append(of, language+":"+stem)
		}
		for i := range of {
			for j := range of {
				pairs[language]++
				if of[i] == of[j] {
					meet[language]++
				}
			}
			if o, taken := owner[of[i]]; taken && o != n {
				shared[language]++
			}
			owner[of[i]] = n
		}
	}
	for language, n := range pairs {
		if meet[language]*100 < n*74 {
			t.Errorf("%s: %d of %d pairs of forms meet", language, meet[language], n)
		}
		if shared[language] > 16 {
			t.Errorf("%s: %d stems are those of several words", language, shared[language])
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		language, word string
		want           bool
	}{
		{"en", "the", true}, {"fr", "the", false}, {"fr", "les", true}, {"en", "les", false}, {"", "the", true},
		{"", "les", true}, {"", "car", false}, {"", "est", false}, {"", "c", false}, {"", "s", false}, {"", "l", true},
		{"fr", "est", true}, {"fr", "c", true}, {"fr", "car", true}, {"de", "der", false}, {"", "house", false}, {"", "", false},
	} {
		if got := search.Stop(c.language, c.word); got != c.want {
			t.Errorf("%q %q: %v", c.language, c.word, got)
		}
	}
}

func BenchmarkTokenizeStem(b *testing.B) {
	text, err := os.ReadFile("../../docs/architecture.md") // English prose, with names of the code
	require.NoError(b, err)
	s := string(text)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		search.Tokenize(s, func(t search.Token) bool {
			search.Stem("en", t.Word)
			return true
		})
	}
}

// begins says that a stem has the first two letters of its word, but for an i in place of a y, or is the first one, as
// of ieds.
func begins(stem, word string) bool {
	n := min(2, len(stem))
	return strings.ReplaceAll(stem[:n], "y", "i") == strings.ReplaceAll(word[:n], "y", "i")
}

// Mark skips words by their first two letters.
func TestStemBegins(t *testing.T) {
	t.Parallel()

	endings := strings.Fields(`s es ed ing ying ies ly ness ment ments e ee ees ion ions iere aux eux ait ant en er ern ung
		heit zen ven zing ing ar ado ando iendo cion ciones are ere ire ando endo ao oes ais eis het ande arna igt lig`)
	for _, language := range []string{"de", "en", "es", "fr", "it", "nl", "pt", "sv"} {
		for at := range 26 * 26 {
			for _, ending := range endings {
				word := string([]byte{byte('a' + at/26), byte('a' + at%26)}) + ending
				if s := search.Stem(language, word); s != "" && !begins(s, word) {
					t.Errorf("%s %q: %q", language, word, s)
				}
			}
		}
	}
}

func FuzzStem(f *testing.F) {
	for _, w := range []string{"skies", "dying", "yesterday", "young", "oeufs", "ubiquite", "generalement", "inning"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, language := range []string{"de", "en", "es", "fr", "it", "nl", "pt", "sv"} {
			if s := search.Stem(language, word); s != "" && (!begins(s, word) || s == word || search.Fold(s) != s) {
				t.Fatalf("%s %q: %q", language, word, s)
			}
		}
	})
}
