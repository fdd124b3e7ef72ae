package prose

import "strings"

// Words of a listing site's page that a description may have got with it, by how much of it is no part of the advert.
var (
	// pageEnds stand over other homes: nothing behind them is of this one.
	pageEnds = phrases("similar listings|similar rentals|similar apartments|similar properties|similar homes|" +
		"nearby apartments|nearby rentals|nearby listings|recently viewed|people also viewed|you may also like|" +
		"you might also like|related searches|annonces similaires|logements similaires|appartements similaires|" +
		"proprietes similaires|recherches associees|vous pourriez aussi aimer|vous aimerez aussi|vus recemment")
	// pageMenus stand before what may be chosen.
	pageMenus = phrases("filters|filtres|filter by|filtrer par|sort by|trier par")
	// ofTheArea begin what homes cost elsewhere.
	ofTheArea = phrases("average rent|the average rent|median rent|the median rent|loyer moyen|le loyer moyen|" +
		"loyer median|le loyer median")
	askWords    = set("is are does do can est sont")
	askSubjects = set("il ils elle elles")
	askedYou    = set("you vous tu")
)

// phrases is a table of phrases by their first word.
func phrases(list string) map[string][][]string {
	m := map[string][][]string{}
	for phrase := range strings.SplitSeq(list, "|") {
		words := strings.Fields(phrase)
		m[words[0]] = append(m[words[0]], words)
	}
	return m
}

// phraseAt returns the token behind the phrase of the table that begins at i, or 0.
func (p *Prose) phraseAt(i int, table map[string][][]string) int {
	for _, words := range table[p.word(i)] {
		if p.seq(i, words...) {
			return i + len(words)
		}
	}
	return 0
}

// dropPage takes out the words that are the page's and not the advert's: "Similar listings:", "Filters:", the average
// rent of the area, what is told of strangers, and questions that nobody answers.
func (p *Prose) dropPage() {
	var kept []token
	from := 0
	for i := 0; i < len(p.words); i++ {
		end := p.pageAt(i)
		if end <= i {
			continue
		}
		kept = append(kept, p.words[from:i]...)
		if end < len(p.words) {
			p.words[end].line = true
		}
		from, i = end, end-1
	}
	if from > 0 {
		p.words = append(kept, p.words[from:]...)
	}
}

// pageAt returns the token behind the words that begin at i and are the page's, or i.
func (p *Prose) pageAt(i int) int {
	if end := p.unlikeAt(i); end > i {
		return end
	}
	if p.words[i].kind != word || !p.itemStart(i) && p.sym(i-1) != ':' {
		if p.sym(i-1) == ',' {
			return p.strangersAt(i)
		}
		return i
	}
	if k := p.phraseAt(i, pageEnds); k > 0 && (k == len(p.words) || p.words[k].line || p.sym(k) == ':') {
		return len(p.words)
	}
	if k := p.phraseAt(i, pageMenus); k > 0 && p.sym(k) == ':' {
		for k < len(p.words) && !p.words[k].line {
			k++
		}
		return k
	}
	if k := p.phraseAt(i, ofTheArea); k > 0 {
		for k < len(p.words) && !p.stop(k) {
			k++
		}
		return k
	}
	if k := p.strangersAt(i); k > i {
		return k
	}
	if k := p.askedOfOthers(i); k > i {
		return k
	}
	return p.questionAt(i)
}

// mostAsked is the length of the longest question, in tokens. Without it each colon of a line that is one sentence has
// the rest of the line read.
const mostAsked = 60

// questionAt returns the token behind a question that begins at i and is not answered, or i: "Is heat included?", "Le
// chauffage est-il inclus ?". "Are you looking for a 3 ½?" offers one.
func (p *Prose) questionAt(i int) int {
	asks := askWords[p.word(i)] && p.word(i+1) != "t" // not "can't find a 3 ½?"
	for k := i; k < len(p.words) && k < i+mostAsked && (k == i || !p.words[k].line); k++ {
		switch s := p.sym(k); {
		case s == '?':
			said := p.word(k + 1)
			if !asks || answers[said] != 0 || onOffer[said] {
				return i
			}
			return k + 1
		case k > i && p.stop(k), askedYou[p.word(k)]:
			return i
		}
		asks = asks || askSubjects[p.word(k)] && p.sym(k-1) == '-' && k > i+1
	}
	return i
}
