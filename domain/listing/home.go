package listing

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/page"
)

// The cells of HomeKeys, about 111 m by 78 m at Montréal's latitude, and how far a place reaches into the next one:
// half of what SameHome allows and a little more.
const (
	homeCell   = 0.001
	reachNorth = 0.00015
	reachEast  = 0.00022
)

// maxHomeCivics is how many of an advert's civic numbers HomeKeys looks at.
const maxHomeCivics = 6

// HomeKeys returns numbers of which two listings share at least one where SameHome can take them for one home: of the
// place (one to four cells), of civic number and street, of civic number and postal code, of the postal code alone
// where no civic number is stated, all with the bedrooms, and of the Centris number. They are sorted and do not
// repeat: locks that are taken in their order do not deadlock.
func HomeKeys(l Listing) []int64 {
	var out []int64
	if located(l) {
		for _, north := range []float64{-reachNorth, reachNorth} {
			for _, east := range []float64{-reachEast, reachEast} {
				out = append(out, homeKey("cell %d %d %d", int(math.Floor((*l.Latitude+north)/homeCell)),
					int(math.Floor((*l.Longitude+east)/homeCell)), l.Bedrooms))
			}
		}
	}
	out = append(out, AddressKeys(l)...)
	slices.Sort(out)
	return slices.Compact(out)
}

func homeKey(format string, args ...any) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// AddressKeys returns those of HomeKeys that are not of the place.
func AddressKeys(l Listing) (out []int64) {
	code := fullPostalCode(l.Address.PostalCode)
	for _, civic := range l.Address.Civic[:min(len(l.Address.Civic), maxHomeCivics)] {
		civic = page.Fold(civic)
		if l.Address.Street != "" {
			out = append(out, homeKey("street %s %s %d", civic, streetKey(l.Address.Street), l.Bedrooms))
		}
		if code != "" {
			out = append(out, homeKey("postal %s %s %d", code, civic, l.Bedrooms))
		}
	}
	if len(l.Address.Civic) == 0 && code != "" {
		out = append(out, homeKey("postal %s %d", code, l.Bedrooms))
	}
	if l.CentrisNumber != "" {
		out = append(out, homeKey("centris %s", l.CentrisNumber))
	}
	return out
}

// CentrisKeys returns that of HomeKeys which is of the Centris number: adverts that share it are compared whatever
// their rents. It is empty without one.
func CentrisKeys(l Listing) []int64 {
	return AddressKeys(Listing{CentrisNumber: l.CentrisNumber})
}

// ClaimFor is how long an advert that was judged and is to be published counts as visible: by then it is, or its run
// was lost.
const ClaimFor = time.Hour

// A HomeMember is an advert as JudgeHome looks at it.
type HomeMember struct {
	Listing   Listing
	Home      uuid.UUID   // its own ID while it is alone
	Kind      MatchKind   // "" = the first of its home, or alone
	Status    string      // of the published listing: active archived claimed; "" = never published
	Published time.Time   // first; zero = never
	Revision  int64       // that was published
	Live      bool        // it is visible, or about to be
	Offered   bool        // its platform offers it, as far as is known
	Hidden    bool        // another member is shown in its place
	Pinned    bool        // a person put it into its home
	Enrolled  bool        // it has been judged before
	Shown     uuid.UUID   // of its home
	Chosen    uuid.UUID   // of its home: a person wants this one to be shown; zero = none
	Apart     []uuid.UUID // homes that a person said it is not of
	Row       uint32      // as Version.Row
}

// ID is that of the member's listing.
func (m HomeMember) ID() uuid.UUID { return m.Listing.ID() }

// A HomeJudgement is where an advert belongs, by the rules and by what persons have said.
type HomeJudgement struct {
	Home     uuid.UUID
	Shown    uuid.UUID // the member of Home that is to be shown
	Chosen   uuid.UUID // as in HomeMember
	Against  int64     // the revision of Shown; 0 = it is not published yet
	Kind     MatchKind // "" = it is the first of its home, or alone
	Hidden   bool      // another is shown in its place
	Pinned   bool
	Matched  uuid.UUID // the member that it is the same as; zero = none
	Match    Match
	RepostOf uuid.UUID   // an older advert of its platform in Home; zero = none
	Hide     []uuid.UUID // visible members that it is shown in place of
	Alone    bool        // nothing else is in Home
	Left     bool        // it leaves a home that others stay in
	ApartAs  uuid.UUID   // an advert that it reposts, and that is held apart from other homes: so is this one; zero = none
}

