// Package draft reads a product page: the product's name, price, numbers, availability, and the place on the page where
// each stands.
package draft

// A Source is where on a page a value was found.
type Source string

// The sources, by how much they can be trusted in general.
const (
	JSONLD    Source = "json-ld"
	Microdata Source = "microdata"
	RDFa      Source = "rdfa"
	OpenGraph Source = "opengraph"
	Page      Source = "page"    // its text and its markup, by rules of ours
	Assumed   Source = "assumed" // nowhere: the usual meaning on pages of this kind, country or language that do not say
)

// Found is a value, where it stands, and how sure that is. Confidence is the share of right values among those with as
// much evidence, counted on pages of real shops: of 0.9, nine in ten are right. It is a guess for what was not counted:
// name, description, currency, images, breadcrumbs and variants.
type Found[T any] struct {
	Value      T       `json:"value"`
	Source     Source  `json:"source"`
	Confidence float64 `json:"confidence"` // above 0, at most 1
}

// An Availability is one of schema.org's ItemAvailability, without the address: InStock, OutOfStock, PreOrder …
type Availability string

// The availabilities that rules of ours tell apart. A page that says another one in its data is taken at its word.
const (
	InStock      Availability = "InStock"
	OutOfStock   Availability = "OutOfStock"
	PreOrder     Availability = "PreOrder"
	BackOrder    Availability = "BackOrder"
	Discontinued Availability = "Discontinued"
)

// A Draft is a product as its page describes it. A nil field is not on the page.
type Draft struct {
	Name         *Found[string]       `json:"name,omitempty"`
	Description  *Found[string]       `json:"description,omitempty"` // plain text, at most 5,000 characters
	Brand        *Found[string]       `json:"brand,omitempty"`
	Price        *Found[string]       `json:"price,omitempty"`    // decimal: 1299.00; the current price, not a former one
	PriceTo      *Found[string]       `json:"price_to,omitempty"` // the upper end of a range, the lower of which is Price
	Currency     *Found[string]       `json:"currency,omitempty"` // ISO 4217
	Availability *Found[Availability] `json:"availability,omitempty"`
	SKU          *Found[string]       `json:"sku,omitempty"`
	GTIN         *Found[string]       `json:"gtin,omitempty"` // 8, 12, 13 or 14 digits, the check digit right
	MPN          *Found[string]       `json:"mpn,omitempty"`
	Images       []Found[string]      `json:"images,omitempty"`      // absolute addresses, the main one first, at most 50
	Breadcrumbs  *Found[[]string]     `json:"breadcrumbs,omitempty"` // from the shop's root to the product's category
	Variants     []Found[Variant]     `json:"variants,omitempty"`    // at most 200

	lost    []Candidate       // see Candidates
	product bool              // see IsProduct
	grounds map[string]Ground // see Ground; by field
}

// Candidates are the values that were read for the fields and are not in the draft, a few of each field, the likelier
// ones first. Only a draft that Extract returned knows.
func (d Draft) Candidates() []Candidate { return d.lost }

// A Variant is one form that the product is sold in. An empty field is not said.
type Variant struct {
	Name         string            `json:"name,omitempty"`
	SKU          string            `json:"sku,omitempty"`
	GTIN         string            `json:"gtin,omitempty"`
	Price        string            `json:"price,omitempty"`
	Currency     string            `json:"currency,omitempty"`
	Availability Availability      `json:"availability,omitempty"`
	URL          string            `json:"url,omitempty"`
	Options      map[string]string `json:"options,omitempty"` // such as color: red
}
