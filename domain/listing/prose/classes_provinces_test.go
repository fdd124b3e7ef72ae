package prose_test

// provinceClasses are the other classes of what was misread among whole adverts of the provinces.
var provinceClasses = map[string][]classCase{
	"no smoking and no pets in letters": {
		{"NS/NP. Quiet single person.", "smoking=no pets=no"},
		{"Fridge and stove. NS, NP. References", "smoking=no pets=no"},
		{"Halifax, NS", ""},
		{"Sydney NS / Moncton NB", ""},
		{"No smkg.", "smoking=no"},
	},
	"pets in other words": {
		{"Animaux: aucun.", "pets=no"},
		{"Pets: none", "pets=no"},
		{"no more pets please", "pets=no"},
		{"Animaux : Non\nDate : Immédiatement", "pets=no available=now"},
		{"Animaux : non fumeur", "smoking=no"},
		{"pets restricted", "pets=limited"},
		{"Pas de gros chiens", "pets=limited dogs=small|conditional|-"},
	},
	"laundromats elsewhere": {
		{"No washer dryer hookup, laundromat next door.", ""},
		{"Laundromat accross the street.", ""},
		{"Laundromat in the building", "laundry_in_building=yes"},
		{"one bedroom suite, share laundry", "bedrooms=1 laundry_in_building=yes"},
		{"entrer laveuse secheuse", "washer_dryer_hookups=yes"},
		{"Laveuse-sécheuse : branchements", "washer_dryer_hookups=yes"},
	},
	"other short forms": {
		{"Lse term 1 year", "lease=one-year"},
		{"$1,100 POU", "rent=1100 heat=no hot_water=no electricity=no"},
		{"1 bedroom, 1 wash, 1 parking", "bedrooms=1 bathrooms=1 parking=included|available parking_spots=1"},
		{"2 cc, 1 sdb, 1 s-e", "bedrooms=2 bathrooms=1.5"},
		{"3 ch., 2 sdb, 1 s.e.", "bedrooms=3 bathrooms=2.5"},
		{"1 bedroom + flex", "bedrooms=1 den=yes"},
		{"One bed + flex/den", "bedrooms=1 den=yes"},
	},
	"homes by their bedrooms": {
		{"Bachelor from $1,795\nOne bedroom from $2,099\nTwo bedroom from $2,749", "units=0,1,2"},
		{"Studios from $1,550 | 1 bedroom from $1,795 | 2 bedroom from $2,450", "units=0,1,2"},
	},
	"parts of a house": {
		{"Open concept main floor w/ hardwood, finished basement", ""},
		{"Main floor of house", "floor=ground"},
		{"Main floor office. Chef's kitchen", "den=?"},
		{"Main floor bedroom and bath", "bathrooms=1|-"},
		{"ce rez-de-chaussée comprend 2 chambres", "floor=ground bedrooms=2"},
		{"terrain clôturé 6000 pi2", ""},
		{"$1,350+", "rent=1350 rent_from=yes"},
		{"3+2 bed house", "bedrooms=3|5 type=?"},
	},
	"homes of an open concept": {
		{"Open concept main floor apartment", "floor=ground type=?"},
		{"Bright open concept main floor suite", "floor=ground type=?"},
		{"Open concept 2nd floor unit", "floor=2 type=?"},
		{"Open plan third floor loft", "floor=3 type=loft"},
	},
	"what is flexible": {
		{"1 bedroom + flex move-in date", "bedrooms=1"},
		{"1 bedroom and flex lease", "bedrooms=1 lease=?"},
		{"1 bedroom + flex room", "bedrooms=1 den=yes"},
	},
}
