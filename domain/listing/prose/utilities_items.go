package prose

import "strings"

// lineFillers describe internet or a television on a line that has nothing else.
var lineFillers = set("haute vitesse illimite illimitee high speed unlimited et and de base tele tv television cable " +
	"cables gratuit inclus incluse included fi wifi internet sans fil")

// itemsAlone calls f for internet, cable and hot water that are a line of a list by themselves, "- Internet haute
// vitesse", for internet without a limit that is an item of a sentence, "meublé, internet illimité, laveuse", and for
// "éclairé" that is a line: what is bright is "bien éclairé".
func (p *Prose) itemsAlone(f func(what utility, yes bool, from, to int)) {
	for i := range p.words {
		if i == 0 || !p.words[i].line && p.sym(i-1) != ',' {
			continue
		}
		k := p.passBullet(i)
		what, last := p.thing(k)
		if !p.words[i].line {
			if end := p.unlimited(last + 1); what == internet && end > 0 && !p.underExcluded(k) && !p.onOfferBefore(k) {
				f(what, true, k, end)
			}
			continue
		}
		lit := litWords[p.word(k)]
		if what != internet && what != cable && what != hotWater && !lit || k >= len(p.words) || p.words[k].line && k > i {
			continue
		}
		if lit {
			what, last = electricity, k
		}
		end := last + 1
		for end < len(p.words) && !p.words[end].line && (lineFillers[p.word(end)] && !lit || p.words[end].kind == symbol &&
			p.sym(end) != '$' && p.sym(end) != ':' && p.sym(end) != '(') {
			end++
		}
		if end < len(p.words) && !p.words[end].line || end == len(p.words) && lit {
			continue
		}
		for n := k; n < end; n++ {
			if thing, to := p.thing(n); (thing == internet || thing == cable || thing == hotWater) &&
				p.word(n-1) != "sans" {
				f(thing, thing != hotWater || !p.underTenant(i), n, to)
			}
		}
		if lit {
			f(what, true, k, k)
		}
	}
}

// unlimited returns the last token of the item, which goes on at i, when it says that there is no limit, or 0.
func (p *Prose) unlimited(i int) int {
	for free := false; lineFillers[p.word(i)] && !p.stop(i); i++ {
		free = free || strings.HasPrefix(p.word(i), "illimite") || p.word(i) == "unlimited"
		if free && p.listEnds(i+1) {
			return i
		}
	}
	return 0
}

// onOfferBefore tells whether the sentence up to i is of what may be had: "possibilité d'ajouter câble, internet".
func (p *Prose) onOfferBefore(i int) bool {
	for k := i - 1; k >= i-30 && !p.stop(k+1); k-- {
		switch p.word(k) {
		case "possibilite", "possibility", "option", "options":
			return true
		}
	}
	return false
}

// underTenant tells whether the line at i is in a list under a heading of what the tenant pays: "À la charge du
// locataire :".
func (p *Prose) underTenant(i int) bool {
	for k := i - 1; k > 0 && k >= i-60; k-- {
		if p.sym(k) != ':' || !p.stop(k+1) {
			continue
		}
		for k--; k >= 0 && k >= i-72; k-- {
			if tenants[p.word(k)] || inclusionWords[p.word(k)] == saysCharge || inclusionWords[p.word(k)] == saysExcluded {
				return true
			}
			if p.words[k].line {
				break
			}
		}
		return false
	}
	return false
}

