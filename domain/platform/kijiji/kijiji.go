// Package kijiji reads the adverts of kijiji.ca.
package kijiji

import (
	"maps"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// Platform is kijiji.ca.
type Platform struct{}

// Name returns "kijiji".
func (Platform) Name() string { return "kijiji" }

// Normalize interprets one advert. Raw.Attributes holds canonicalName → canonicalValues of the site's own listing
// object; older adverts have the labels of the page, or nothing at all, and then the words alone speak. An attribute
// that is unknown or cannot be read says nothing.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	var s listing.Stated
	for _, name := range slices.Sorted(maps.Keys(raw.Attributes)) { // in order, so that warnings do not depend on the map
		read, known := attributes[strings.ToLower(strings.TrimSpace(name))]
		if !known {
			continue
		}
		for _, v := range raw.Attributes[name] {
			if v = strings.TrimSpace(v); v != "" {
				read(&s, name, v)
				break // only virtual tours have several values, and they say nothing about the home
			}
		}
	}
	return listing.Normalize(raw, s)
}
