package prose

import "slices"

var (
	// askFillers stand between the verb that begins a question and what it asks about: "Is there any", "Can I have".
	askFillers = set("is are does do can may est sont y a t il it there the this i we have ce que c les " +
		"le la des un une any")
	// sorries stand between a question and its answer.
	sorries = set("sorry unfortunately desole desolee malheureusement")
	// shortAnswers answer a question without a yes or no: "Laundry? Shared", "Smoking? Outside only".
	shortAnswers = set("in ensuite insuite shared partagee partage street outside outdoors dehors " +
		"exterieur none aucun aucune")
)

// answerQuestions has a question that is answered at once read as the label of a form: "Are utilities included? No" as
// "utilities included: No", "Le chauffage est-il inclus ? Oui" as "Le chauffage inclus : Oui", "Parking? 1".
func (p *Prose) answerQuestions() {
	for i := 1; i < len(p.words); i++ {
		if p.sym(i) != '?' {
			continue
		}
		from := p.questionFrom(i)
		to := i + 1
		for to < len(p.words) && !p.words[to].line && (sorries[p.word(to)] || to > i+1 && p.sym(to) == ',') {
			to++
		}
		if from == i || !p.answersAt(to, i-from) || slices.ContainsFunc(p.words[from:i], asksReader) {
			continue
		}
		p.words[i].sym = ':'
		p.words = slices.Delete(p.words, i+1, to)
		i -= p.dropAsking(from, i)
	}
}

// questionFrom returns the first token of the question that ends at i.
func (p *Prose) questionFrom(i int) int {
	for ; i > 0 && !p.words[i].line; i-- {
		switch p.sym(i - 1) {
		case 0, '-', '/', '&', '+':
		default:
			return i
		}
	}
	return i
}

// answersAt tells whether the token at i, on the line of a question of so many words, answers it.
func (p *Prose) answersAt(i, words int) bool {
	if i >= len(p.words) || p.words[i].line || words > 9 {
		return false
	}
	w := p.word(i)
	switch says := inclusionWords[w]; {
	case answers[w] != 0:
		return p.stop(i+1) || p.words[i+1].kind != word || p.valueEnds(int(p.words[i].end))
	case words > 4:
		return false
	case says == saysIncluded || says == saysExcluded || says == saysExtra:
		return p.stop(i+1) || p.words[i+1].kind != word
	}
	return p.num(i) != nil || p.sym(i) == '$' || p.about(i, aMonth) || shortAnswers[w]
}

func asksReader(t token) bool { return askedYou[t.w] }

// dropAsking takes the words that only ask out of the question in tokens from..i, "Is there", "est-il", and returns how
// many there were.
func (p *Prose) dropAsking(from, i int) (n int) {
	drop := func(k, to int) {
		if to < i-n {
			p.words[to].space, p.words[to].line = p.words[k].space, p.words[k].line
			p.words = slices.Delete(p.words, k, to)
			n += to - k
		}
	}
	for k := from + 1; k+2 < i-n; k++ {
		if w := p.word(k); (w == "est" || w == "sont") && p.sym(k+1) == '-' && askSubjects[p.word(k+2)] {
			drop(k, k+3)
		}
	}
	k := from
	if askWords[p.word(k)] || p.word(k) == "y" {
		for k++; askFillers[p.word(k)] || p.sym(k) == '-'; k++ {
		}
		drop(from, k)
	}
	return n
}
