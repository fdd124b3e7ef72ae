package listing

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
)

// ContentHash identifies what an advert says: two scrapes with one hash need no new import. It is the hex SHA-256 of
// the platform, its ID, title, description, price, address, coordinates, attributes (by name, values sorted), image
// addresses in their order, contact and posting time, each preceded by its length so that no two adverts run together.
//
// Left out: scraped_at, the advert's own address (its slug is cosmetic and its query is tracking), members that the
// contract does not name, and the size that an image address asks for ("?rule=kijijica-640-webp", "$_59.JPG"), since a
// search page and a detail page show one picture in two sizes. A nil and an empty list are one. Unlike the listing it
// does not depend on the rules of domain/listing/prose, so a better rule needs a replay to reach adverts that did not
// change.
func ContentHash(raw Raw) string {
	b := make([]byte, 0, 1024+len(raw.Title)+len(raw.Description)+96*len(raw.ImageURLs)+48*len(raw.Attributes))
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	degrees := func(f *float64) {
		if f == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(*f+0)) // -0 is 0
	}
	text("listing 1") // a change of this form changes every hash: count it up
	text(raw.Platform)
	text(raw.PlatformID)
	text(raw.Title)
	text(raw.Description)
	if raw.Price.AmountCents == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = binary.AppendVarint(b, *raw.Price.AmountCents)
	}
	text(raw.Price.Type)
	text(raw.Price.Text)
	text(raw.Address)
	degrees(raw.Latitude)
	degrees(raw.Longitude)

	names := make([]string, 0, len(raw.Attributes))
	for name, values := range raw.Attributes {
		if len(values) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		text(name)
		values := raw.Attributes[name]
		if len(values) > 1 && !slices.IsSorted(values) {
			values = slices.SortedFunc(slices.Values(values), cmp.Compare[string])
		}
		b = binary.AppendUvarint(b, uint64(len(values)))
		for _, v := range values {
			text(v)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(raw.ImageURLs)))
	for _, u := range raw.ImageURLs {
		text(ImageKey(u))
	}
	text(raw.Contact.Name)
	text(raw.Contact.Phone)
	if raw.PostedAt == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = binary.AppendVarint(b, raw.PostedAt.Unix())
		b = binary.AppendVarint(b, int64(raw.PostedAt.Nanosecond()))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ImageKey is an image's address without the size it asks for. Queries of other hosts stay: they may name the picture.
func ImageKey(u string) string {
	switch {
	case strings.Contains(u, "kijiji.ca/"):
		base, query, found := strings.Cut(u, "?")
		if !found {
			return u
		}
		kept := slices.DeleteFunc(strings.Split(query, "&"), func(q string) bool {
			return q == "" || strings.HasPrefix(q, "rule=") || strings.HasPrefix(q, "size=")
		})
		if len(kept) == 0 {
			return base
		}
		return base + "?" + strings.Join(kept, "&")
	case strings.Contains(u, "ebayimg.com/"):
		if i := strings.LastIndex(u, "/$_"); i >= 0 {
			return u[:i]
		}
	}
	return u
}
