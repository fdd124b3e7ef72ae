package search

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