// JudgeHome decides which home an advert is of, among others that may be the same: those that share a key with it and
// the members of its home, the oldest first. prefer are platforms whose adverts are rather shown, the best first; fresh
// is the ID of a home for an advert that leaves one.
//
//   - What a person said stands: a member that is pinned stays, and one that is apart from a home does not join it,
//     nor does an advert of the same platform that is the same as that one: it was posted anew.
//   - An advert stays in its home while it is the same as another member, also with a rent that is only near; while it
//     is the one that is shown there, for then it is for the others to leave; and while no other member is offered.
//   - Members that are not visible do not count while another is, or chains of likeness would grow: but for a Centris
//     number, which is proof.
//   - Else it joins the home of an advert that it is the same as: of the one for which most speaks, then of the oldest.
//     Where as much speaks for two that differ in what they state, as units of a tower do, it joins neither; nor does
//     it join a home in which another advert differs from it like that. Homes are never joined by a rule: one advert
//     that resembles two would make them one.
//   - Shown is the one that a person chose, else that of the best platform, else the one that is shown already, else
//     the oldest; of those that are visible, and the advert itself. One that is about to be visible comes before all.
//     A claimed listing is never hidden.
//   - An advert of the shown one's platform is a repost: it is linked, and shown as well, unless a person said that the
//     two are the same.
func JudgeHome(self HomeMember, others []HomeMember, prefer []string, fresh uuid.UUID) HomeJudgement {
	apart, shown := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	sister := reposted(self, others)
	for _, home := range slices.Concat(self.Apart, sister.Apart) {
		apart[home] = true
	}
	for _, o := range others {
		shown[o.Home] = shown[o.Home] || o.Live
	}
	var own, other homeMatch
	var rivals []homeMatch        // of other homes
	company := false              // of others in its home that are offered
	taken := map[uuid.UUID]bool{} // homes of adverts that state that they are others
	for i := range others {
		o := &others[i]
		home, sister := o.Home == self.Home, o.Listing.Platform == self.Listing.Platform
		company = company || home && o.Offered
		if o.Offered && !o.Pinned && otherUnit(self.Listing, o.Listing) != "" {
			taken[o.Home] = true
		}
		if !o.Offered && !sister || !home && apart[o.Home] {
			continue
		}
		m := SameHome(self.Listing, o.Listing)
		if m.Near && home {
			m.Kind = kindOf(self.Listing, o.Listing)
		}
		switch {
		case m.Kind == "", !o.Live && shown[o.Home] && !m.Figures.Centris:
		case !home:
			rivals = append(rivals, homeMatch{o, m})
		case own.of == nil:
			own = homeMatch{o, m}
		}
	}
	rivals = slices.DeleteFunc(rivals, func(m homeMatch) bool { return taken[m.of.Home] && !m.Figures.Centris })
	if len(rivals) > 0 {
		other = bestMatch(rivals)
	}
	j := HomeJudgement{Home: self.Home, Pinned: self.Pinned}
	found := own
	switch {
	case self.Pinned, own.of != nil, company && self.Shown == self.ID():
	case other.of != nil:
		found, j.Home, j.Left = other, other.of.Home, company
	case company:
		j.Home, j.Left = fresh, true
	}
	if found.of != nil {
		j.Match, j.Matched = found.Match, found.of.ID()
	}
	if len(sister.Apart) > 0 && !self.Pinned && !slices.Contains(sister.Apart, j.Home) {
		j.ApartAs = sister.ID()
	}
	j.settle(self, others, prefer)
	return j
}

// A homeMatch is a member that an advert is the same as.
type homeMatch struct {
	of *HomeMember
	Match
}

// bestMatch is the first of those for which most speaks: a number or a unit, then an equal rent, words, pictures. It is
// the zero value where two for which as much speaks are of two homes and state what tells them apart, as units of one
// tower do: any choice would be a guess.
func bestMatch(found []homeMatch) homeMatch {
	best := slices.MaxFunc(found, func(a, b homeMatch) int { return slices.Compare(a.evidence(), b.evidence()) })
	equals := slices.DeleteFunc(found, func(m homeMatch) bool { return !slices.Equal(m.evidence(), best.evidence()) })
	for i, a := range equals {
		for _, b := range equals[i+1:] {
			if a.of.Home != b.of.Home && otherUnit(a.of.Listing, b.of.Listing) != "" {
				return homeMatch{}
			}
		}
	}
	return best
}