// answered calls f for each thing that "yes" or "no" answers as on a form: "Chauffage : oui", "Hydro - NO", "internet
// (non)". The answer ends its item, "Internet : no limit" is none, and nothing more is said of it: "Internet: yes
// ($60)". A television may be furniture.
func (p *Prose) answered(f func(what utility, yes bool, from, to int)) {
	for i := range p.words {
		s := p.sym(i)
		if s != ':' && s != '-' && s != '(' && s != '=' {
			continue
		}
		said := answers[p.word(i+1)]
		if s == ':' && said == 0 { // "Chauffage : locataire"
			said = payers[p.word(i+1)]
		}
		if said == 0 || !p.stop(i+2) && p.words[i+2].kind != symbol && !p.valueEnds(int(p.words[i+1].end)) ||
			p.qualified(i+2) {
			continue
		}
		k := i - 1
		if w := p.word(k); w == "chaude" || w == "water" && p.word(k-1) == "hot" {
			k--
		} else if w == "fi" { // "wi-fi"
			if k--; p.sym(k) == '-' {
				k--
			}
		}
		if w := p.word(k); w == "tv" || w == "television" {
			continue
		}
		if what, end := p.thing(k); end == i-1 && what != noUtility && what < parkingPlace && p.itemBegins(k) &&
			!p.underExcluded(k) {
			f(what, said == saysIncluded, k, i+1)
		}
	}
}

// formMost is how many tokens of a form are looked at for its heading.
const formMost = 250

// underExcluded tells whether the item at k is on a form under what the tenant pays or the rent has not, where "yes"
// says the contrary: "Tenant pays: Heat: yes", "Not included - Internet: yes". What is said of one thing, "Hydro:
// tenant pays, Heat: yes", is no heading, nor is what stands more than formMost tokens before it.
func (p *Prose) underExcluded(k int) bool {
	for end := k - 1; end >= max(0, k-formMost) && !p.stop(end+1); {
		from := end
		for from > max(0, k-formMost) && (p.words[from].kind != symbol || p.sym(from) == '$') && !p.stop(from) {
			from--
		}
		excluded, thing := false, false
		for m := from; m <= end; m++ {
			yes, _, _, ok := p.verdict(m)
			excluded = excluded || ok && !yes || tenants[p.word(m)]
			what, _ := p.thing(m)
			thing = thing || what != noUtility
		}
		s, next := p.sym(from), p.sym(end+1)
		label, _ := p.thing(from - 1)
		heads := next == ':' || next == '(' || next == '-'
		value := label != noUtility && label != collective && (s == ':' || s == '-' || s == '(' || s == '=') ||
			s == ':' && label == noUtility && !heads // "Pets: extra, Heat: yes"
		if excluded && !value && (!thing || heads) {
			return true
		}
		if p.stop(from) {
			return false
		}
		end = from - 1
	}
	return false
}

// answersThing tells whether the word at i ends an item as the answer to the utility before it: "hydro non", "heat yes,
// internet not", "électricité non plus".
func (p *Prose) answersThing(i int) (yes, ok bool) {
	w, end := p.word(i), i+1
	switch said := answers[w]; {
	case w == "non" && p.word(end) == "plus":
		end++
	case said == saysIncluded:
		yes = true
	case said == 0 && w != "not":
		return false, false
	}
	k := i - 1
	if halfNames[p.word(k)] && p.word(k) != "fil" {
		k--
	}
	what, _ := p.thing(k)
	return yes, p.listEnds(end) && !p.stop(i) && (what != noUtility && what < parkingPlace || what == collective)
}

// qualified tells whether an answer that ends before k goes on to a sum or to who pays: "oui, en sus", before the next
// label.
func (p *Prose) qualified(k int) bool {
	for n := k; n <= k+7 && !p.stop(n); n++ {
		switch s := p.sym(n); {
		case s == '$', p.about(n, anInclusion|aMoney), tenants[p.word(n)], p.word(n) == "extra":
			return true
		case s == ':', s == '=', s == '*', s == '|', s == '(' && n > k:
			return false
		}
	}
	return false
}

// itemBegins tells whether an item of a list or form begins at i.
func (p *Prose) itemBegins(i int) bool {
	if i == 0 || p.words[i].line || p.words[i-1].kind == symbol {
		return true
	}
	w := p.word(i - 1)
	return p.sym(i-2) == ':' && (answers[w] != 0 || payers[w] != 0) // "Hydro: no Heat: yes"
}
