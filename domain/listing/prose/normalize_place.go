package prose

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// register reads the numbers by which platforms name a home and its building. What does not look like one is left out.
func (n *normalizer) register() {
	for _, v := range n.raw.Attributes["centris_number"] {
		digits := strings.Trim(v, "0123456789") == ""
		if digits && len(v) >= 7 && len(v) <= 9 {
			n.l.CentrisNumber = v
			n.l.Sources["centris_number"] = listing.Source{From: "attribute", Name: "centris_number", Text: v}
		}
	}
	for _, v := range n.raw.Attributes["building"] {
		if v, _ = page.Clean(v, false); v != "" && len(v) <= maxBuildingRef {
			n.l.BuildingRef = v
			n.l.Sources["building_ref"] = listing.Source{From: "attribute", Name: "building", Text: quoted(v)}
		}
	}
}

// maxBuildingRef is how long a platform's name for a building may be, in bytes.
const maxBuildingRef = 100

func (n *normalizer) place() {
	lat, lon := n.raw.Latitude, n.raw.Longitude
	switch {
	case lat == nil && lon == nil:
	case lat == nil || lon == nil:
		n.warn("latitude", listing.CodePlaceholder, "one coordinate without the other was dropped")
	case math.IsNaN(*lat) || math.IsNaN(*lon) || math.Abs(*lat) > 90 || math.Abs(*lon) > 180:
		n.warn("latitude", listing.CodeOutOfRange, "coordinates %v, %v were dropped: want latitude -90..90 and longitude -180..180",
			*lat, *lon)
	case *lat == 0 && *lon == 0:
		n.warn("latitude", listing.CodePlaceholder, "coordinates 0, 0 were dropped")
	default:
		a, b := *lat, *lon
		n.l.Latitude, n.l.Longitude = &a, &b
	}
	text, dirty := page.Clean(n.raw.Address, false)
	if dirty {
		n.warn("address", listing.CodeCleaned, "bytes that no text should hold were dropped")
	}
	if text, dirty = page.Cut(text, listing.MaxTitle); dirty {
		n.warn("address", listing.CodeTruncated, "cut to %d characters", listing.MaxTitle)
	}
	n.l.Address = ParseAddress(text)
	rest, _ := cutPostalCode(text)
	for part := range strings.SplitSeq(rest, ",") {
		if code := province(strings.TrimSpace(part)); code != "" {
			n.warn("address", listing.CodeElsewhere, "the address is in another province: %s", code)
		}
	}
	if text != "" {
		n.l.Sources["address"] = listing.Source{From: "address", Text: quoted(text)}
	}
	if len(n.l.Address.Civic) > 0 {
		if n.l.Address.Unit == "" {
			n.unit()
		}
		return
	}
	a, i, j, ok := n.title.address(true)
	from, p := "title", n.title
	if !ok {
		a, i, j, ok = n.body.address(false)
		from, p = "description", n.body
	}
	if !ok {
		n.streetAlone()
		return
	}
	if n.l.Address.PostalCode != "" && a.PostalCode != "" && a.PostalCode[:3] != n.l.Address.PostalCode[:3] {
		return
	}
	n.l.Address.Civic, n.l.Address.Street, n.l.Address.Unit = a.Civic, a.Street, a.Unit
	if n.l.Address.City == "" {
		n.l.Address.City = a.City
	}
	if len(n.l.Address.PostalCode) < len(a.PostalCode) {
		n.l.Address.PostalCode = a.PostalCode
	}
	n.note("address.civic", from, p, i, j)
}

// streetAlone takes the street that the words name without a civic number, where the platform gives none.
func (n *normalizer) streetAlone() {
	if n.l.Address.Street != "" {
		return
	}
	street, i, j := n.title.streetAlone(true)
	from, p := "title", n.title
	if street == "" {
		street, i, j = n.body.streetAlone(false)
		from, p = "description", n.body
	}
	if street == "" {
		return
	}
	n.l.Address.Street = street
	if n.l.Address.City == "" {
		n.l.Address.City = p.cityBehind(j)
	}
	n.note("address.street", from, p, i, j)
}

// unit looks for "#101" beside the civic number in the title, or for the landlord's code at its beginning.
func (n *normalizer) unit() {
	a, i, j, ok := n.title.address(true)
	if ok && a.Unit != "" && slices.Equal(a.Civic, n.l.Address.Civic) {
		n.l.Address.Unit = a.Unit
		n.note("address.unit", "title", n.title, i, j)
	} else if code, end := n.title.unitCode(); code != "" {
		n.l.Address.Unit = code
		n.note("address.unit", "title", n.title, 0, end)
	}
}

// unitCode reads the code that big landlords begin a headline with: "A31 – Grand 5.5", "TRU-15 TRES GRAND", "A - 56".
func (p *Prose) unitCode() (code string, end int) {
	if len(p.words) < 3 || p.words[0].kind != word || len(p.words[0].w) > 3 || p.words[0].topic != 0 || p.bare(0) {
		return "", 0
	}
	k := 1
	if p.sym(k) == '-' {
		k++
	}
	t := p.num(k)
	if t == nil || t.half || t.dec > 0 || t.digits > 4 || t.digits == 0 || k == 1 && t.space || p.sym(k+1) == '$' {
		return "", 0
	}
	if k == 2 && len(p.words[0].w) > 1 && t.space { // "LA - 3 chambres"
		return "", 0
	}
	return strings.ToUpper(p.words[0].w) + itoa(int(t.cents/100)), k
}

// images keeps the addresses that can be fetched, once each.
func (n *normalizer) images() {
	l := &n.l
	l.ImageURLs = nil
	seen := make(map[string]bool, len(n.raw.ImageURLs))
	notAbsolute, tooMany := 0, 0
	for _, raw := range n.raw.ImageURLs {
		raw = strings.TrimSpace(raw)
		u, err := url.Parse(contract.Escaped(raw))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(raw) > 2048 ||
			!utf8.ValidString(raw) {
			notAbsolute++
			continue
		}
		if key := listing.ImageKey(raw); seen[key] {
			continue
		} else if len(l.ImageURLs) == listing.MaxImages {
			tooMany++
			continue
		} else {
			seen[key] = true
		}
		l.ImageURLs = append(l.ImageURLs, raw)
	}
	if notAbsolute > 0 {
		n.warn("image_urls", listing.CodeInvalidURL, "%d dropped: not an absolute http or https address", notAbsolute)
	}
	if tooMany > 0 {
		n.warn("image_urls", listing.CodeTooMany, "%d dropped: a listing keeps %d", tooMany, listing.MaxImages)
	}
}
