package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/search"
)

// pageWords is the size of a language's vocabulary.
const pageWords = 60_000

// A tongue is a language of generated pages: words by falling frequency. The first are real words of no weight, as in
// any text; the others are made of syllables, with endings that a stemmer takes off.
type tongue struct {
	code  string
	words []string
	stops int
}

var tongues = []tongue{
	makeTongue("en", 1, "the of and to in a is that for it as was with on by be are this from at",
		"ba co di fer gra hol in jo kin lor mi nat or pel qua res sto tur ul ven wi thra shi bro clu",
		" | | | |s|s|ed|ing|er|ly|tion|ness"),
	makeTongue("fr", 2, "de la le et les des en un du une que est pour qui dans a par plus pas au",
		"ba cou di fé gra ho in jou ki lo mé nat ou pel qui rê sto tour vel zi chan gné broi clé", " | | |s|s|es|ment|ation|ées|er|aux"),
}

func makeTongue(code string, seed uint64, stops, syllables, endings string) tongue {
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // the same words each time
	parts, ends := strings.Fields(syllables), strings.Split(endings, "|")
	t := tongue{code: code, words: strings.Fields(stops)}
	t.stops = len(t.words)
	seen := map[string]bool{}
	for len(t.words) < pageWords {
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		b.WriteString(strings.TrimSpace(ends[r.IntN(len(ends))]))
		if w := b.String(); !seen[w] {
			seen[w] = true
			t.words = append(t.words, w)
		}
	}
	return t
}

// A pageMaker makes pages, each of its number: Zipf's law over words, lengths log-normal around 5 KB, 1,000 sites,
// two of three pages English and the others French, one in fifty the text of another page.
type pageMaker struct {
	cumulated []float64 // probability of a word, and of those before it
}

func newPageMaker() *pageMaker {
	m := &pageMaker{cumulated: make([]float64, pageWords)}
	sum := 0.0
	for i := range m.cumulated {
		sum += 1 / math.Pow(float64(i)+2.7, 1.05) // Mandelbrot's form
		m.cumulated[i] = sum
	}
	for i := range m.cumulated {
		m.cumulated[i] /= sum
	}
	return m
}

func (m *pageMaker) word(r *rand.Rand, t tongue) string {
	i, _ := slices.BinarySearch(m.cumulated, r.Float64())
	return t.words[min(i, pageWords-1)]
}

// text is about n bytes of sentences.
func (m *pageMaker) text(r *rand.Rand, t tongue, n int) string {
	var b strings.Builder
	for b.Len() < n {
		for i := range 5 + r.IntN(15) {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(m.word(r, t))
		}
		b.WriteString(". ")
	}
	return strings.TrimSpace(b.String())
}

// page is page i.
func (m *pageMaker) page(i int) search.Document {
	seed := i
	if i%50 == 49 {
		seed = i - 1
	}
	r := rand.New(rand.NewPCG(uint64(seed), 11)) //nolint:gosec // the same pages each time
	t := tongues[min(1, seed/2%3/2)]
	size := int(min(100_000, max(300, 5000*math.Exp(r.NormFloat64()*0.6))))
	site := fmt.Sprintf("site%03d.example", int(1000*math.Pow(r.Float64(), 2)))
	d := search.Document{
		URL: fmt.Sprintf("https://%s/%s/%d", site, m.word(r, tongues[0]), i), Site: site, Title: m.text(r, t, 30),
		Description: m.text(r, t, 100), Text: m.text(r, t, size), Language: t.code, Type: "html",
		CrawledAt: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i%8000) * time.Hour),
	}
	for range 1 + r.IntN(5) {
		d.Headings = append(d.Headings, m.text(r, t, 20))
	}
	if i%20 == 7 {
		d.Type = "pdf"
	}
	return d
}

// A pageQuery is a kind of query: what is common is in about half of the English pages, what is rare in a few hundred.
type pageQuery struct {
	name   string
	text   func(r *rand.Rand) string
	facets bool
	plain  bool // words only, which the yardsticks understand too
}

// pick is n words of ranks between from and to among those with weight, each once.
func pick(r *rand.Rand, n, from, to int) []string {
	var out []string
	for len(out) < n {
		if w := tongues[0].words[tongues[0].stops+from+r.IntN(to-from)]; !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func common(r *rand.Rand, n int) []string { return pick(r, n, 0, 100) }
func rare(r *rand.Rand, n int) []string   { return pick(r, n, 3000, 15_000) }

var onePageMaker = sync.OnceValue(newPageMaker)

// sentence is twenty words as the text of a page has them, those of no weight among them: a question in a sentence.
func sentence(r *rand.Rand) string {
	words := make([]string, 20)
	for i := range words {
		words[i] = onePageMaker().word(r, tongues[0])
	}
	return strings.Join(words, " ")
}

var pageQueries = func() []pageQuery {
	words := func(c, few int) func(r *rand.Rand) string {
		return func(r *rand.Rand) string { return strings.Join(append(common(r, c), rare(r, few)...), " ") }
	}
	return []pageQuery{
		{"one common word", words(1, 0), false, true},
		{"one rare word", words(0, 1), false, true},
		{"two common words", words(2, 0), false, true},
		{"a common and a rare word", words(1, 1), false, true},
		{"two rare words", words(0, 2), false, true},
		{"five common words", words(5, 0), false, true},
		{"five words, two of them rare", words(3, 2), false, true},
		{"five rare words", words(0, 5), false, true},
		{"twenty words, half of them rare", words(10, 10), false, false},
		{"twenty common words", words(20, 0), false, false},
		{"twenty words as a page has them", sentence, false, false},
		{"one common word, facets", words(1, 0), true, false},
		{"two common words, facets", words(2, 0), true, false},
		{"five common words, facets", words(5, 0), true, false},
		{"a phrase of two common words", func(r *rand.Rand) string { return `"` + words(2, 0)(r) + `"` }, false, false},
		{"a phrase with words of no weight", func(r *rand.Rand) string {
			return `"of the ` + words(1, 0)(r) + `"`
		}, false, false},
		{"a common prefix", func(r *rand.Rand) string { return common(r, 1)[0][:3] + "*" }, false, false},
		{"two common words of a site", func(r *rand.Rand) string {
			return words(2, 0)(r) + fmt.Sprintf(" site:site%03d.example", r.IntN(1000))
		}, true, false},
		{"a common word but not another", func(r *rand.Rand) string {
			w := common(r, 2)
			return w[0] + " -" + w[1]
		}, false, false},
		{"only a negated word", func(r *rand.Rand) string { return "-" + common(r, 1)[0] }, false, false},
		{"a typing error", func(r *rand.Rand) string {
			w := []byte(rare(r, 1)[0])
			w[2], w[3] = w[3], w[2]
			return string(w)
		}, false, false},
	}
}()

// hostile are queries that are made to cost much.
func hostile() []string {
	r := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // the same each time
	return []string{
		strings.Repeat("x", 10_000), strings.Join(common(r, 90), " "), strings.Join(rare(r, 900), " OR "),
		`"` + strings.Join(common(r, 60), " ") + `"`, strings.Repeat(`"the of" `, 500), "*", "-", `"`, "a*",
		"a* b* c* d* e* f* g*",
		"'; DROP TABLE pages; --", "the\x00of", strings.Repeat("(", 5000), strings.Repeat("-the ", 500),
		"the of and to in a is that for it", `"the of and to in"`, strings.Repeat("qzxv ", 1000), "site:*", "intitle:the -intitle:of",
		strings.Repeat("東京", 1000), strings.Repeat("a_", 3000), "\xff\xfe" + strings.Repeat("é", 3000),
	}
}
