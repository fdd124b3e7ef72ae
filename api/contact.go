package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/access"
)

// fields are the members of a payload that every caller may see, by lower-case name, and what may be seen of each: nil
// is texts, numbers and lists of them; fields are objects of those members, and lists of them, and with the name ""
// also texts and numbers.
type fields map[string]fields

// harmless are the members of adverts and other messages whose names say that they hold no personal data. Scrapers add
// others, such as a seller's name, that only callers with the role operate see.
var harmless = fields{
	"platform": nil, "platform_id": nil, "url": nil, "scraped_at": nil, "posted_at": nil, "title": nil, "description": nil,
	"price":   names("amount_cents type text").orText(),
	"address": nil, "latitude": nil, "longitude": nil, "image_urls": nil,
	"attributes": names(`numberbedrooms numberbathrooms unittype areainfeet forrentbyhousing agreementtype dateavailable
		petsallowed smokingpermitted furnished isfurnished numberparkingspots heat hydro water internet cabletv
		airconditioning balcony yard laundryinunit laundryinbuilding dishwasher fridgefreezer elevator gym pool concierge
		twentyfourhoursecurity bicycleparking storagelocker wheelchairaccessible barrierfreeentrancesandramps
		accessiblewashroomsinsuite numrooms forrentby rentedby adtype criteria rentfrequency rentalsvirtualoptions
		numberofbathroomstotal numberofrooms numberofbedrooms floorsize.value leaselength appartmentsize apartmentsize
		bedroomcount bathroomcount size type availability parking interior exterior heated centris_number building`),
	"raw": {
		"id": nil, "slug": nil, "from": nil, "status": nil, "end_date": nil, "sorting_date": nil, "ad_source": nil,
		"category_id": nil, "location_id": nil, "location": nil, "show_pin": nil, "original_amount_cents": nil,
		"currency": nil, "flags": nil, "views": nil, "seller_type": nil, "verified": nil, "source_provider": nil, "mls": nil,
		"neighbourhood": names("id name walk transit cycle"),
	},
	// A staged advert.
	"listing": {
		"platform": nil, "platform_id": nil, "url": nil, "scraped_at": nil, "posted_at": nil, "title": nil,
		"description": nil, "language": nil, "rent_cents": nil, "rent_from": nil, "promotion": nil, "rooms": nil,
		"bedrooms": nil, "den": nil, "bathrooms": nil, "area_sqft": nil, "property_type": nil, "building": nil, "floor": nil,
		"room_rental": nil, "sublet": nil, "furnished": nil, "smoking": nil, "amenities": nil, "lease": nil,
		"available": nil, "poster": nil, "latitude": nil, "longitude": nil, "image_urls": nil, "centris_number": nil,
		"building_ref": nil,
		"units":        names("rooms bedrooms rent_cents area_sqft"), "pets": names("policy cats dogs"),
		"parking":   names("offer type spots price_cents"),
		"utilities": names("heat hot_water electricity internet water cable electricity_estimate_cents"),
		"address":   names("text civic unit street city postal_code"), "warnings": names("field code message"),
	},
	// An image, and a crawl request.
	"listing_id": nil, "sort_order": nil, "event_id": nil, "event_name": nil, "ts": nil,
	"data": names("url out_dir"),
}

// harmlessHeaders are the headers of messages that every caller may see.
var harmlessHeaders = names(`x-error x-error-class x-origin-queue x-origin-exchange x-origin-routing-key x-attempt
	x-conveyor-version x-conveyor-death x-conveyor-dead-letter x-workflow-id x-workflow-run x-death x-delivery-count
	x-acquired-count
	x-first-death-queue x-first-death-reason x-first-death-exchange x-last-death-queue x-last-death-reason
	x-last-death-exchange traceparent`)

func names(list string) fields {
	out := fields{}
	for name := range strings.FieldsSeq(list) {
		out[name] = nil
	}
	return out
}

// orText is f, or a text or number in its place.
func (f fields) orText() fields {
	f[""] = nil
	return f
}

// personal are parts of the names of members with contact data, in the spellings of all scrapers.
var personal = []string{"contact", "phone", "mail", "courriel", "mobile"}

// Visible is what a caller with a role may see of a payload, at any depth, and how many members are left out: those
// named like contact data for every caller, and for a caller that may only read, all that are not harmless. Contact
// data inside texts stays: it is public on the platform. A payload that is not JSON becomes null, one member left out.
func Visible(payload json.RawMessage, role access.Role) (doc json.RawMessage, hidden int) {
	if payload == nil {
		return json.RawMessage("null"), 0
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber() // numbers stay as they were printed
	var v any
	if err := d.Decode(&v); err != nil {
		return json.RawMessage("null"), 1
	}
	if role.May(access.Operate) {
		v, hidden = dropPersonal(v)
	} else {
		var ok bool
		if v, hidden, ok = harmless.of(v); !ok {
			v, hidden = nil, 1
		}
	}
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was JSON
	}
	return doc, hidden
}

// visibleHeaders leaves out what a caller with a role may not see of a message's headers, and counts that.
func visibleHeaders(headers map[string]string, role access.Role) (hidden int) {
	for name := range headers {
		_, ok := harmlessHeaders[strings.ToLower(name)]
		if isPersonal(name) || !ok && !role.May(access.Operate) {
			delete(headers, name)
			hidden++
		}
	}
	return hidden
}

// of leaves out of v what f does not name, and counts the members. ok is false when all of v is left out.
func (f fields) of(v any) (kept any, hidden int, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, 0, true
	case map[string]any:
		for name, value := range v {
			inner, named := f[strings.ToLower(name)]
			kept, n, ok := inner.of(value)
			if !named || name == "" || isPersonal(name) || !ok {
				delete(v, name)
				hidden++
				continue
			}
			v[name], hidden = kept, hidden+n
		}
		return v, hidden, f != nil
	case []any:
		list := []any{}
		for _, item := range v {
			kept, n, ok := f.of(item)
			if !ok {
				hidden++
				continue
			}
			list, hidden = append(list, kept), hidden+n
		}
		return list, hidden, true
	}
	_, text := f[""]
	return v, 0, f == nil || text
}

func dropPersonal(v any) (any, int) {
	hidden := 0
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if isPersonal(name) {
				delete(v, name)
				hidden++
				continue
			}
			kept, n := dropPersonal(value)
			v[name], hidden = kept, hidden+n
		}
	case []any:
		for i := range v {
			kept, n := dropPersonal(v[i])
			v[i], hidden = kept, hidden+n
		}
	}
	return v, hidden
}

func isPersonal(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(personal, func(part string) bool { return strings.Contains(name, part) })
}
