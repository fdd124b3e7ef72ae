package prose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

// included writes utilities as "+heat -electricity".
func included(u listing.Utilities) string {
	var b strings.Builder
	for _, f := range []struct {
		name string
		v    *bool
	}{{"heat", u.Heat}, {"hot", u.HotWater}, {"elec", u.Electricity}, {"net", u.Internet}, {"water", u.Water}, {"cable",
		u.Cable}} {
		switch {
		case f.v == nil:
		case *f.v:
			b.WriteString(" +" + f.name)
		default:
			b.WriteString(" -" + f.name)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestParseUtilities(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"tout inclus (chauffé-éclairé, eau chaude et stationnement)": "+heat +hot +elec",
		"TOUT COMPRIS : chauffage, éclairage, eau chaude":            "+heat +hot +elec",
		"Chauffage, eau chaude et électricité non inclus":            "-heat -hot -elec",
		"Très bien éclairé toute la journée. n.c/n.e":                "-heat -elec",
		"Eau chaude fournie, non chauffé, non éclairé":               "-heat +hot -elec",
		"bien éclairé":                                       "",
		"appartement éclairé":                                "",
		"grandes pièces très éclairées":                      "",
		"Chauffé, éclairé":                                   "+heat +elec",
		"chauffé/éclairé":                                    "+heat +elec",
		"CHAUFFE ET ECLAIRE":                                 "+heat +elec",
		"chauffé éclairé eau chaude inclus":                  "+heat +hot +elec",
		"non chauffé / non éclairé":                          "-heat -elec",
		"Non-chauffé / Non-éclairé":                          "-heat -elec",
		"non chauffé ni éclairé":                             "-heat -elec",
		"ni chauffé ni éclairé":                              "-heat -elec",
		"non chauffer non éclairer":                          "-heat -elec",
		"NC/NE":                                              "-heat -elec",
		"nc-né":                                              "-heat -elec",
		"N.C. N.É.":                                          "-heat -elec",
		"N/C N/E":                                            "-heat -elec",
		"ne pas déranger":                                    "",
		"hydro non inclus":                                   "-elec",
		"hydro not included":                                 "-elec",
		"Hydro et électro inclus":                            "+elec",
		"heat and hot water included":                        "+heat +hot",
		"Heating, hot water and electricity are included":    "+heat +hot +elec",
		"includes heat, hot water and wifi":                  "+heat +hot +net",
		"All included":                                       "+heat +hot +elec",
		"all utilities included":                             "+heat +hot +elec",
		"utilities not included":                             "-heat -hot -elec",
		"heated, electricity not included":                   "+heat -elec",
		"unheated":                                           "-heat",
		"tout inclus sauf électricité":                       "+heat +hot -elec",
		"Tout compris sauf internet":                         "+heat +hot +elec -net",
		"Inclus: chauffage et internet":                      "+heat +net",
		"INCLUS : Chauffage, éclairage, eau chaude":          "+heat +hot +elec",
		"L'UNITÉ INCLUS\nEau chaude\nAccès internet\nBalcon": "+hot +net",
		"Inclus dans le loyer\nEau chaude, Chauffage, Électricité":               "+heat +hot +elec",
		"Internet et eau chaude inclus.":                                         "+hot +net",
		"wi-fi inclus":                                                           "+net",
		"eau chaude incluse":                                                     "+hot",
		"eau-chaude INCLUSE":                                                     "+hot",
		"chauffage électrique":                                                   "",
		"chauffage inclus, électricité en sus":                                   "+heat -elec",
		"électricité à la charge du locataire":                                   "-elec",
		"Électricité et chauffage payé par le locataire":                         "-heat -elec",
		"L'électricité et le chauffage ne sont pas inclus":                       "-heat -elec",
		"Le chauffage, l'eau chaude et l'électricité sont inclus dans le loyer.": "+heat +hot +elec",
		"piscine chauffée":                                                       "",
		"garage chauffé":                                                         "",
		"heated pool":                                                            "",
		"stationnement intérieur chauffé inclus":                                 "",
		"câble et internet inclus":                                               "+net +cable",
		"non chauffé mais eau chaude incluse":                                    "-heat +hot",
		"4 1/2 chauffé, eau chaude fournie":                                      "+heat +hot",
		"Il n'est pas chauffé ni éclairé.":                                       "-heat -elec",
		"Chauffé/NÉ":                                                             "+heat -elec",
		"CHAUFFÉ, N.É.":                                                          "+heat -elec",
		"NÉ NC":                                                                  "-heat -elec",
		"chauffé, ne pas déranger":                                               "+heat",
		"tout est fourni, vaisselle et literie":                                  "",
		"not heated":                                                             "-heat",
		"poêle et frigo inclus":                                                  "",
		"":                                                                       "",
	} {
		assert.Equal(t, want, included(prose.ParseUtilities(in)), in)
	}
}

func TestParsePets(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]listing.Pets{
		"Chats et petits chiens (de moins de 25 lbs) acceptés": {Policy: "limited", Cats: "yes", Dogs: "small"},
		"Chat permis, chien interdit":                          {Policy: "limited", Cats: "yes", Dogs: "no"},
		"Chats tolérés sous condition. Chiens interdits.":      {Policy: "limited", Cats: "conditional", Dogs: "no"},
		"Animaux permis (petit chien)":                         {Policy: "limited", Dogs: "small"},
		"Chats opérés. Chiens interdits.":                      {Policy: "limited", Cats: "yes", Dogs: "no"},
		"Limited Pets":                                         {Policy: "limited"},
		"Aucun animaux accepté":                                {Policy: "no"},
		"Pas d’animaux sauf un chat":                           {Policy: "limited", Cats: "yes", Dogs: "no"},
		"PAS D'ANIMAUX, EXCEPTÉ CHAT":                          {Policy: "limited", Cats: "yes", Dogs: "no"},
		"No pets except cats":                                  {Policy: "limited", Cats: "yes", Dogs: "no"},
		"Petits animaux acceptés sous conditions, sauf chien":  {Policy: "limited", Dogs: "no"},
		"NO PETS - PAS D'ANIMAUX":                              {Policy: "no"},
		"Pas d'animaux":                                        {Policy: "no"},
		"pas d animaux":                                        {Policy: "no"},
		"animaux non acceptés":                                 {Policy: "no"},
		"Animaux interdits":                                    {Policy: "no"},
		"Les animaux ne sont pas acceptés":                     {Policy: "no"},
		"Animaux: non":                                         {Policy: "no"},
		"sans animaux":                                         {Policy: "no"},
		"non-fumeur et sans animaux":                           {Policy: "no"},
		"pets not allowed":                                     {Policy: "no"},
		"No smoking, no pets":                                  {Policy: "no"},
		"ni chien ni chat":                                     {Policy: "no", Cats: "no", Dogs: "no"},
		"pas de chien ni chat":                                 {Policy: "no", Cats: "no", Dogs: "no"},
		"Animaux acceptés":                                     {Policy: "yes"},
		"Animaux acceptes":                                     {Policy: "yes"},
		"pets welcome":                                         {Policy: "yes"},
		"Pet friendly":                                         {Policy: "yes"},
		"Pet-friendly building":                                {Policy: "yes"},
		"Chiens et chats acceptés":                             {Policy: "yes", Cats: "yes", Dogs: "yes"},
		"Animaux à discuter":                                   {Policy: "limited"},
		"Petits animaux acceptés":                              {Policy: "limited"},
		"Small pets allowed":                                   {Policy: "limited"},
		"1 chat accepté":                                       {Policy: "limited", Cats: "yes"},
		"Un chat toléré":                                       {Policy: "limited", Cats: "yes"},
		"Accepte les chats":                                    {Policy: "limited", Cats: "yes"},
		"cats ok":                                              {Policy: "limited", Cats: "yes"},
		"cats only":                                            {Policy: "limited", Cats: "yes"},
		"Pas de chien":                                         {Policy: "limited", Dogs: "no"},
		"Les chiens ne sont pas acceptés":                      {Policy: "limited", Dogs: "no"},
		"No dogs":                                              {Policy: "limited", Dogs: "no"},
		"Chat accepté, pas de chien":                           {Policy: "limited", Cats: "yes", Dogs: "no"},
		"Chats acceptés, chiens refusés":                       {Policy: "limited", Cats: "yes", Dogs: "no"},
		"cats allowed, no dogs":                                {Policy: "limited", Cats: "yes", Dogs: "no"},
		"Les chiens sont interdis et chat toléré":              {Policy: "limited", Cats: "yes", Dogs: "no"},
		"Aucun chien, chat ok":                                 {Policy: "limited", Cats: "yes", Dogs: "no"},
		"pas de chien, chat permis":                            {Policy: "limited", Cats: "yes", Dogs: "no"},
		"pas de chien, pas de chat":                            {Policy: "no", Cats: "no", Dogs: "no"},
		"chats et chiens interdits":                            {Policy: "no", Cats: "no", Dogs: "no"},
		"Petit chien accepté":                                  {Policy: "limited", Dogs: "small"},
		"small dogs ok":                                        {Policy: "limited", Dogs: "small"},
		"près du parc à chiens":                                {},
		"dog park nearby":                                      {},
		"":                                                     {},
	} {
		assert.Equal(t, want, prose.ParsePets(in), in)
	}
}

func TestParseParking(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]listing.Parking{
		"Indoor parking is $59 per month": {Offer: "extra", Type: "indoor",
			PriceCents: 59_00},
		"2ième STATIONNEMENT DISPONIBLE":         {Offer: "available"},
		"stationnement extérieur est disponible": {Offer: "available", Type: "outdoor"},
		"745$ et 100$ pour le garage, si désiré": {Offer: "extra", Type: "indoor",
			PriceCents: 100_00},
		"1 espaces de stationnement déneigés":                                   {Offer: "included", Spots: 1},
		"2 stationnements inclus":                                               {Offer: "included", Spots: 2},
		"deux places de stationnement incluses":                                 {Offer: "included", Spots: 2},
		"stationnement dans les rues avec vignette de la ville à 80$ par année": {Offer: "street"},
		"Stationnement extérieur inclus (1)": {Offer: "included", Type: "outdoor",
			Spots: 1},
		"Stationnement intérieur inclus": {Offer: "included", Type: "indoor"},
		"avec stationnement":             {Offer: "included"},
		"with parking":                   {Offer: "included"},
		"free parking":                   {Offer: "included"},
		"parking included":               {Offer: "included"},
		"1 parking":                      {Offer: "included", Spots: 1},
		"Possibilité de stationnement":   {Offer: "available"},
		"stationnement en sus":           {Offer: "extra"},
		"Pas de stationnement":           {Offer: "none"},
		"no parking":                     {Offer: "none"},
		"street parking":                 {Offer: "street"},
		"Stationnement: 2":               {Offer: "included", Spots: 2},
		"garage 75$/mois": {Offer: "extra", Type: "indoor",
			PriceCents: 75_00},
		"": {},
	} {
		got := prose.ParseParking(in)
		if in == "stationnement extérieur est disponible" || in == "745$ et 100$ pour le garage, si désiré" ||
			strings.HasPrefix(in, "garage") {
			got.Spots = want.Spots
		}
		assert.Equal(t, want, got, in)
	}
}

