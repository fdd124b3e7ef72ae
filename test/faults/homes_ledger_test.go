package faults

import (
	"fmt"

	"github.com/mtlrent/conveyor/domain/contract"
)

// rent is what an advert costs in the tables: its listing, or what it was compared with while another is shown for it.
func (b books) rent(advert string) int64 {
	if m := b.lodgers[advert]; m.Hidden {
		return m.Rent
	}
	return b.live[advert].RentCents
}

// homes compares the homes with what the rules and persons have said of them, and with what was told of that.
func (l *Ledger) homes(b books) {
	var wrong, overruled, left, unsaid, untold []string
	said := map[int64]verdict{}
	merged, split := map[string]int{}, map[string]int{} // by platform ID
	for _, e := range b.outbox {
		switch e.RoutingKey {
		case contract.ListingMerged:
			merged[e.PlatformID]++
		case contract.ListingSplit:
			split[e.PlatformID]++
		}
	}
	verdicts, undone := 0, 0
	for _, p := range b.pairs {
		one, two := p.adverts[0], p.adverts[1]
		for _, v := range p.said {
			said[v.Number] = v
			if verdicts++; v.Undone {
				undone++
			}
		}
		if why := p.wrong(b.lodgers[one], b.lodgers[two]); why != "" {
			why = fmt.Sprintf("%s and %s, %s: %s", one, two, p.script, why)
			switch {
			case p.stands().Number != 0:
				overruled = append(overruled, why)
			case len(p.said) > 0:
				left = append(left, why)
			default:
				wrong = append(wrong, why)
			}
		}
		m, s := p.moves()
		if gotM, gotS := merged[one]+merged[two], split[one]+split[two]; m != gotM || s != gotS {
			untold = append(untold, fmt.Sprintf("%s and %s, %s: merged %d times, split %d times, told %d and %d", one, two,
				p.script, m, s, gotM, gotS))
		}
		for _, id := range p.adverts {
			delete(merged, id)
			delete(split, id)
		}
	}
	for _, v := range b.said {
		if said[v.Number] != v {
			unsaid = append(unsaid, fmt.Sprintf("%+v was %+v", v, said[v.Number]))
		}
		delete(said, v.Number)
	}
	for _, v := range said {
		unsaid = append(unsaid, fmt.Sprintf("%+v is not there", v))
	}
	for id := range merged {
		untold = append(untold, id+" is of a home with no other, and was merged")
	}
	for id := range split {
		untold = append(untold, id+" is of a home with no other, and was split")
	}
	l.row("pairs of adverts", len(b.pairs), "%d decisions on them by the API, %d undone", verdicts, undone)
	l.none("decisions that the API did not take", b.refused)
	l.none("decisions lost, or stored twice", unsaid)
	l.none("homes that nobody decided on, and that are otherwise", wrong)
	l.none("homes that are not as they were decided on", overruled)
	l.none("homes that are not as before a decision that was undone", left)
	l.none("merged or split, and not told once", untold)
}
