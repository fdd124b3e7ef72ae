package search

// Parse is a stand-in.
func Parse(text string) (Ask, error) {
	var a Ask
	Tokenize(text, func(t Token) bool {
		a.Clauses = append(a.Clauses, Clause{Words: []string{t.Word}})
		return true
	})
	a.Words = len(a.Clauses)
	return a, nil
}

// Mark is a stand-in.
func Mark(text string, a Ask, language string) []Range { return nil }

// Snip is a stand-in.
func Snip(title, description, text string, a Ask, language string) Snippet { return Snippet{} }
