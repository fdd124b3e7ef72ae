package prose

import "github.com/mtlrent/conveyor/domain/page"

// ParseLease returns the lease that s offers: "one-year" (a year, 12 months), "month-to-month", "6-month" for another
// length, or "" when s says nothing.
func ParseLease(s string) string {
	v, _, _ := Read(page.Line(s)).lease()
	return v
}

func (p *Prose) lease() (value string, from, to int) {
	for i := range p.words {
		switch p.word(i) {
		case "mois", "month":
			if w := p.word(i - 2); p.word(i-1) == "au" && (p.about(i-2, aLease) || w == "location" || w == "louer" ||
				w == "loue") && p.word(i+1) != "ou" {
				return "month-to-month", i - 2, i // "bail au mois"
			}
			k := i + 1
			for p.sym(k) == '-' {
				k++
			}
			if w := p.word(k); w == "a" || w == "to" || w == "par" {
				k++
				for p.sym(k) == '-' {
					k++
				}
				if n := p.word(k); n == "mois" || n == "month" {
					return "month-to-month", i, k
				}
			}
		}
		if v, a, b := p.leaseBound(i); v != "" {
			return v, a, b
		}
		if !p.about(i, aLease) {
			continue
		}
		for _, step := range [...]int{1, -1} {
			for k, n := i+step, 0; n < 5 && k >= 0 && k < len(p.words); k, n = k+step, n+1 {
				if p.words[max(k, k-step)].line {
					break
				}
				switch p.word(k) {
				case "annuel", "annuelle", "yearly", "annual":
					return "one-year", min(i, k), max(i, k)
				case "mensuel", "monthly":
					return "month-to-month", min(i, k), max(i, k)
				case "an", "ans", "annee", "year", "years", "mois", "month", "months", "yr", "yrs", "mth", "mths",
					"mo", "mos":
					count := 0
					m := k - 1
					if p.sym(m) == '-' || p.sym(m) == ')' && p.num(m-1) != nil { // "one (1) year lease"
						m--
					}
					if t := p.num(m); t != nil && t.dec == 0 && t.digits <= 2 {
						count = int(t.cents / 100)
					} else {
						count = numberWords[p.word(m)]
						if w := p.word(m); w == "twelve" || w == "douze" {
							count = 12
						}
					}
					if count == 0 || p.about(k+1, aPromotion) || p.about(m-1, aPromotion) {
						continue
					}
					if w := p.word(k); w[0] == 'a' || w[0] == 'y' {
						count *= 12
					}
					if count == 12 {
						return "one-year", min(i, m), max(i, k)
					}
					if count <= 36 {
						return itoa(count) + "-month", min(i, m), max(i, k)
					}
				}
			}
		}
	}
	return "", -1, -1
}

// papers are what a landlord wants of so many months or years: "min. 3 months pay stubs", "min 2 yrs references".
var papers = set("pay paystub paystubs reference references rental employment work job history experience bank credit")

// leaseBound reads a shortest stay whose unit is at i: "minimum 1 year", "1 year minimum", "location d'un an",
// "à louer pour 2 mois".
func (p *Prose) leaseBound(i int) (value string, from, to int) {
	years := false
	switch p.word(i) {
	case "an", "ans", "annee", "year", "years", "yr", "yrs":
		years = true
	case "mois", "month", "months", "mth", "mths":
	default:
		return "", i, i
	}
	k := i - 1
	if p.sym(k) == '-' {
		k--
	}
	n := numberWords[p.word(k)]
	if t := p.num(k); t != nil && t.dec == 0 && t.digits <= 2 && !t.half {
		n = int(t.cents / 100)
	} else if w := p.word(k); w == "twelve" || w == "douze" {
		n = 12
	}
	if n == 0 {
		return "", i, i
	}
	from, to = k, i
	bound := func(w string) bool { return w == "minimum" || w == "min" || w == "minimal" || w == "minimale" }
	before := k - 1
	if p.sym(before) == '.' && bound(p.word(before-1)) { // "Min. 4 months"
		before--
	}
	switch {
	case bound(p.word(i + 1)), p.word(i+1) == "term" && p.stop(i+2): // "6 month term."
		to++
	case bound(p.word(before)), p.seq(before-1, "louer", "pour"), p.seq(before-1, "rent", "for"),
		p.seq(before-1, "location", "d"), p.seq(before-1, "location", "de"),
		(p.word(before) == "de" || p.word(before) == "d" || p.word(before) == "of") && bound(p.word(before-1)):
		from = before
	case p.sym(before) == ':' && (bound(p.word(before-1)) || p.word(before-1) == "term" || p.word(before-1) == "duree"):
		from = before - 1
	default:
		return "", i, i
	}
	next := p.word(to + 1)
	if next == "of" {
		next = p.word(to + 2)
	}
	if p.about(to+1, aPromotion) || years && n > 3 || papers[next] {
		return "", i, i
	}
	if years {
		n *= 12
	}
	if n == 12 {
		return "one-year", from, to
	}
	return itoa(n) + "-month", from, to
}
