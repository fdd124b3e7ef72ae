package demosite

import (
	"fmt"
	"html"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/sim/demosite/corpus"
)

// firstID is the number of a half's first advert: above those that the real sites have given out.
var firstID = map[string]int{Kijiji: 1_900_000_001, Kangalou: 5_000_001, Centris: 20_000_001}

// publishedFrom is where the numbers of the adverts of Publish begin, above firstID.
const publishedFrom = 50_000_000

// home is the part of an advert that never changes. The texts, the price and the boxes come from the corpus; its place
// and its contact are made up.
type home struct {
	platform, id string
	slug         string
	titles       [2]string // as posted, and as edited
	texts        [2]string // the same of the description: HTML
	rent         int64     // cents, at first; 0 = none stated
	rooms        float64   // 4.5 = 4 ½
	pets         string    // "1", "0" or "" = not stated
	furnished    bool
	said         string // title and description in lower case, where the other boxes are read from

	address   string
	lat, lon  float64
	quartier  string // as people call it
	photos    int
	dated     time.Time // UTC; when it was posted, if that was before the site's start
	seller    string
	phone     string // masked, as the site prints it
	pro, top  bool   // pro: a company; top: pays to be shown first
	bathrooms int    // in tenths
	views     int
}

var (
	tags      = regexp.MustCompile(`<[^>]*>`)
	civicLine = regexp.MustCompile(`^\d`)
)

// plain is the text of a description, in one line.
func plain(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(text, " "))), " ")
}

// newHome makes advert k of a half from a text of the half's part of the corpus, which begins again at its end: text -1
// is the last. The caller holds the lock.
func (h *half) newHome(k, text int) *home {
	if h.corpus == nil {
		for i, raw := range corpus.All() {
			if (i%3 == 2) == (h.platform == Kangalou) {
				h.corpus = append(h.corpus, raw)
			}
		}
		order := rand.New(rand.NewPCG(h.seed, 1))
		order.Shuffle(len(h.corpus), func(i, j int) { h.corpus[i], h.corpus[j] = h.corpus[j], h.corpus[i] })
	}
	n := len(h.corpus)
	raw := h.corpus[(text%n+n)%n]
	r := rand.New(rand.NewPCG(h.dice(k).at(0, saltHome), 1))
	out := &home{
		platform: h.platform, id: strconv.Itoa(firstID[h.platform] + k), slug: path.Base(path.Dir(raw.URL)),
		titles: [2]string{raw.Title, raw.Title}, texts: [2]string{raw.Description, raw.Description},
		said:   strings.ToLower(raw.Title + " " + plain(raw.Description)),
		photos: 3 + r.IntN(6), pro: r.IntN(3) == 0, top: r.IntN(8) == 0, bathrooms: 10, views: r.IntN(5000),
		phone: "514555xxxx",
	}
	if r.IntN(2) == 0 {
		out.titles[1] = raw.Title + " - à voir"
	} else {
		out.texts[1] = "<p>Visites libres ce samedi.</p>" + raw.Description
	}
	if raw.Price.AmountCents != nil {
		out.rent = *raw.Price.AmountCents
	}
	out.rooms, _ = strconv.ParseFloat(value(raw, "numrooms"), 64)
	if out.rooms >= 5 && r.IntN(3) == 0 {
		out.bathrooms = 15
	}
	out.pets, out.furnished = value(raw, "petsallowed"), value(raw, "furnished") == "1"
	out.place(r, street(raw.Address))
	out.dated = time.Date(2026, 1, 26, 12, 0, 0, 0, time.UTC).Add(-time.Duration(r.IntN(400*24*60)) * time.Minute)
	if raw.PostedAt != nil {
		out.dated = raw.PostedAt.AddDate(8, 0, 0) // the weeks of the corpus, in the years of the pages that we imitate
	}
	if out.seller = "Camille (démo)"; out.pro {
		out.seller = fmt.Sprintf("Gestion Démo %d inc.", 1+r.IntN(40))
	}
	return out
}

func value(raw listing.Raw, name string) string {
	if v := raw.Attributes[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// street is the civic number and the street of an address of the corpus.
func street(address string) string {
	parts := strings.Split(address, ", ")
	for _, p := range parts {
		if civicLine.MatchString(p) {
			return p
		}
	}
	return parts[0]
}

// place puts the home somewhere on the island, on ground that belongs to a quartier.
func (o *home) place(r *rand.Rand, street string) {
	for {
		o.lat = float64(4540215+r.IntN(30165)) / 1e5
		o.lon = -float64(7347620+r.IntN(50019)) / 1e5
		if n, ok := place.At(o.lat, o.lon); ok && n.How == place.Quartier {
			o.quartier = n.Label()
			break
		}
	}
	const letters, digits = "ABCEGHJKLMNPRSTVWXYZ", "0123456789"
	o.address = fmt.Sprintf("%s, Montréal, QC, H%c%c %c%c%c", street, "1234"[r.IntN(4)], letters[r.IntN(20)],
		digits[1+r.IntN(9)], letters[r.IntN(20)], digits[1+r.IntN(9)])
}

// bedrooms is the count that the room count stands for: 4 ½ has two.
func (o *home) bedrooms() int { return max(0, int(o.rooms)-2) }

// size is the room count as people write it.
func (o *home) size() string { return strconv.Itoa(int(o.rooms)) + " ½" }

// says tells whether the advert's words hold one of some.
func (o *home) says(words ...string) bool {
	for _, w := range words {
		if strings.Contains(o.said, w) {
			return true
		}
	}
	return false
}

// path is the address of the advert's page on its half of the site.
func (o *home) path() string {
	switch o.platform {
	case Kangalou:
		return "/fr/appartement/" + o.slug + "/" + o.id + "/"
	case Centris:
		return "/fr/condo-appartement~a-louer~montreal/" + o.id
	}
	return "/v-apartments-condos/ville-de-montreal/" + o.slug + "/" + o.id
}

// photo is the address of the n-th photo, 1 being the first.
func (o *home) photo(n int) string { return fmt.Sprintf("%s/photos/%s/%d.jpg", here, o.id, n) }

func (o *home) allPhotos() []string {
	list := make([]string, o.photos)
	for i := range list {
		list[i] = o.photo(i + 1)
	}
	return list
}

// dollars writes an amount as French pages do: "1 450 $", with the cents only where there are some.
func dollars(cents int64, space string) string {
	s := strconv.FormatInt(cents/100, 10)
	if len(s) > 3 {
		s = s[:len(s)-3] + space + s[len(s)-3:]
	}
	if cents%100 != 0 {
		s += fmt.Sprintf(",%02d", cents%100)
	}
	return s + space + "$"
}
