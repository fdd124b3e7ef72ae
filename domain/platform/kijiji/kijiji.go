// Package kijiji reads the adverts of kijiji.ca.
package kijiji

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

// Platform is kijiji.ca.
type Platform struct{}

// Name returns "kijiji".
func (Platform) Name() string { return "kijiji" }

// Normalize interprets one advert. Raw.Attributes holds canonicalName → canonicalValues of the site's own listing
// object, and its type (OFFER or WANTED) as "adtype"; older adverts have the labels of the page, or nothing at all,
// and then the words alone speak. An attribute that is unknown or cannot be read says nothing.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	var s prose.Stated
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
	l, err := prose.Normalize(raw, s)
	if err = wanted(raw, err); err != nil {
		return listing.Listing{}, err
	}
	return l, nil
}

// wanted adds to the reasons against an advert that the site itself says that it looks for a home: the headline,
// which the shared rules go by, need not say so.
func wanted(raw listing.Raw, err error) error {
	if !slices.Contains(raw.Attributes["adtype"], "WANTED") {
		return err
	}
	var r *listing.Rejection
	if !errors.As(err, &r) {
		r = &listing.Rejection{}
	}
	if !slices.ContainsFunc(r.Reasons, func(r listing.Reason) bool { return r.Code == listing.CodeWanted }) {
		r.Reasons = append(r.Reasons, listing.Reason{Field: "adtype", Code: listing.CodeWanted,
			Message: `the advert looks for a home: the site's type is "WANTED"`})
	}
	return r
}
