package prose

import (
	"math"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// lowRentCents is where a rent becomes doubtful: "1 $" is a placeholder and "20 $" a commercial rent per square foot.
const lowRentCents = 100_00

// A Price is the rent as a text states it.
type Price struct {
	Cents  int64  // CAD cents a month; 0 when none can be told
	Stated int64  // as written, before a rent per week or year is converted
	Per    string // month week day year, "" = not said
	From   bool   // "from 795 $": the lowest of several
	Low    bool   // under 100 $ a month: a placeholder, a side cost or a rent per square foot, not a home's rent
	Kind   string // CONTACT, SWAP_TRADE or GIVE_AWAY when words stand where an amount should
	Extras []Extra
	Text   string // the words it was read from
}

// An Extra is an amount beside the rent.
type Extra struct {
	For   string // parking electricity furnished semi_furnished deposit discount extra other
	Cents int64
	Per   string // month week day year, "" = not said
}

// ParsePrice reads what is printed where the price should be, or a sentence about it. A string that is nothing but
// numbers ("[2450.0, 2450.0]", "1450") is a price range.
func ParsePrice(s string) Price {
	p := Read(page.Line(s))
	out := p.rent()
	if out.Stated == 0 && out.Kind == "" {
		out = p.bareRange(out)
	}
	if out.Stated == 0 {
		out.Kind = p.priceKind()
	}
	return out
}

// rent picks the rent among the amounts: a monthly one first, then the first that is not for something else.
func (p *Prose) rent() Price {
	var out Price
	best := -1
	all := p.amounts()
	for i, a := range all {
		if a.role != forRent {
			out.Extras = append(out.Extras, Extra{For: string(a.role), Cents: a.cents, Per: periodNames[a.per]})
			continue
		}
		switch {
		case best < 0:
			best = i
		case all[best].cents < lowRentCents && !all[best].per.short() && a.cents >= lowRentCents:
			best = i // "1 $ … 850 $"
		case all[best].per != perMonth && a.per == perMonth &&
			(all[best].per != unstated || all[best].cents > listing.MaxRentCents):
			best = i // "$50/day or $900/month"
		case p.lowered(all[best], a):
			best = i // "prix original 823 $, rabais appliqué 723 $"
		case all[best].per == perYear && a.per == unstated && a.cents >= lowRentCents &&
			(a.named || a.cents >= 300_00 || a.cents <= all[best].cents/6):
			best = i // "19 800 $ par an, soit 1650 $"
		}
	}
	if best < 0 {
		return out
	}
	a := all[best]
	out.Stated, out.Cents, out.From, out.Per = a.cents, a.cents, a.least, periodNames[a.per]
	out.Text = p.quote(a.from, a.to)
	switch a.per {
	case perWeek:
		out.Cents = Monthly(a.cents)
	case perFortnight:
		out.Cents = (a.cents*26 + 6) / 12
	case perDay:
		out.Cents = 0
	case perYear:
		out.Cents = (a.cents + 6) / 12
	}
	out.Low = out.Cents < lowRentCents && a.per != perDay
	return out
}

// rentBefore lead to a rent or its period.
var rentBefore = set("loyer loyers prix rent price paiement paiements payment payments payable paye paid")

// closingRent reads the number that ends a headline after a month or what the rent includes, where nothing but a rent
// stands: "4 ½ Limoilou, juillet 720", "3 ½ chauffé 650". It is the zero value when there is none.
func (p *Prose) closingRent() (out Price) {
	i := len(p.words) - 1
	t := p.num(i)
	if i < 2 || t == nil || t.half || t.dec > 0 || t.digits < 3 || t.digits > 4 || t.cents < 300_00 || t.cents > 6000_00 ||
		t.cents >= 1990_00 && t.cents <= 2040_00 || !t.space {
		return out
	}
	if _, on := p.participle(i - 1); !p.about(i-1, aMonth) && on == noUtility &&
		inclusionWords[p.word(i-1)] != saysIncluded && !p.roundBehindRooms(i) {
		return out
	}
	out.Stated, out.Cents, out.Text = t.cents, t.cents, p.quote(i, i)
	return out
}

// doorsBefore lead to a number that is a door, a district or a bus, and no rent.
var doorsBefore = set("au du le a at no numero secteur phase bloc bus autobus ligne local")

// roundBehindRooms tells whether the number at i, without a sign, may be the rent of the home whose rooms stand before
// it on its line: "3 ½ Verdun 1250". A street or a unit makes it a door, "4 ½ rue Fabre 1250".
func (p *Prose) roundBehindRooms(i int) bool {
	before := i - 1
	if p.sym(before) == '.' { // "app. 1250"
		before--
	}
	if w := p.word(before); p.words[i].cents%500 != 0 || unitWords[w] && w != "etage" || doorsBefore[w] ||
		w == "de" && p.word(before-1) == "lieu" {
		return false
	}
	rooms, apart := false, false
	for k := i - 1; k >= 0 && k >= i-14 && !p.words[k+1].line; k-- {
		t := &p.words[k]
		if listing.StreetWord(t.w) || t.sym == '#' || t.sym == '$' || nearHeadings[t.w] && !apart {
			return false
		}
		apart = apart || t.sym == ',' || t.sym == '-' || p.stop(k)
		rooms = rooms || t.half || t.kind == number && t.digits == 1 && t.cents%100 == 50 ||
			t.topic&aBedroom != 0 && p.num(k-1) != nil
	}
	return rooms
}

// Monthly converts a rent per week at 52/12, to the nearest cent.
func Monthly(weekly int64) int64 { return int64(math.Round(float64(weekly) * 52 / 12)) }

// leastWords lead to the lowest of several rents, rangeWords stand in a range.
var (
	leastWords = set("from start starts starting debutant partir des low between entre")
	rangeWords = set("a at de as to and et")
)

// bareRange reads "[2450.0, 2450.0]", "1450" and "from 900".
func (p *Prose) bareRange(out Price) Price {
	var lo, hi int64
	least, next := false, 0
	for i := range p.words {
		t := &p.words[i]
		switch {
		case t.kind == word && leastWords[t.w]:
			least = true
		case t.kind == word && rangeWords[t.w]:
		case t.kind == word, t.sym == '$', t.sym == '/', t.sym == '%', t.kind == number && t.half:
			return out
		case t.kind == number && i >= next:
			var v int64
			v, next = p.grouped(i)
			if lo == 0 {
				lo, hi = v, v
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > 0 {
		out.Stated, out.Cents, out.From, out.Low = lo, lo, hi > lo || least, lo < lowRentCents
		out.Text = p.quote(0, len(p.words)-1)
	}
	return out
}

// grouped is the number at i with the groups of three digits after it, "1 250", × 100, and the token after them.
func (p *Prose) grouped(i int) (cents int64, next int) {
	t := &p.words[i]
	cents, next = t.cents, i+1
	if t.digits > 3 {
		return cents, next
	}
	for ; t.dec == 0 && cents < 1e12; next++ {
		if next >= len(p.words) || p.words[next].kind != number || p.words[next].digits != 3 {
			break
		}
		t = &p.words[next]
		cents = cents*1000 + t.cents
	}
	return cents, next
}

// priceKind reads the words that stand in place of an amount.
func (p *Prose) priceKind() string {
	if len(p.words) > 8 { // a sentence: "2 mois gratuits" in it does not make the home free
		return ""
	}
	for _, k := range priceKinds {
		if k.kind == "GIVE_AWAY" && len(p.words) > 2 {
			continue
		}
		if strings.Contains(p.fold, k.words) {
			return k.kind
		}
	}
	return ""
}

var priceKinds = []struct{ words, kind string }{
	{"sur demande", "CONTACT"}, {"contact", "CONTACT"}, {"on request", "CONTACT"}, {"upon request", "CONTACT"},
	{"a discuter", "CONTACT"}, {"call for", "CONTACT"}, {"appelez", "CONTACT"}, {"communiquez", "CONTACT"}, {"negociable",
		"CONTACT"},
	{"echange", "SWAP_TRADE"}, {"swap", "SWAP_TRADE"}, {"trade", "SWAP_TRADE"}, {"troc", "SWAP_TRADE"},
	{"gratuit", "GIVE_AWAY"}, {"free", "GIVE_AWAY"}, {"a donner", "GIVE_AWAY"}, {"give away", "GIVE_AWAY"}, {"giveaway",
		"GIVE_AWAY"},
}

// promotion finds "un mois gratuit", "2 months free", "first month free": n months without rent. "" when none.
func (p *Prose) promotion() (text string, from, to int) {
	for i := range p.words {
		if !p.about(i, aPromotion) {
			continue
		}
		k := -1
		for _, j := range [...]int{i - 1, i - 2, i - 3, i + 1, i + 2} {
			switch p.word(j) {
			case "mois", "month", "months":
				k = j
			}
			if k >= 0 {
				break
			}
		}
		if k < 0 {
			continue
		}
		n, half := 1, ""
		if t := p.num(k - 1); t != nil && t.digits <= 2 && t.cents%50 == 0 && t.cents >= 100 && t.cents <= 1200 {
			n = int(t.cents / 100)
			if t.cents%100 != 0 {
				half = ".5"
			}
		} else if w := numberWords[p.word(k-1)]; w > 0 {
			n = w
		}
		from, to = min(i, k), max(i, k)
		unit := " month free"
		if n > 1 || half != "" {
			unit = " months free"
		}
		return itoa(n) + half + unit, from, to
	}
	return "", 0, 0
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
