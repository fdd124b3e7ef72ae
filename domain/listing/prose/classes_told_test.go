package prose_test

// toldClasses are what adverts tell of other times, of what a home is not and of what costs more, and neighbours of
// those forms.
var toldClasses = map[string][]classCase{
	"cities in small letters": {
		{"W: Beau 4 ½ au 120 rue Fabre à montréal", "rooms=4.5 civic=120 street=rue_Fabre city=Montréal"},
		{"W: 3 ½ sur la rue Fabre à Laval tout près du métro", "rooms=3.5 street=rue_Fabre city=Laval"},
		{"W: 2 bedroom at 415 Maple Avenue in ottawa", "bedrooms=2 civic=415 street=Maple_Avenue city=Ottawa"},
		{"W: 2 bedroom at 415 Maple Avenue in Windsor near the river",
			"bedrooms=2 civic=415 street=Maple_Avenue city=Windsor"},
		{"W: 2 bedroom at 415 Maple Avenue in Windsor Park", "bedrooms=2 civic=415 street=Maple_Avenue"},
		{"W: 4 ½ au 12 rue Principale à aylmer", "rooms=4.5 civic=12 street=rue_Principale city=Aylmer"},
		{"W: Logement au 12 rue Principale à 5 minutes de Laval", "civic=12 street=rue_Principale"},
	},
}
