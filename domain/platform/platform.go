// Package platform knows the rental sites: one folder a site, bytes and values in, values out.
package platform

import (
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/centris"
	"github.com/mtlrent/conveyor/domain/platform/kangalou"
	"github.com/mtlrent/conveyor/domain/platform/kijiji"
	realtorca "github.com/mtlrent/conveyor/domain/platform/realtor_ca"
	rentalsca "github.com/mtlrent/conveyor/domain/platform/rentals_ca"
	"github.com/mtlrent/conveyor/domain/platform/zumper"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// A Platform reads one site's pages and turns its adverts into listings.
type Platform interface {
	scrape.Reader
	// Name is the site's key in routing keys, queue names, IDs and tables: lower case, [a-z0-9_-].
	Name() string
	// Normalize interprets one advert. An advert that cannot become a listing is a *listing.Rejection with every
	// reason.
	Normalize(raw listing.Raw) (listing.Listing, error)
}

// All is every platform we know. A new site is one line here and one folder beside; TestConformance runs over it.
var All = []Platform{
	kijiji.Platform{},
	kangalou.Platform{},
	centris.Platform{},
	rentalsca.Platform{},
	zumper.Platform{},
	realtorca.Platform{},
}

// ByName returns the platform of that name, and false for an unknown name.
func ByName(name string) (Platform, bool) {
	for _, p := range All {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}

// Names are the names of all platforms, in the order of All.
func Names() []string {
	names := make([]string, len(All))
	for i, p := range All {
		names[i] = p.Name()
	}
	return names
}