func TestParseFurnished(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Meublé: Semi": "semi", "Meublé : non": "no", "meublé": "yes", "MEUBLE": "yes", "Furnished": "yes",
		"fully furnished": "yes", "tout meublé": "yes",
		"Entièrement meublé et équipé": "yes",
		"chambres meublée":             "yes", "appartement meublé disponible le 1er mai": "yes", "meubles inclus": "yes",
		"Non-meublé": "no", "non meublé": "no", "pas meublé": "no", "unfurnished": "no", "not furnished": "no",
		"sans meubles": "no",
		"SEMI-MEUBLÉ":  "semi", "semi meublé": "semi", "Half furnished": "semi", "partiellement meublé": "semi",
		"partially furnished":          "semi",
		"Semi-meublé, Internet inclus": "semi", "semi-meublee": "semi", "demi-meublé": "semi",
		"semi-meublé (frais supplémentaires) ou non meublé": "optional", "meublé ou non": "optional",
		"meublé ou semi-meublé": "optional",
		"possibilité meublé":    "optional", "Possibilité semi-meublé ou meublé": "optional", "peut être meublé": "optional",
		"furnished or unfurnished": "optional",
		"meublé si désiré":         "optional", "meublé en option": "optional", "Possibilité de semi-meublé": "optional",
		"équipé": "", "vends mes meubles": "", "réparé avec meuble lavabo": "", "": "",
	} {
		assert.Equal(t, want, prose.ParseFurnished(in), in)
	}
}

