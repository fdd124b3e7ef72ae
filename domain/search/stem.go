package search

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
)

// Stem returns what a folded word of a language, "en" or "fr", has in common with its other forms: "economies" and
// "economy" are both "economi". It is "" when the language has no stemmer, and when the stem is the word itself.
func Stem(language, folded string) string {
	var stem func(*snowballstem.Env) bool
	switch language {
	case "en":
		stem = english.Stem
	case "fr":
		stem = french.Stem
	default:
		return ""
	}
	if len(folded) < 3 || !plain(folded) {
		return ""
	}
	env := snowballstem.NewEnv(folded)
	stem(env)
	if s := env.Current(); s != folded {
		return s
	}
	return ""
}

// plain says that a word is letters in ASCII only: other words have no stem.
func plain(s string) bool {
	for i := range len(s) {
		if class[s[i]] != lower {
			return false
		}
	}
	return true
}
