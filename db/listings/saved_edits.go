package listings

// sqlSavedAsked is what of a normalized listing a filter may ask for, but for its rent, whose change is an event.
const sqlSavedAsked = `(title text, description text, address jsonb, latitude float8, longitude float8,
    bedrooms bigint, rooms float8, area_sqft bigint, available text, pets jsonb, furnished text, parking jsonb,
    lease text)`

// sqlSavedWas is what saved.Listing has of a listing l that may change.
const sqlSavedWas = `'neighbourhood', coalesce(l.neighbourhood, ''), 'rent_cents', l.rent_cents, 'bedrooms', l.bedrooms,
    'rooms', l.rooms, 'area_sqft', l.area_sqft, 'available', coalesce(listing_available(l.details)::text, ''),
    'traits', tsvector_to_array(listing_traits(l.details)), 'latitude', l.latitude, 'longitude', l.longitude,
    'title', l.title, 'description', l.description, 'address', l.address, 'claimed', l.status = 'claimed'`

// An edit is queued with the listing as it was. It comes before that is overwritten, and before sqlEventPrice: a home
// that an edit and its rent bring into a search together is new to it. $5 is the new version.
const sqlSavedEdited = `/* sqlSavedEdited */
INSERT INTO saved_queue (event, listing, at, before)
SELECT nextval('listing_events_id_seq'), l.id, $3, jsonb_build_object(` + sqlSavedWas + `)
FROM listings l, jsonb_to_record(l.details) had ` + sqlSavedAsked + `,
    jsonb_to_record($5::jsonb) has ` + sqlSavedAsked + `
WHERE l.id = $1 AND l.revision <= $2 AND (l.neighbourhood IS DISTINCT FROM $4 OR had IS DISTINCT FROM has)`

// A listing has pictures also while those that replace all of its old ones are on their way. i is one of its images.
const sqlSavedHasImage = `(i.state = 'attached' OR i.state = 'pending' AND EXISTS (
    SELECT FROM listing_images o WHERE o.listing_id = i.listing_id AND o.state = 'dropped' AND o.key IS NOT NULL
        AND o.settled_at >= i.created_at))`

// The first picture of a listing is queued without what it was: that it had none is all. It comes before
// sqlImageAttach, and after the listing is locked.
const sqlSavedPictured = `/* sqlSavedPictured */
INSERT INTO saved_queue (event, listing, at)
SELECT nextval('listing_events_id_seq'), $1, $3 FROM listing_images
WHERE listing_id = $1 AND url = $2 AND state IN ('pending', 'failed')
    AND NOT EXISTS (SELECT FROM listing_images i WHERE i.listing_id = $1 AND ` + sqlSavedHasImage + `)`

// A listing that an owner takes over, or gives back. It comes before sqlListingClaim.
const sqlSavedClaimed = `/* sqlSavedClaimed */
INSERT INTO saved_queue (event, listing, at, before)
SELECT nextval('listing_events_id_seq'), l.id, $2, jsonb_build_object(` + sqlSavedWas + `)
FROM listings l WHERE l.id = $1`
