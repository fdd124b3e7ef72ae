package prose_test

// keptClasses are forms that adverts kept apart, or their readers, showed.
var keptClasses = map[string][]classCase{
	"what leaves on a day": {
		{"Le chauffage part le 1er octobre.", ""},
		{"La piscine ouvre le 1er juin, le chauffage part le 15 octobre", ""},
		{"Le locataire part le 1er mai.", "available=05-01"},
		{"On part le 1er mai", "available=05-01"},
		{"Je pars le 1er mars", "available=03-01"},
	},
	"floors as items": {
		{"Beau 4 1/2 rénové, 3e, balcon, chats ok", "rooms=4.5 floor=3 pets=limited cats=yes"},
		{"Grand 5 ½, 2e, chauffé.", "rooms=5.5 floor=2 heat=yes"},
		{"4 1/2, coin 2e, 3e avenue", "rooms=4.5"},
		{"4 1/2, aires communes au 1er, 2e, 3e", "rooms=4.5 floor=?"},
	},
	"pets at most": {
		{"1 pet max. NS.", "pets=limited smoking=no"},
		{"One pet maximum.", "pets=limited"},
		{"1 animal max.", "pets=limited"},
		{"Heat incl. NS.", "heat=yes smoking=no"},
		{"Apartment in Halifax, NS.", ""},
	},
	"bathrooms by their pieces": {
		{"3 bdrm, baths: 4pc, 2pc, 2pc ensuite", "bedrooms=3 bathrooms=2"},
		{"4pc, 2pc, 2pc ensuite", "bathrooms=2"},
		{"4 pc and 2 pc baths", "bathrooms=1.5"},
		{"Logements de 3 pièces, 4 pièces", "rooms=? units=?"},
	},
	"another home of the landlord": {
		{"2 1/2 rénové sur étage à 550$ chauffé.\nAussi disponible 2 1/2 et 3 1/2 chauffé et eau chaude fournie " +
			"au demi sous-sol à partir de 528$",
			"rooms=? units=? rent=? rent_from=? heat=yes"},
		{"Nice 2 bedroom, heat included. Also available 1 bedroom basement with hydro included.",
			"bedrooms=2|-|1 units=? heat=yes"},
		{"4 1/2 chauffé. Aussi disponible : stationnement intérieur.",
			"rooms=4.5 heat=yes parking=available parking_type=indoor"},
	},
	"parking from a sum": {
		{"Stationnement intérieur et extérieur à partir de 15 $", "parking=extra parking_type=? parking_rent=?"},
		{"Indoor parking from $20", "parking=extra parking_type=indoor parking_rent=?"},
		{"Stationnement à partir de 15 $\n\nInclus : 1 stationnement extérieur",
			"parking=included parking_spots=1 parking_type=outdoor"},
		{"Stationnement. 3 1/2 à partir de 635$", "parking=available rooms=3.5 rent=635 rent_from=?"},
	},
	"cars of the tenant": {
		{"STATIONNEMENT SI VOUS AVEZ UN AUTO", "parking=available|included"},
		{"Stationnement pour une auto", "parking=included parking_spots=1"},
	},
	"slips of the apostrophe": {
		{"Piscine, salle d,entrainement, sauna", "only=gym,pool,sauna"},
		{"Salle d,eau et salle de bain", "bathrooms=1.5"},
	},
	"places for a dishwasher": {
		{"une entrée laveuse-sécheuse et une entré pour un lave-vaisselle",
			"washer_dryer_hookups=yes only=washer_dryer_hookups"},
		{"Entrée Laveuse. Secheuse. Lave-Vaisselle.", "washer_dryer_hookups=yes only=washer_dryer_hookups"},
		{"Laveuse sécheuse. Lave-vaisselle.", "washer_dryer=yes only=dishwasher,washer_dryer"},
	},
	"sectors behind a city": {
		{"W: Adresse : 2590 Boulevard de Monaco, Québec secteur Duberger. G1P 3H1",
			"civic=2590 street=Boulevard_de_Monaco city=Québec"},
		{"W: (3491 4E Ave. App.01 Québec QC G1J3H5)", "civic=3491 street=4E_Ave.|4E_Ave unit=01 city=Québec"},
	},
	"lists of what is near": {
		{"À moins de 40 minutes à pied:\n- Cégep de Sainte-Foy\n- Université Laval, piscine Bernier, marché", "only="},
		{"Nearby:\n- YMCA gym\n- Laundromat", "only="},
		{"4 1/2 près du métro, avec :\n- piscine\n- gym", "rooms=4.5 only=gym,pool"},
		{"Commodités :\n- Piscine\n- Buanderie", "laundry_in_building=yes only=laundry_in_building,pool"},
	},
	"offers for vacant homes": {
		{"PROMOTION SUR LOGEMENT VACANT", ""},
		{"Special on vacant units only", ""},
		{"Logement vacant", "available=now"},
	},
	"galleries": {
		{"chambres (12,5X13,8 pi), galerie (5x18 pi)", "only=balcony"},
		{"Grande galerie avant", "only=balcony"},
		{"Près des Galeries de la Capitale", "only="},
	},
	"hot water as an item": {
		{"Piscine\nEau chaude\nAutobus", "hot_water=yes"},
		{"- Intercom\n- Hot water\n- Elevator", "hot_water=yes"},
		{"Non inclus :\nEau chaude\nInternet", "hot_water=no internet=no"},
		{"À la charge du locataire :\n- Eau chaude", "hot_water=no"},
	},
	"streets without their type": {
		{"W: À voir au 3275 Duval #4, beau grand 5 1/2", "civic=3275 street=Duval unit=4 rooms=5.5"},
		{"W: Au 845 Isidore-Garon, beau 4 1/2", "civic=845 street=Isidore-Garon rooms=4.5"},
		{"W: Logement situé au 606 Marquis-de-Vaudreuil; 800$", "civic=606 street=Marquis-de-Vaudreuil rent=800"},
		{"W: Libre au 15 Février", "available=02-15"},
		{"W: Accès au 800 Métrobus", ""},
	},
	"years of two figures": {
		{"T: BEAU 4 1/2 - 1 MAI 18", "rooms=4.5 available=2018-05-01"},
		{"T: 3 1/2 libre le 1er juillet 18", "rooms=3.5 available=2018-07-01"},
		{"Visite le 1er mai 18 h", ""},
	},
	"smells": {
		{"Ne sent pas la cigarette", ""},
		{"Pas de cigarette", "smoking=no"},
	},
	"amenities in the plural": {
		{"Beaucoup de rangements", "only=storage"},
		{"Entreposage, intercoms", "only=intercom,storage"},
		{"1 stationnement, remise à l'extérieur", "parking=included parking_spots=1 only=storage"},
		{"Remise à neuf en 2015", "only="},
		{"Concierges résidents", "only=concierge"},
		{"Galerie ensoleillée et entrée individuelle", "only=balcony"},
		{"Salon donnant sur la galerie et vue sur le fleuve", "only=balcony"},
		{"Près de la Galerie de la Capitale, galerie d'art", "only="},
		{"accès à une salle dentrainement", "only=gym"},
	},
	"streets that begin with de": {
		{"W: Petit studio situé au 1397 de la Ronde (coin Trinité)", "civic=1397 street=de_la_Ronde|De_la_Ronde type=studio"},
		{"W: Au 1399 de l'Oural, bel appartement", "civic=1399 street=de_l'Oural|De_l'Oural"},
		{"W: Situé au 3130 du Loiret ainsi qu'au parc", "civic=3130 street=du_Loiret"},
		{"W: situé au 840 de Lauzon, au coin du chemin", "civic=840 street=de_Lauzon|De_Lauzon"},
		{"W: 3 mois gratuits, 2276 Ch Ste-Foy", "civic=2276 street=Ch_Ste-Foy"},
		{"W: 850$/mois : 3560 Ch. Ste-Foy (#103)", "rent=850 civic=3560 street=Ch._Ste-Foy unit=103|-"},
		{"W: Loyer de 800 ch de Québec", "rent=? bedrooms=? civic=? street=?"},
		{"W: Libre au 30 de ce mois", "available=?"},
	},
	"hot water before or behind heat": {
		{"Grand balcon, entrée laveuse et sécheuse, eau chaude, chauffé.", "heat=yes hot_water=yes washer_dryer_hookups=yes"},
		{"- Chauffé+eau chaude, non-éclairé (environ 70$/mois)", "heat=yes hot_water=yes electricity=no electricity_estimate=?"},
		{"605 $ par mois eau chaude founie. Non-chauffé non-éclairé", "rent=605 hot_water=yes heat=no electricity=no"},
		{"Pas d'eau chaude, chauffé", "heat=yes hot_water=-|no"},
		{"Chauffe-eau chaude, chauffé", "heat=yes hot_water=?"},
	},
}
