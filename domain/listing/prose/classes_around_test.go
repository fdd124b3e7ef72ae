package prose_test

// aroundClasses are what adverts say of what is around a home and is none of it: other homes, shops, promotions.
var aroundClasses = map[string][]classCase{
	"lists of other homes": {
		{"A: Beau 4 ½ à 1200 $\nAussi disponible :\n- 3 ½ à 950 $\n- 5 ½ à 1500 $", "rent=1200 bedrooms=2 rooms=4.5"},
		{"A: 4 ½ rénové, 1250 $ par mois.\nÉgalement disponible : 3 ½ à 900 $", "rent=1250 bedrooms=2 rooms=4.5"},
		{"A: Grand 4 ½ à 1200 $\nAussi :\n- 2 chambres\n- 1 salle de bain", "rent=1200 bedrooms=2 rooms=4.5 bathrooms=1"},
		{"A: 4 ½ à 1200 $\nAussi disponible : stationnement à 50 $", "rent=1200 bedrooms=2 rooms=4.5 parking=extra parking_rent=50"},
		{"A: 2 bedroom apartment $1800\nAlso available:\n- 1 bedroom at $1500\n- 3 bedroom at $2200", "rent=1800 bedrooms=2"},
	},
	"promotions of a month": {
		{"T: 1 bedroom downtown, July 1 move-in special", "bedrooms=1 city=?"},
		{"July 1 move-in special: one month free!", "rent=?"},
		{"October move in special, call now", ""},
		{"Move in July 1", "available=07-01"},
		{"T: 1 bedroom, July 1 - special price", "bedrooms=1 available=07-01"},
	},
	"what is near, between semicolons": {
		{"Près de l'école; épicerie; gym", ""},
		{"Close to the metro; restaurants; gym", ""},
	},
}
