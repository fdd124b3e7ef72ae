package prose

import (
	"math"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// rent settles the monthly rent: the platform's amount, then its printed price, the unit that stands for the advert,
// the title, the description.
func (n *normalizer) rent() {
	l := &n.l
	printed, title, body := ParsePrice(n.raw.Price.Text), n.title.rent(), n.body.rent()
	if title.Stated == 0 {
		title = n.title.closingRent()
	}
	kind := strings.ToUpper(strings.TrimSpace(n.raw.Price.Type))
	if (kind == "" || kind == "FIXED") && printed.Kind == "SWAP_TRADE" {
		kind = printed.Kind
	}
	if kind == "SWAP_TRADE" &&
		!slices.ContainsFunc(n.reasons, func(r listing.Reason) bool { return r.Code == listing.CodeSwap }) {
		n.reject("price", listing.CodeSwap, "a swap or trade, not a rent")
	}
	switch amount := n.raw.Price.AmountCents; {
	case amount != nil && *amount != 0:
		n.rentGiven(*amount, printed, title, body)
	case printed.Cents > 0:
		n.rentIn("price", printed)
		if printed.Low {
			n.low(Price{}, title, body)
		}
	case len(l.Units) > 0 && l.Units[n.chosen()].RentCents > 0:
		l.RentCents, l.RentFrom = l.Units[n.chosen()].RentCents, true
		l.Sources["rent_cents"] = listing.Source{From: l.Sources["units"].From, Text: l.Sources["units"].Text}
	case title.Cents > 0 && !title.Low:
		n.rentIn("title", title)
	case body.Cents > 0 && !body.Low:
		n.rentIn("description", body)
	default:
		n.noRent(kind, printed, title, body)
		return
	}
	if l.RentCents < listing.MinRentCents || l.RentCents > listing.MaxRentCents {
		n.reject("price", listing.CodeOutOfRange, "%s a month; want 0.01 to 100,000 $", listing.Dollars(l.RentCents))
	}
	n.promote()
}

// rentGiven takes the platform's amount, unless the words say that it is for a week, or that it is a placeholder: "1 $"
// against "loyer 900 $".
func (n *normalizer) rentGiven(cents int64, printed, title, body Price) {
	l := &n.l
	l.RentCents = cents
	l.Sources["rent_cents"] = listing.Source{From: "price", Text: listing.Dollars(cents)}
	n.perWeek(printed, title, body)
	if l.RentCents > 0 && l.RentCents < lowRentCents {
		n.low(printed, title, body)
	} else if l.RentCents >= listing.MinRentCents && l.RentCents <= listing.MaxRentCents &&
		title.Cents > 0 && !title.Low && len(l.Units) == 0 && title.Cents != l.RentCents && !n.title.names(l.RentCents) &&
		math.Abs(float64(title.Cents-l.RentCents)) > float64(l.RentCents)/50 {
		n.conflict("rent_cents", listing.Dollars(l.RentCents), "price", listing.Dollars(title.Cents), "title", title.Text)
	}
	l.RentFrom = printed.From || title.From && title.Cents == l.RentCents || body.From && body.Cents == l.RentCents ||
		len(l.Units) > 0 && n.only == 0
}

// rentIn takes the rent that is printed or that a text says: "900 $ par mois".
func (n *normalizer) rentIn(from string, p Price) {
	n.l.RentCents, n.l.RentFrom = p.Cents, p.From
	n.l.Sources["rent_cents"] = listing.Source{From: from, Text: p.Text}
	n.converted(p)
}

// noRent rejects an advert without a rent, by what it has instead: "75 $ par jour", "Sur demande".
func (n *normalizer) noRent(kind string, printed, title, body Price) {
	switch {
	case printed.Per == "day" || title.Per == "day" || body.Per == "day":
		n.reject("price", listing.CodePerDay, "a price per day has no monthly equivalent")
	case n.raw.Price.AmountCents != nil:
		n.reject("price", listing.CodeMissing, "the price is 0")
	case kind != "" && kind != "FIXED":
		n.reject("price", listing.CodeMissing, "no rent is stated: the price is %s", quoted(kind))
	case printed.Kind != "":
		n.reject("price", listing.CodeMissing, "no rent is stated: the price is %s", printed.Kind)
	default:
		n.reject("price", listing.CodeMissing, "no rent is stated")
	}
}

// names tells whether the text holds that very amount: "850 $ à 750 $" agrees with either.
func (p *Prose) names(cents int64) bool {
	return slices.ContainsFunc(p.amounts(), func(a amount) bool { return a.cents == cents })
}

// converted warns of a rent that is not stated a month.
func (n *normalizer) converted(p Price) {
	switch p.Per {
	case "week":
		n.warn("rent_cents", listing.CodeWeekly, "%s a week is %s a month", listing.Dollars(p.Stated), listing.Dollars(p.Cents))
	case "two weeks":
		n.warn("rent_cents", listing.CodeWeekly, "%s in two weeks is %s a month", listing.Dollars(p.Stated),
			listing.Dollars(p.Cents))
	case "year":
		n.warn("rent_cents", listing.CodeYearly, "%s a year is %s a month", listing.Dollars(p.Stated), listing.Dollars(p.Cents))
	}
}

// perWeek corrects an amount that the words say is for a week or a day. A platform asks for a sum a month, and "yearly"
// beside it is the lease as often as the sum: a sum a year is not divided here.
func (n *normalizer) perWeek(prices ...Price) {
	for _, p := range prices {
		if p.Stated != n.l.RentCents {
			continue
		}
		switch p.Per {
		case "month", "year":
			return
		case "week", "two weeks":
			n.l.RentCents = p.Cents
			n.converted(p)
			return
		case "day":
			n.reject("price", listing.CodePerDay, "%s a day has no monthly equivalent", listing.Dollars(p.Stated))
			return
		}
	}
}

// low looks for a likelier rent than a placeholder of a few dollars.
func (n *normalizer) low(prices ...Price) {
	was := n.l.RentCents
	for i, p := range prices {
		if p.Cents >= lowRentCents && p.Cents <= listing.MaxRentCents {
			from := [...]string{"price", "title", "description"}[i]
			n.l.RentCents, n.l.RentFrom = p.Cents, p.From
			n.l.Sources["rent_cents"] = listing.Source{From: from, Text: p.Text}
			n.conflict("rent_cents", listing.Dollars(p.Cents), from, listing.Dollars(was), "price", "")
			return
		}
	}
	n.warn("rent_cents", listing.CodeDoubtful, "%s a month is hardly a home's rent: a placeholder, or a price per square foot",
		listing.Dollars(was))
}

// promote notes an offer that the title makes, else the description: "1er mois gratuit".
func (n *normalizer) promote() {
	if text, from, p, i, j := n.either((*Prose).promotion); text != "" {
		n.l.Promotion = text
		n.note("promotion", from, p, i, j)
	}
}
