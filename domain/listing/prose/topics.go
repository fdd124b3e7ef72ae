package prose

import "strings"

// A topic is a set of subjects that a word may be about. Readers look only at the words of their own topic, which
// keeps a long advert cheap.
type topic uint32

const (
	aMoney      topic = 1 << iota // may be a currency or announce a rent
	aCost                         // names something other than the home that costs money
	aBedroom                      // counts sleeping rooms
	aBathroom                     // counts bathrooms
	aPiece                        // counts rooms in the Quebec manner
	anArea                        // is a unit of area
	anInclusion                   // says that something is in the rent or is not
	aUtility                      // names heat, electricity, water …
	aPet                          // names animals
	aParking                      // names a place for a car
	aFurnishing                   // furnished or not
	aMonth                        // names a month
	aFreedom                      // says when the home is free
	aLease                        // is about the lease
	aType                         // names a kind of home or building
	anAmenity                     // begins the name of an amenity
	aPromotion                    // may begin a promotion
	aSmoke                        // is about smoking
	aNegation                     // no, not, pas, sans …
	aStudio                       // studio, bachelor …
	aSublet                       // sublets and lease transfers
	aNumber                       // is a number in letters
	aFloor                        // ends or is the ordinal of a floor
	inFrench                      // is a small French word
	inEnglish                     // is a small English word
)

// topics is the whole vocabulary that triggers a reader. Words are folded.
var topics = func() map[string]topic {
	m := map[string]topic{}
	for t, list := range map[topic]string{
		aMoney: "dollar dollars cad piastre piastres prix loyer loyers rent price mois moi month mo m monthly mensuel " +
			"mensuelle " +
			"semaine semaines week weekly wk jour day daily hebdomadaire par per",
		aBedroom: "chambre chambres chbre chbres chbr ch chs cac cacs cc bedroom bedrooms bedrom bedrrom beedroom bdrm " +
			"bdrms bdm bdms " +
			"bdr bdrs bed beds br brs bd bds bedrm bedrms bedder bedders chamber chambers chambe camere chanbres chmbres",
		aBathroom: "bain bains bath baths bathroom bathrooms sdb sdbs eau washroom washrooms douche toilette toilettes " +
			"bth bths ba sb b wash powder deau washrm washrms",
		aPiece:      "piece pieces pces pce pcs",
		anArea:      "pi pied pieds p pc sq sqft sqfeet sf ft feet foot m metre metres meter meters pica square sqf pca",
		anInclusion: "charges",
		aUtility: "chauffage chauf heat heated heating unheated lit eclairage electricite electricity electrique elec hydro power eau " +
			"water internet wifi wi cable cables cablo lumieres nc ne n non ecl c h chaude energie energy lighted utilities " +
			"utility utilites",
		aPet: "animal animaux animeaux animeau animals pet pets chat chats cat cats chien chiens dog dogs minou minous " +
			"chaton chatons chatte chattes puppy puppies minet minets kitty kitties kitten kittens pitou pitous toutou toutous pup " +
			"pups doggo doggos",
		aParking: "stationnement stationnements stationement stationements stat stats parking parkings parkings garage " +
			"garages driveway carport abri",
		aFurnishing: "meubl meuble meubles meublee meublees meubler furnished unfurnished semimeuble furniture meublement",
		aFreedom: "libre libres disponible disponibles dispo dispos available availability disponibilite immediatement " +
			"immediate immediately now maintenant asap vacant libere liberera " +
			"occupation emmenagement occupancy possession move ready",
		aLease: "bail lease leases baux",
		aType: "condo condos condominium condominiums coop loft lofts maison maisons house houses home cottage " +
			"bungalow chalet jumele jumelee townhouse townhouses townhome town duplex triplex quadruplex quadriplex fourplex " +
			"quintuplex sixplex plex multiplex appartement appartements apartment apartments appart apparts apt logement " +
			"logements app flat flats unit penthouse storey stories sous basement semi demi rdc rez etage etages floor " +
			"floors soussol sousol ss rc immeuble building unifamiliale detached condominum appartment appartments " +
			"appartemant apartement appt split family villa condominio",
		aPromotion: "gratuit gratuits gratuite gratuites free offert offerts",
		aSmoke:     "fumeur fumeurs fumeuse fumer fume smoking smoke smoker smokers smokefree cigarette fumee",
		aNegation:  "non pas no not aucun aucune aucuns sans ni nor without",
		aStudio:    "studio studios bachelor bachelors garconniere studette",
		aFloor:     "e eme ieme deuxieme troisieme quatrieme",
		aSublet: "sublet sublease sublets subletting cession cessation reprise transfert transfer transfere sous " +
			"location takeover ceder cede cedons transferer reprendre assignment taking take",
		inFrench: "le la les de des du un une et est dans pour avec sur au aux vous nous je situe louer tres pas plus ou " +
			"par sont " +
			"grand grande chambre chambres appartement logement disponible libre pres salle cuisine rue mois juillet inclus " +
			"chauffe eclaire beau belle",
		inEnglish: "the and of in to for with is are you we on at near available apartment bedroom bedrooms rent located " +
			"close kitchen bathroom " +
			"included street month july heated this all no your from very large new it has room please",
	} {
		for w := range strings.FieldsSeq(list) {
			m[w] |= t
		}
	}
	for w := range costs {
		m[w] |= aCost
	}
	for w := range inclusionWords {
		m[w] |= anInclusion
	}
	for w := range months {
		m[w] |= aMonth
	}
	for _, words := range [...]map[string]bool{heatedWords, litWords} {
		for w := range words {
			m[w] |= aUtility
		}
	}
	for w := range numberWords {
		m[w] |= aNumber
	}
	for _, a := range amenityNames {
		m[a.words[0]] |= anAmenity
	}
	return m
}()
