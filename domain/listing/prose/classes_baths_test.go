package prose_test

// bathClasses are bathrooms and bedrooms that are counted without their noun.
var bathClasses = map[string][]classCase{
	"counts without a noun": {
		{"T: 2 bed 1.5 condo downtown", "bedrooms=2 bathrooms=1.5 type=condo"},
		{"T: 3 bed / 2.5 townhouse", "bedrooms=3 bathrooms=2.5 type=townhouse"},
		{"T: 2 bed, 1.5 in Ottawa", "bedrooms=2 bathrooms=1.5"},
		{"T: Bright 2 br 2.5 near park", "bedrooms=2 bathrooms=2.5"},
		{"2 bed 1.5 fully furnished unit", "bedrooms=2 bathrooms=1.5 furnished=yes"},
		{"T: 2 bed 4.5", "bedrooms=2 rooms=4.5"},
		{"T: 1 bed 3.5 downtown", "bedrooms=1 rooms=3.5"},
		{"T: 3 br 5.5 Verdun", "bedrooms=3 rooms=5.5"},
		{"2 bed 1.5, $1,800", "bedrooms=2 bathrooms=1.5 rent=1800"},
		{"2 bed 1.5 km from the metro", "bedrooms=2"},
		{"2 bed 1.5 bath", "bedrooms=2 bathrooms=1.5"},
		{"* Beds: 2 * Baths: 1 * Sqft: 750", "bedrooms=2 bathrooms=1 area=750"},
		{"Chambre : 12 * 10", "bedrooms=1|-"},
		{"Two big bedrooms and a smaller one", "bedrooms=3"},
		{"2 bedrooms and a small one for an office", "bedrooms=? den=?"},
	},
}