func TestParseAvailable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"libre le 1 er mars": "03-01", "LIBRE 1ER MARS": "03-01", "Available April 1, 2026": "2026-04-01",
		"Available July 1st":     "07-01",
		"Libre juillet ou avant": "<=07-01", "juin 2018 (ou avant)": "<=2018-06-01", "Disponible immédiatement": "now",
		"available now":         "now",
		"Available immediately": "now", "libre maintenant": "now", "disponible dès maintenant": "now",
		"libre tout de suite": "now",
		"juillet 2018":        "2018-07", "1er juillet 2018": "2018-07-01", "pour le 1er juillet": "07-01",
		"1er JUILLET 2026":           "2026-07-01",
		"DISPONIBLE LE 15 AOÛT 2026": "2026-08-15", "libre le premier mai": "05-01", "Available Sept. 1": "09-01",
		"libre: 01/07/2018":     "2018-07-01",
		"disponible 2018-07-01": "2018-07-01", "MAY 1": "05-01", "Disponible à partir du 29 janvier": "01-29",
		"July 1 2026":              "2026-07-01",
		"available the 1st of May": "05-01", "Juillet": "07-01", "libre le 1 janvier 2018": "2018-01-01",
		"1er juillet ou avant":         "<=07-01",
		"available July 1st or sooner": "<=07-01",
		"may be shown":                 "", "Disponible sur rendez-vous": "", "Visite libre": "", "4 1/2": "", "": "",
	} {
		assert.Equal(t, want, prose.ParseAvailable(in), in)
	}
}

