package prose

import (
	"math"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// rent settles the monthly rent.
func (n *normalizer) rent() {
	l := &n.l
	printed := ParsePrice(n.raw.Price.Text)
	title, body := n.title.rent(), n.body.rent()
	if title.Stated == 0 {
		title = n.title.closingRent()
	}
	kind := strings.ToUpper(strings.TrimSpace(n.raw.Price.Type))
	if kind == "" || kind == "FIXED" {
		if printed.Kind == "SWAP_TRADE" {
			kind = printed.Kind
		}
	}
	if kind == "SWAP_TRADE" && !slices.ContainsFunc(n.reasons, func(r listing.Reason) bool { return r.Code == listing.CodeSwap }) {
		n.reject("price", listing.CodeSwap, "a swap or trade, not a rent")
	}
	set := func(cents int64, from, words string) {
		l.RentCents = cents
		l.Sources["rent_cents"] = listing.Source{From: from, Text: words}
	}
	amount := n.raw.Price.AmountCents
	switch {
	case amount != nil && *amount != 0:
		set(*amount, "price", listing.Dollars(*amount))
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
	case printed.Cents > 0:
		set(printed.Cents, "price", printed.Text)
		l.RentFrom = printed.From
		n.converted(printed)
		if printed.Low {
			n.low(Price{}, title, body)
		}
	case len(l.Units) > 0 && l.Units[n.chosen()].RentCents > 0:
		set(l.Units[n.chosen()].RentCents, l.Sources["units"].From, l.Sources["units"].Text)
		l.RentFrom = true
	case title.Cents > 0 && !title.Low:
		set(title.Cents, "title", title.Text)
		l.RentFrom = title.From
		n.converted(title)
	case body.Cents > 0 && !body.Low:
		set(body.Cents, "description", body.Text)
		l.RentFrom = body.From
		n.converted(body)
	case printed.Per == "day" || title.Per == "day" || body.Per == "day":
		n.reject("price", listing.CodePerDay, "a price per day has no monthly equivalent")
		return
	case amount != nil:
		n.reject("price", listing.CodeMissing, "the price is 0")
		return
	default:
		what := "no rent is stated"
		if kind != "" && kind != "FIXED" {
			what += ": the price is " + quoted(kind)
		} else if printed.Kind != "" {
			what += ": the price is " + printed.Kind
		}
		n.reject("price", listing.CodeMissing, "%s", what)
		return
	}
	if l.RentCents < listing.MinRentCents || l.RentCents > listing.MaxRentCents {
		n.reject("price", listing.CodeOutOfRange, "%s a month; want 0.01 to 100,000 $", listing.Dollars(l.RentCents))
	}
	n.promote()
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
		case "week":
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

func (n *normalizer) promote() {
	text, i, j := n.title.promotion()
	from, p := "title", n.title
	if text == "" {
		text, i, j = n.body.promotion()
		from, p = "description", n.body
	}
	if text != "" {
		n.l.Promotion = text
		n.note("promotion", from, p, i, j)
	}
}
