package listing

import (
	"slices"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
)

// What a person can say of an advert and a home.
const (
	SaySame      = "same"      // the advert's home and this one are one
	SayDifferent = "different" // the advert is not of this home
	SayShow      = "show"      // the advert is to be shown in place of the others
)

// A HomePlan is what follows from a person's verdict.
type HomePlan struct {
	Members  []PlannedMember // as the members that it was made of, in their order
	Homes    []PlannedHome   // with more than one member, or with one that others may join
	Apart    []uuid.UUID     // adverts that the one in question is not of one home with
	Together bool            // none of the adverts are apart any more
	Other    uuid.UUID       // the advert that it was compared with; zero = none
	Restart  []uuid.UUID     // adverts that are to be published, and were not before
}

// A PlannedMember is where an advert is to belong.
type PlannedMember struct {
	ID      uuid.UUID
	Home    uuid.UUID
	Shown   uuid.UUID // of Home
	Kind    MatchKind
	Matched uuid.UUID
	Against int64
	Hidden  bool
	Pinned  bool
}

// A PlannedHome is a home as it is to be.
type PlannedHome struct{ ID, Shown, Chosen uuid.UUID }

// Of returns what is planned for an advert.
func (p HomePlan) Of(id uuid.UUID) PlannedMember {
	for _, m := range p.Members {
		if m.ID == id {
			return m
		}
	}
	return PlannedMember{}
}

// DecideHome plans what a person's verdict on an advert and a home changes. members are those of the home and of the
// advert's home, the oldest first; prefer is as in JudgeHome; fresh is the ID of a home for an advert that leaves the
// one which is named by it. An advert that is not among the members is fault.Gone, and a verdict that says nothing
// new or cannot be followed fault.Conflict.
func DecideHome(members []HomeMember, home uuid.UUID, say string, id uuid.UUID, prefer []string, fresh uuid.UUID) (
	HomePlan, error,
) {
	at := slices.IndexFunc(members, func(m HomeMember) bool { return m.ID() == id })
	rest := slices.IndexFunc(members, func(m HomeMember) bool { return m.Home == home && m.ID() != id })
	switch {
	case at < 0:
		return HomePlan{}, fault.Newf(fault.Gone, "listing %s is not known, or has not been through dedupe", id)
	case rest < 0:
		return HomePlan{}, fault.Newf(fault.Gone, "there is no home %s with another advert", home)
	case say != SaySame && members[at].Home != home:
		return HomePlan{}, fault.Newf(fault.Conflict, "listing %s is not of home %s", id, home)
	}
	p := HomePlan{Members: make([]PlannedMember, len(members))}
	var shown, chosen uuid.UUID // of home, as they are
	for i, m := range members {
		p.Members[i] = PlannedMember{ID: m.ID(), Home: m.Home, Kind: m.Kind, Pinned: m.Pinned}
		if m.Home == home {
			shown, chosen = m.Shown, m.Chosen
		}
	}
	p.Other = shown
	moved := &p.Members[at]
	switch say {
	case SaySame:
		p.Together = true
		for i := range p.Members {
			p.Members[i].Home = home
			if p.Members[i].ID == id || p.Members[i].ID == shown {
				p.Members[i].Pinned = true
			}
		}
		moved.Matched = shown
	case SayDifferent:
		leave := fresh
		if !slices.ContainsFunc(members, func(m HomeMember) bool { return m.Home == id && m.ID() != id }) {
			leave = id
		}
		for _, m := range members {
			if m.Home == home && m.ID() != id {
				p.Apart = append(p.Apart, m.ID())
			}
		}
		moved.Home, moved.Pinned, moved.Kind = leave, false, ""
		if chosen == id {
			chosen = uuid.Nil
		}
		if p.Other == id {
			p.Other = members[rest].ID()
		}
		p.settle(members, leave, id, uuid.Nil, prefer)
	case SayShow:
		m := members[at]
		if !m.Offered && !m.Live {
			return HomePlan{}, fault.Newf(fault.Conflict, "listing %s is not offered any more", id)
		}
		chosen = id
		if m.Status != "" {
			shown = id
		}
		if p.Other == id {
			p.Other = uuid.Nil
		}
	}
	p.settle(members, home, shown, chosen, prefer)
	return p, nil
}

// settle decides which member of a home is shown, and which are hidden.
func (p *HomePlan) settle(members []HomeMember, home, shown, chosen uuid.UUID, prefer []string) {
	var able, all []HomeMember // visible, or shown before; all of the home
	for i, m := range members {
		if p.Members[i].Home != home {
			continue
		}
		m.Home, m.Shown, m.Pinned = home, shown, p.Members[i].Pinned
		all = append(all, m)
		if m.Live || m.Offered && m.Status != "" {
			able = append(able, m)
		}
	}
	live := slices.DeleteFunc(slices.Clone(able), func(m HomeMember) bool { return !m.Live && m.ID() != chosen })
	offered := slices.DeleteFunc(slices.Clone(all), func(m HomeMember) bool { return !m.Offered })
	for _, from := range [][]HomeMember{live, able, offered, all} {
		if len(from) == 0 {
			continue
		}
		first := ShownOf(from, chosen, prefer)
		for i, m := range members {
			if p.Members[i].Home != home {
				continue
			}
			m.Pinned = p.Members[i].Pinned
			to := &p.Members[i]
			to.Shown, to.Hidden = first.ID(), Hides(first, m) && (m.Hidden || m.Live)
			if to.Hidden {
				to.Against, to.Kind = first.Revision, kindOf(first.Listing, m.Listing)
			}
			wanted := m.ID() == first.ID() || m.ID() == chosen
			if m.Status == "" && m.Offered && (m.Hidden && !to.Hidden || wanted && !m.Live) {
				to.Hidden = to.Hidden && !wanted
				p.Restart = append(p.Restart, m.ID())
			}
		}
		p.Homes = append(p.Homes, PlannedHome{home, first.ID(), chosen})
		return
	}
}