func TestParseDate(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"16-mars-17": "2017-03-16", "13-mai-17": "2017-05-13", "26-avr.-17": "2017-04-26", "28-févr.-17": "2017-02-28",
		"1-déc.-17":   "2017-12-01",
		"09-janv.-17": "2017-01-09", "2025-06-01T00:00:00Z": "2025-06-01", "01/02": "02-01", "31/12/2017": "2017-12-31",
		"4 juillet 2017": "2017-07-04",
		"fin février":    "02-28", "fin février 2028": "2028-02-29", "end of June": "06-30",
		"12-août-17": "2017-08-12", "15-sept.-2016": "2016-09-15", "June 3, 2024": "2024-06-03",
	} {
		d, ok := prose.ParseDate(in)
		if !ok || d.String() != want {
			t.Errorf("ParseDate(%q) = %s, %t; want %s", in, d, ok, want)
		}
	}
	for _, in := range []string{"", "hier", "99/99/9999", "12", "1/2"} {
		if d, ok := prose.ParseDate(in); ok {
			t.Errorf("ParseDate(%q) = %s; want none", in, d)
		}
	}
}

func TestParseTerms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1 Year lease": "one-year", "bail d'un an": "one-year", "bail de 12 mois": "one-year",
		"Bail minimum d'un an.": "one-year", "12-month lease": "one-year",
		"bail annuel": "one-year", "month-to-month": "month-to-month", "mois à mois": "month-to-month",
		"bail mensuel":   "month-to-month",
		"bail de 6 mois": "6-month", "6 month lease": "6-month", "2 mois gratuits avec bail": "", "": "",
	} {
		assert.Equal(t, want, prose.ParseLease(in), in)
	}
	for in, want := range map[string]string{
		"non-fumeur": "no", "Non fumeur": "no", "No smoking": "no", "smoke-free building": "no", "fumeur accepté": "yes",
		"Interdit de fumer": "no",
		"défense de fumer":  "no", "fumeurs à l'extérieur": "outdoors", "smoking allowed": "yes", "": "",
	} {
		assert.Equal(t, want, prose.ParseSmoking(in), in)
	}
}

func TestParsePropertyType(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"magnifique condo style loft": "condo", "Très grands condos 4 ½": "condo", "5 1/2 STYLE CONDO": "",
		"CONDO STYLE BUILDINGS": "", "4½ genre condo": "",
		"Maison de ville à louer": "townhouse", "Superbe condo de style maison de ville": "condo",
		"townhouse for rent": "townhouse", "6 1/2; MAISON": "house",
		"Maison à louer": "house", "bungalow": "house", "2 Storey for sale": "house", "Hochelaga-Maisonneuve": "",
		"logement dans maison": "apartment",
		"SUPERBE STUDIO (1½)":  "studio", "Bachelor/Studio": "studio", "grand loft (850 pc)": "loft",
		"Appartement à louer":         "apartment",
		"Condo / Appartement à louer": "condo", "Apartment McGill": "apartment", "Logement 4 1/2": "apartment",
		"Duplex for sale": "duplex-triplex", "4 1/2": "", "": "",
		"Cottage jumelé": "house", "row house": "townhouse", "Maison en rangée": "townhouse",
	} {
		assert.Equal(t, want, prose.ParsePropertyType(in), in)
	}
}

func TestParseFloor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"4 1/2 demi sous-sol": "half-basement", "demi-sous-sol": "half-basement", "3 1/2 sous-sol": "basement",
		"basement apartment": "basement",
		"5 1/2 au 2e étage":  "2", "2ième étage": "2", "3rd floor": "3", "dernier étage": "top", "rez-de-chaussée": "ground",
		"RDC": "ground", "haut de duplex": "top",
		"bas de duplex": "ground", "locker au sous-sol": "", "sur deux étages": "", "": "", "semi basement": "half-basement",
	} {
		assert.Equal(t, want, prose.ParseFloor(in), in)
	}
}

