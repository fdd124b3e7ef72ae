package prose

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/listing"
)

// units pairs room counts with the rents and areas that follow them. In a headline counts alone make units; in running
// text each needs a rent of its own, or "aussi 3 ½ disponible" would do.
func (p *Prose) units(headline bool) []listing.Unit {
	counts := p.rooms(headline)
	if len(counts) == 0 {
		return nil
	}
	if i, ok := p.studio(); ok && !(len(counts) > 0 && counts[0].value <= 2.5) { // "studio (1½)" is one home
		near := slices.ContainsFunc(counts, func(c count) bool { return c.value <= 2.5 })
		if !near && (p.moneyNear(i) || headline && len(counts) >= 1 && i < counts[0].from && p.listed(i, counts[0].from)) {
			counts = append(counts, count{value: 1.5, from: i, to: i})
			slices.SortFunc(counts, func(a, b count) int { return a.from - b.from })
		}
	}
	if len(distinctCounts(counts)) < 2 {
		return nil
	}
	var rents []amount
	for _, a := range p.amounts() {
		if a.role == forRent && a.cents >= lowRentCents && (a.per == unstated || a.per == perMonth) {
			rents = append(rents, a)
		}
	}
	first := len(rents) > 0 && rents[0].from < counts[0].from && len(rents) >= len(counts) // the price comes before
	var out []listing.Unit
	for i, c := range counts {
		u := listing.Unit{Rooms: c.value, Bedrooms: BedroomsOf(c.value)}
		end := len(p.words)
		if i+1 < len(counts) {
			end = counts[i+1].from
		}
		begin := c.to
		if first {
			begin, end = 0, c.from
			if i > 0 {
				begin = counts[i-1].to
			}
		}
		for _, a := range rents {
			if a.from >= begin && a.to <= end {
				u.RentCents = a.cents
				break
			}
		}
		if area, ok := p.area(c.to, end); ok {
			u.AreaSqFt = int(area.value)
		}
		if k := slices.IndexFunc(out, func(o listing.Unit) bool { return o.Rooms == u.Rooms }); k >= 0 {
			if out[k].RentCents == 0 {
				out[k].RentCents = u.RentCents
			}
			if out[k].AreaSqFt == 0 {
				out[k].AreaSqFt = u.AreaSqFt
			}
			continue
		}
		if len(out) < 12 {
			out = append(out, u)
		}
	}
	if !headline {
		out = slices.DeleteFunc(out, func(u listing.Unit) bool { return u.RentCents == 0 })
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// moneyNear tells whether a rent follows within a few words of i.
func (p *Prose) moneyNear(i int) bool {
	return slices.ContainsFunc(p.amounts(), func(a amount) bool {
		return a.role == forRent && a.from > i &&
			a.from <= i+7
	})
}

// listed tells whether only separators stand between the tokens.
func (p *Prose) listed(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if w := p.word(k); p.words[k].kind != symbol && w != "et" && w != "ou" && w != "and" || p.words[k].sym == '(' {
			return false
		}
	}
	return true
}
