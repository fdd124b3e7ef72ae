package search

import (
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
)

// stemLanguages are those that Stem knows, ascending, and stemmers those of them.
var (
	stemLanguages = []string{"de", "en", "es", "fr", "it", "nl", "pt", "sv"}
	stemmers      = [...]func(*snowballstem.Env) bool{
		german.Stem, english.Stem, spanish.Stem, french.Stem, italian.Stem, dutch.Stem, portuguese.Stem,
		swedish.Stem,
	}
)

// Stem returns what a folded word of a language has in common with its other forms: in English, "economies" and
// "economy" are both "economi". It is "" when the language has no stemmer (stemLanguages), when the word has other
// characters than the 26 letters, and when the stem is the word itself.
//
// Words are stemmed without their accents, as many people type them so. With the accents put back at the ends of
// words that can have no others, 75 % of the forms of a French word meet when they are typed without accents, against
// 64 % when pages are stemmed with theirs (testdata/families.tsv); typed with them, 72 % meet either way.
func Stem(language, folded string) string {
	i := slices.Index(stemLanguages, language)
	if i < 0 || len(folded) < 3 || len(folded) > maxStemmed {
		return ""
	}
	h := uint32(2166136261) // FNV-1a
	for i := range len(folded) {
		c := folded[i]
		if c < 'a' || c > 'z' {
			return ""
		}
		h = (h ^ uint32(c)) * 16777619
	}
	place := &stems[i][(h^h>>15)%uint32(len(stems[i]))]
	if found := place.Load(); found != nil && found.word == folded {
		return found.stem
	}
	word := strings.Clone(folded) // not a part of a page that would stay in memory with it
	env := snowballstem.NewEnv(accented(language, word))
	stemmers[i](env)
	if again := levelled(language, env.Current()); again != env.Current() {
		env.SetCurrent(again)
		stemmers[i](env)
	}
	stem := Fold(env.Current())
	if stem == word {
		stem = ""
	}
	place.Store(&stemOf{word, stem})
	return stem
}

// alphabetic says that a folded word may be a stem, or have one.
func alphabetic(word string) bool {
	return len(word) <= maxStemmed && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

// maxStemmed is how long a word may be that has a stem.
const maxStemmed = 32

// stems remembers the stems of common words, as finding one takes longer than all else that is done with a word. It
// grows to about 3 MB a language.
var stems [len(stemmers)][1 << 15]atomic.Pointer[stemOf]

type stemOf struct{ word, stem string }

// accents are the endings that stemmers know with accents, without and with them, and those whose spelling changes with
// the form: luz and luces, felizmente; huis and huizen, verhuis and verhuizing, lief and lieve.
var accents = map[string][][2]string{
	"es": {{"ion", "ión"}, {"z", "c"}, {"zmente", "cmente"}},
	"fr": {{"ees", "ées"}, {"ee", "ée"}, {"ieres", "ières"}, {"iere", "ière"}},
	"nl": {
		{"zen", "sen"}, {"ven", "fen"}, {"ze", "se"}, {"ve", "fe"},
		{"zing", "sing"}, {"ving", "fing"}, {"zingen", "singen"}, {"vingen", "fingen"},
	},
	"pt": {{"cao", "ção"}, {"coes", "ções"}, {"ao", "ão"}, {"oes", "ões"}, {"ais", "al"}, {"eis", "el"}, {"ois", "ol"}},
}

// accented puts the accents back that the stemmer of a language knows endings by, gives endings that change in the
// plural one spelling, and takes the s of the French "condos" and "cameras", which the stemmer leaves.
func accented(language, word string) string {
	if n := len(word); language == "fr" && n > 4 && (word[n-2:] == "os" || word[n-2:] == "as") {
		return word[:n-1]
	}
	for _, e := range accents[language] {
		if begin, ok := strings.CutSuffix(word, e[0]); ok && (len(begin) > 1 || e[1][0] >= utf8.RuneSelf) {
			return begin + e[1]
		}
	}
	return word
}

// levels are the endings of stems that are those of other forms, with what is stemmed in their place: of Lehrerinnen,
// Äpfeln, mietet and vermietete, repariert and möblierte, Autos. Of seriös and seriöse, Gewinn and gewinnen, Rinne and
// Rinnen the ending is that of all forms, so that these meet as before.
var levels = map[string][][2]string{
	"de": {
		{"inn", "in"}, {"eln", "el"}, {"tet", "ten"}, {"iert", "ieren"},
		{"eos", "eo"}, {"gos", "go"}, {"ios", "io"}, {"nos", "no"}, {"ros", "ro"}, {"tos", "to"},
	},
}

// levelled is a stem with the ending in place of which others have another one.
func levelled(language, stem string) string {
	for _, e := range levels[language] {
		if begin, ok := strings.CutSuffix(stem, e[0]); ok && len(begin) > 1 {
			return begin + e[1]
		}
	}
	return stem
}

// Stop says that a folded word tells nothing about a text in its language, "en" or "fr"; language "" = in either of
// them, but for words that tell something in the other ("car"), or beside other words ("vitamin c", "sherbrooke est").
// Such words are found in phrases; as words of a query they count only where there are no others.
func Stop(language, word string) bool {
	switch language {
	case "en":
		return stopEnglish[word]
	case "fr":
		return stopFrench[word]
	case "":
		return (stopEnglish[word] || stopFrench[word]) && !tells[word]
	}
	return false
}

var (
	stopEnglish = set(`a about am an and any are as at be been being but by can could did do does for from had has have he
		her him his how i if in into is it its me my no nor not of on or our she should so than that the their them then
		there these they this those to too up us was we were what when where which who whom why will with would you your`)
	stopFrench = set(`a ai aie ainsi as au aux avec avez avons c ca car ce ces cet cette ceux chez comme d dans de des donc
		dont du elle elles en es est et etaient etait etant etre eu eux furent fut il ils j je l la le les leur leurs lui m
		ma mais me meme mes moi mon n ne ni nos notre nous on ont ou par pas pour qu que quel quelle quelles quels qui s sa
		sans se sera seront ses si son sont sous sur t ta te tes toi ton tu un une vos votre vous y`)
	tells = set(`car son ton sous es fut ai eu mes nos est c d m s t`)
)

func set(words string) map[string]bool {
	s := map[string]bool{}
	for _, w := range strings.Fields(words) {
		s[w] = true
	}
	return s
}
