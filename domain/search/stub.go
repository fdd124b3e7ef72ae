package search

import "strings"

// A Token is one word of a text.
type Token struct {
	Word       string
	Position   int32
	Start, End int32
}

// Tokenize is a stand-in.
func Tokenize(s string, f func(Token) bool) {
	for i, w := range strings.Fields(strings.ToLower(s)) {
		if !f(Token{Word: w, Position: int32(i)}) {
			return
		}
	}
}

// Stem is a stand-in.
func Stem(language, folded string) string {
	if s, ok := strings.CutSuffix(folded, "s"); ok && language == "en" {
		return s
	}
	return ""
}

// Stop is a stand-in.
func Stop(language, folded string) bool { return false }

// An Ask is a stand-in.
type Ask struct {
	Clauses                           []Clause
	Sites, NotSites, Languages, Types []string
	Words                             int
	Cut                               bool
}

// A Clause is a stand-in.
type Clause struct {
	Words                      []string
	Phrase, Not, Title, Prefix bool
}
