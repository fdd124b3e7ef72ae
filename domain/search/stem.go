package search

import (
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
)

// Stem returns what a folded word of a language, "en" or "fr", has in common with its other forms: "economies" and
// "economy" are both "economi". It is "" when the language has no stemmer, when the word has other characters than the 26
// letters, and when the stem is the word itself.
//
// French words are stemmed without their accents, as many people type them so. With the accents put back at the ends of
// words that can have no others, 75 % of the forms of a word meet when they are typed without accents, against 64 %
// when pages are stemmed with theirs (testdata/french-families.txt); typed with them, 72 % meet either way.
func Stem(language, folded string) string {
	i := 0
	switch language {
	case "en":
	case "fr":
		i = 1
	default:
		return ""
	}
	if len(folded) < 3 || len(folded) > maxStemmed {
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
	stem := ""
	if i == 0 {
		stem = snowball(word, english.Stem)
	} else {
		stem = Fold(snowball(accented(word), french.Stem))
	}
	if stem == word {
		stem = ""
	}
	place.Store(&stemOf{word, stem})
	return stem
}

// maxStemmed is how long a word may be that has a stem.
const maxStemmed = 32

// stems remembers the stems of common words, English and French, as finding one takes longer than all else that is done
// with a word. It grows to about 3 MB a language.
var stems [2][1 << 15]atomic.Pointer[stemOf]

type stemOf struct{ word, stem string }

func snowball(word string, stem func(*snowballstem.Env) bool) string {
	env := snowballstem.NewEnv(word)
	stem(env)
	return env.Current()
}

// accented puts the accents back that the stemmer knows endings by, and takes the s of "condos" and "cameras", which it
// leaves.
func accented(word string) string {
	if n := len(word); n > 4 && (word[n-2:] == "os" || word[n-2:] == "as") {
		return word[:n-1]
	}
	for _, e := range [...][2]string{{"ees", "ées"}, {"ee", "ée"}, {"ieres", "ières"}, {"iere", "ière"}} {
		if begin, ok := strings.CutSuffix(word, e[0]); ok {
			return begin + e[1]
		}
	}
	return word
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
