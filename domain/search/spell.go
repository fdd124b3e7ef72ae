package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Spellable reports whether a folded word may be one that was meant where another was typed: 3 to 40 letters, and
// nothing else.
func Spellable(word string) bool {
	n := utf8.RuneCountInString(word)
	return n >= 3 && n <= 40 && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
}

// Typos is how many typing errors a folded word may have: 1 from 4 letters on, 2 from 8 on, and none in what is not
// made of letters alone.
func Typos(word string) int {
	n := utf8.RuneCountInString(word)
	switch {
	case n < 4 || !Spellable(word):
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// Edits is how many typing errors (a letter more, less or wrong, or two neighbours in the wrong order) make a word of
// another: most+1 when there are more than most.
func Edits(a, b string, most int) int {
	from, to := []rune(a), []rune(b)
	if d := len(from) - len(to); d > most || -d > most {
		return most + 1
	}
	before, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(from); i++ {
		row[0] = i
		for j := 1; j <= len(to); j++ {
			cost := 1
			if from[i-1] == to[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(to)], most+1)
}

// sounds have letters that sound alike in one way: schedule as skedule, pharmacy as farmacy.
var sounds = strings.NewReplacer("sch", "sk", "ch", "k", "ck", "k", "ph", "f", "qu", "kw", "x", "ks", "wh", "w",
	"rh", "r", "ce", "se", "ci", "si", "cy", "si", "c", "k", "y", "i", "z", "s")

// Alike says that words which are spelt differently sound the same, as far as their letters tell.
func Alike(a, b string) bool { return sound(a) == sound(b) }

// sound is how a folded word sounds: letters that are doubled count once.
func sound(word string) string {
	return string(slices.Compact([]rune(sounds.Replace(word))))
}

// Similarity is what pg_trgm gives at least to a word and the same word with so many typing errors: each takes at most
// four of its trigrams (two neighbours in the wrong order) and adds four.
func Similarity(word string, edits int) float64 {
	letters := []rune("  " + word + " ")
	trigrams := map[string]bool{}
	for i := range len(letters) - 2 {
		trigrams[string(letters[i:i+3])] = true
	}
	lost := 4 * edits
	return max(0, float64(len(trigrams)-lost)/float64(len(trigrams)+lost))
}

// StemPrefixes are what terms that are stems begin with, ascending. Words begin with none of them, but with another
// colon behind: pt::ptree.
var StemPrefixes = func() (prefixes []string) {
	for _, language := range stemLanguages {
		prefixes = append(prefixes, language+":")
	}
	return prefixes
}()

// IsStem reports whether a term is a stem.
func IsStem(term string) bool {
	return slices.ContainsFunc(StemPrefixes, func(p string) bool {
		stem, begins := strings.CutPrefix(term, p)
		return begins && !strings.HasPrefix(stem, ":")
	})
}
