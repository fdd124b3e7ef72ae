package listing

import (
	"encoding/json"

	"github.com/mtlrent/conveyor/domain/contract"
)

// RawOf is the advert of a message from the queue of a platform. The message's Raw stays behind: it is kept with the
// stored payload.
func RawOf(m contract.ScrapedListing) Raw {
	return Raw{
		Ref: Ref{Platform: m.Platform, PlatformID: m.PlatformID},
		URL: m.URL, ScrapedAt: m.ScrapedAt, Title: m.Title, Description: m.Description,
		Price: RawPrice(m.Price), Address: m.Address, Latitude: m.Latitude, Longitude: m.Longitude,
		Attributes: m.Attributes, ImageURLs: m.ImageURLs, Contact: RawContact(m.Contact), PostedAt: m.PostedAt,
	}
}

// Message is the message that tells of an advert, with the scraper's own JSON as its Raw; nil = none.
func (r Raw) Message(own json.RawMessage) contract.ScrapedListing {
	return contract.ScrapedListing{
		Platform: r.Platform, PlatformID: r.PlatformID,
		URL: r.URL, ScrapedAt: r.ScrapedAt, Title: r.Title, Description: r.Description,
		Price: contract.ScrapedPrice(r.Price), Address: r.Address, Latitude: r.Latitude, Longitude: r.Longitude,
		Attributes: r.Attributes, ImageURLs: r.ImageURLs, Contact: contract.ScrapedContact(r.Contact), PostedAt: r.PostedAt,
		Raw: own,
	}
}