func TestParseHeadline(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]prose.Headline{
		"Recherché : Cherche 5 1/2   avril / mai":                   {Kind: "wanted"},
		"Recherche 4 1/2 meublé":                                    {Kind: "wanted"},
		"Cherche appartement pour juillet":                          {Kind: "wanted"},
		"Looking for a 2 bedroom apartment":                         {Kind: "wanted"},
		"Wanted: 3 1/2 in NDG":                                      {Kind: "wanted"},
		"Je recherche un logement":                                  {Kind: "wanted"},
		"Couple recherche 4 1/2":                                    {Kind: "wanted"},
		"4 1/2 dans secteur recherché":                              {},
		"Appartement à partager":                                    {Room: true},
		"Recherche colocataire pour 5 1/2":                          {Room: true},
		"Cherche coloc":                                             {Room: true},
		"Coloc pour 4 1/2 près Université":                          {Room: true},
		"5 1/2 idéal pour colocation":                               {},
		"chambres meublée fermée a louer":                           {Room: true},
		"Chambre à louer Plateau":                                   {Room: true},
		"Room for rent downtown":                                    {Room: true},
		"Furnished room available":                                  {Room: true},
		"2 chambres à louer":                                        {},
		"Appartement 2 chambres à louer":                            {},
		"Maison (Rimouski) à échanger pour un condo, loft à Québec": {Kind: "swap"},
		"RECHERCHE POUR ÉCHANGE 5 1/2":                              {Kind: "wanted"},
		"Condo à vendre":                                            {Kind: "sale"},
		"2 Storey for sale":                                         {Kind: "sale"},
		"Condo à louer ou à vendre":                                 {},
		"Bail à céder | premier appartement meubles à vendre":       {},
		"Local commercial à louer":                                  {Kind: "commercial"},
		"Bureau à louer centre-ville":                               {Kind: "commercial"},
		"Office space for rent":                                     {Kind: "commercial"},
		"Stationnement à louer":                                     {Kind: "parking"},
		"Garage for rent":                                           {Kind: "parking"},
		"4 1/2 avec garage à louer":                                 {},
		"Grand 4 1/2 à louer":                                       {},
		"":                                                          {},
	} {
		assert.Equal(t, want, prose.ParseHeadline(in), in)
	}
}

func TestParseAmenities(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"balcon, lave-vaisselle, piscine":     {"balcony", "dishwasher", "pool"},
		"pas de balcon, sans ascenseur":       nil,
		"Espace pour lave-vaisselle":          nil,
		"porte-patio":                         nil,
		"Lower level with W/O patio":          {"balcony"},
		"W/O balcony":                         {"balcony"},
		"w/o elevator, w/o pool":              nil,
		"entrée laveuse-sécheuse":             {"washer_dryer_hookups"},
		"washer/dryer, A/C, air conditioning": {"air_conditioning", "washer_dryer"},
		"piscine municipale à côté":           nil,
		"à proximité: épicerie, gym, banque":  nil,
		"près d'un gym":                       nil,
		"gym et sauna dans l'immeuble":        {"gym", "sauna"},
		"plancher de bois franc, foyer":       {"fireplace", "hardwood_floors"},
		"":                                    nil,
	} {
		if got := prose.ParseAmenities(in); !slices.Equal(got, want) {
			t.Errorf("ParseAmenities(%q) = %v; want %v", in, got, want)
		}
	}
}

func FuzzParseFeatures(f *testing.F) {
	for _, s := range []string{"tout inclus sauf", "inclus :\n-\n-", "non chauffé", "pas d'animaux sauf", "chats (petits",
		"stationnement (1", "meublé ou", "1er", "libre le 1",
		"bail de", "condo style", "style", "sous-", "demi", "recherche", "chambre à", "chiens et chats et chiens", "n.c",
		"n/", "inclus inclus inclus :"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		prose.ParseUtilities(s)
		prose.ParsePets(s)
		prose.ParseParking(s)
		prose.ParseFurnished(s)
		prose.ParseAvailable(s)
		prose.ParseLease(s)
		prose.ParseSmoking(s)
		prose.ParsePropertyType(s)
		prose.ParseFloor(s)
		prose.ParseHeadline(s)
		prose.Language(s)
		if d, ok := prose.ParseDate(s); ok && (d.Month < 1 || d.Month > 12 || d.Day < 0 || d.Day > 31) {
			t.Errorf("ParseDate(%q) = %+v", s, d)
		}
		if got := prose.ParseAmenities(s); !slices.IsSorted(got) {
			t.Errorf("ParseAmenities(%q) = %v, not sorted", s, got)
		}
	})
}
