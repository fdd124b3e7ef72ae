package prose_test

// carClasses are places for cars that no word for parking names, and what counts them.
var carClasses = map[string][]classCase{
	"places for cars in other words": {
		{"2 off street parking stalls", "parking=included|available parking_spots=2 parking_type=outdoor|-"},
		{"1 secure underground stall + storage", "parking=included|available parking_spots=1 parking_type=indoor"},
		{"paved drive for 2 cars", "parking=included|available parking_spots=2 parking_type=outdoor|-"},
		{"cour arriere, cabanon, place pour 2 char", "parking=included|available parking_spots=2"},
		{"entrée pour 3 autos", "parking=included|available parking_spots=3 parking_type=outdoor|-"},
		{"Driveway parking for one.", "parking=included|available parking_spots=1 parking_type=outdoor|-"},
		{"Off-street parking for 1 (plug in)", "parking=included|available parking_spots=1 parking_type=outdoor|-"},
		{"One free parking spot per unit", "parking=included parking_spots=1"},
		{"Includes heat, water and one valet parking", "heat=yes water=yes parking=included parking_spots=1"},
		{"Street permit parking", "parking=street"},
		{"Stationnement municipal à proximité", ""},
		{"Shower stall in the bathroom", "bathrooms=1|-"},
		{"Salle à manger pour 8, place pour 6 personnes", ""},
		{"$1,500. 1 parking on driveway available for +$50", "rent=1500 " + "parking=extra parking_rent=50 parking_type=outdoor|- parking_spots=1|-"},
		{"One parking spot out back $40.", "parking=extra parking_rent=40 parking_spots=1|-"},
	},
	"no places for cars": {
		{"Pas de place pour 2 voitures", "parking=-|none"},
		{"Visitor stalls underground", ""},
	},
}