// reposted is the advert of self's platform that is held apart from homes and that self is the same as: one that is not
// offered any more, else the oldest. It is the zero value where there is none.
func reposted(self HomeMember, others []HomeMember) (found HomeMember) {
	for _, o := range others {
		if len(o.Apart) > 0 && o.Listing.Platform == self.Listing.Platform &&
			(len(found.Apart) == 0 || found.Offered && !o.Offered) && SameHome(self.Listing, o.Listing).Kind != "" {
			found = o
		}
	}
	return found
}

// settle decides which member of the home is shown, and what follows for the advert.
func (j *HomeJudgement) settle(self HomeMember, others []HomeMember, prefer []string) {
	self.Live = true
	if self.Home != j.Home {
		self.Shown = uuid.Nil
	}
	members := []HomeMember{self}
	alone := true
	for _, o := range others {
		if o.Home == j.Home {
			alone = false
			j.Chosen = o.Chosen
			if o.Live {
				members = append(members, o)
			}
		}
	}
	j.Alone = alone
	shown := ShownOf(members, j.Chosen, prefer)
	for _, o := range members[1:] {
		if o.Status != "active" && o.Status != "claimed" { // it is about to be visible, and cannot be held back any more
			shown = o
		}
	}
	j.Shown = shown.ID()
	if j.Shown != self.ID() {
		j.Against = shown.Revision
	}
	j.Hidden = Hides(shown, self)
	for _, o := range members[1:] {
		if o.Listing.Platform == self.Listing.Platform && o.older(self) && j.RepostOf == uuid.Nil {
			j.RepostOf = o.ID()
		}
		if j.Shown == self.ID() && o.Status == "active" && Hides(self, o) {
			j.Hide = append(j.Hide, o.ID())
		}
	}
	for _, o := range others { // an advert that is gone is what a repost most often repeats
		if j.RepostOf == uuid.Nil && o.Home == j.Home && !o.Live && o.Listing.Platform == self.Listing.Platform &&
			o.older(self) {
			j.RepostOf = o.ID()
		}
	}
	switch {
	case alone, j.Matched == uuid.Nil && self.Kind == "":
	case j.RepostOf != uuid.Nil && !j.Hidden:
		j.Kind = Repost
	case j.Matched != uuid.Nil || j.Hidden:
		j.Kind = kindOf(self.Listing, shown.Listing)
	default:
		j.Kind = self.Kind
	}
}

// older reports whether m was published before other, which may not be published yet.
func (m HomeMember) older(other HomeMember) bool {
	return !m.Published.IsZero() && (other.Published.IsZero() || m.Published.Before(other.Published))
}

// kindOf is how two adverts for one home are treated.
func kindOf(a, b Listing) MatchKind {
	if a.Platform == b.Platform {
		return Repost
	}
	return Duplicate
}

// Hides reports whether m is not shown because shown is, of the same home.
func Hides(shown, m HomeMember) bool {
	return shown.ID() != m.ID() && m.Status != "claimed" && (m.Pinned || shown.Listing.Platform != m.Listing.Platform)
}

// ShownOf returns the member that is shown in place of the others: the chosen one if it is among them, else a claimed
// one, else that of the best platform, the one that is shown already, the oldest. There must be one member at least.
func ShownOf(members []HomeMember, chosen uuid.UUID, prefer []string) HomeMember {
	rank := func(m HomeMember) [4]int64 {
		at := slices.Index(prefer, m.Listing.Platform)
		if at < 0 {
			at = len(prefer)
		}
		published := int64(math.MaxInt64)
		if !m.Published.IsZero() {
			published = m.Published.UnixMicro()
		}
		yes := func(is bool) int64 {
			if is {
				return 0
			}
			return 1
		}
		return [4]int64{
			2*yes(m.ID() == chosen) + yes(m.Status == "claimed"), int64(at), yes(m.Shown == m.ID() && m.Live), published,
		}
	}
	return slices.MinFunc(members, func(a, b HomeMember) int {
		ra, rb := rank(a), rank(b)
		if c := slices.Compare(ra[:], rb[:]); c != 0 {
			return c
		}
		return strings.Compare(a.ID().String(), b.ID().String())
	})
}
