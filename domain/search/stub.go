package search

// Stop is a stand-in.
func Stop(language, folded string) bool {
	switch language {
	case "en":
		return stops[folded]
	}
	return false
}

var stops = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{"i", "me", "my", "we", "our", "you", "your", "he", "she", "it", "its", "they", "them", "their", "what", "which", "who", "this", "that", "these", "those", "am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "do", "does", "did", "a", "an", "the", "and", "but", "if", "or", "because", "as", "until", "while", "of", "at", "by", "for", "with", "about", "into", "to", "from", "in", "on", "than", "so", "can", "will", "how", "when", "where", "why", "any", "not", "no", "there"} {
		m[w] = true
	}
	return m
}()

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
