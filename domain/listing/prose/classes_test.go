package prose_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/domain/listing/prose"
)

// A classCase is a string made for a class of sentences, with what it says in the terms of the labelled strings. Part
// is "description" unless the string begins with "T: ", for a title, "A: ", for an advert without one, "W: ", for a
// passage with its address, or "L: ", for an address. "_" in a street is a space, and "only" is all amenities.
type classCase struct{ text, want string }

// classes are ways of saying things that adverts vary without end: what is in one list here is a rule in the code.
var classes = map[string][]classCase{
	"utilities not included": {
		{"Utilities not included", "heat=no hot_water=no electricity=no"},
		{"utilities are not included in the rent", "heat=no hot_water=no electricity=no"},
		{"Utilities extra", "heat=no hot_water=no electricity=no"},
		{"Plus utilities.", "heat=no hot_water=no electricity=no"},
		{"$1,850 + utilities", "rent=1850 heat=no hot_water=no electricity=no"},
		{"$1,850/month plus utilities", "rent=1850 heat=no hot_water=no electricity=no"},
		{"Tenant pays all utilities", "heat=no hot_water=no electricity=no"},
		{"Tenants are responsible for utilities and internet", "heat=no hot_water=no electricity=no internet=no"},
		{"Tenant to pay hydro", "electricity=no"},
		{"Tenant pays 40% of utilities", "heat=no hot_water=no electricity=no"},
		{"30% of the utilities is paid by the tenant", "heat=no hot_water=no electricity=no"},
		{"Utilities: Shared 50/50 with upstairs", "heat=no hot_water=no electricity=no"},
		{"Utilities split with the main floor", "heat=no hot_water=no electricity=no"},
		{"Rent excludes utilities", "heat=no hot_water=no electricity=no"},
		{"not including utilities", "heat=no hot_water=no electricity=no"},
		{"Excludes: hydro, internet, cable", "electricity=no internet=no cable=no"},
		{"Excluded: heating, electricity", "heat=no electricity=no"},
		{"Excluding hydro and wifi", "electricity=no internet=no"},
		{"Exclusions: électricité, internet", "electricity=no internet=no"},
		{"Exclut : chauffage, électricité", "heat=no electricity=no"},
		{"Non inclus : électricité, internet", "electricity=no internet=no"},
		{"Not included: heat, hydro", "heat=no electricity=no"},
		{"Le loyer n'inclut pas l'électricité", "electricity=no"},
		{"Services non inclus", "heat=no hot_water=no electricity=no"},
		{"Charges non comprises", "heat=no hot_water=no electricity=no"},
		{"Chauffage, électricité et eau chaude aux frais du locataire", "heat=no hot_water=no electricity=no"},
		{"Heat and hydro are the tenant's responsibility", "heat=no electricity=no"},
		{"Hydro is separate", "electricity=no"},
		{"Hydro extra", "electricity=no"},
		{"+ hydro", "electricity=no"},
		{"Hydro in addition", "electricity=no"},
		{"Électricité à vos frais", "electricity=no"},
		{"Heat and water included, hydro extra", "heat=yes water=yes electricity=no"},
		{"Le chauffage est inclus mais pas l'électricité", "heat=yes electricity=no"},
		{"Heat included, but not hydro", "heat=yes electricity=no"},
		{"All utilities except hydro are included", "heat=yes hot_water=yes electricity=no"},
		{"Utilities included except internet", "heat=yes hot_water=yes electricity=yes internet=no"},
		{"L'électricité est au nom du locataire", "electricity=no"},
	},
	"utilities included": {
		{"Utilities included", "heat=yes hot_water=yes electricity=yes"},
		{"Utilities: Included", "heat=yes hot_water=yes electricity=yes"},
		{"All utilities included!", "heat=yes hot_water=yes electricity=yes"},
		{"ALL UTILITIES – hydro, heat, water, wifi", "heat=yes hot_water=yes electricity=yes water=yes internet=yes"},
		{"Rent includes utilities", "heat=yes hot_water=yes electricity=yes"},
		{"Rent includes all utilities and internet", "heat=yes hot_water=yes electricity=yes internet=yes"},
		{"Le loyer comprend tous les services", "heat=yes hot_water=yes electricity=yes"},
		{"utilities included (heat, hydro, water)", "heat=yes electricity=yes water=yes"},
		{"Inclus (eau chaude, chauffage)", "hot_water=yes heat=yes"},
		{"Services inclus : chauffage et eau chaude", "heat=yes hot_water=yes"},
		{"Services inclus: chauffage, électricité", "heat=yes electricity=yes"},
		{"À proximité de tous les services incluant le métro", ""},
		{"Inclusions : chauffage, eau chaude", "heat=yes hot_water=yes"},
		{"Included utilities: heat and water", "heat=yes water=yes"},
		{"included utilities, such as hydro and water", "electricity=yes water=yes"},
		{"Hydro, heat and hot water are all included", "electricity=yes heat=yes hot_water=yes"},
		{"Heat, hydro & internet all incl.", "heat=yes electricity=yes internet=yes"},
		{"Includes: Smart TV, water, sewer, hydro", "water=yes electricity=yes"},
		{"Internet illimité inclus", "internet=yes"},
		{"Water and internet are utilities included in the rent", "water=yes internet=yes"},
		{"The rent includes: wall-mounted air conditioner, light fixtures, hot water", "hot_water=yes air_conditioning=yes"},
		{"Included in your rent: heat, water", "heat=yes water=yes"},
		{"heated wood floors", ""},
		{"Internet haute vitesse inclus", "internet=yes"},
		{"Internet sans fil inclus", "internet=yes"},
		{"Free high-speed wifi", "internet=yes"},
		{"Wi-fi gratuit", "internet=yes"},
		{"Heating, A/C, hot water and locker are included", "heat=yes hot_water=yes air_conditioning=yes"},
		{"Appliances, heat and water are included", "heat=yes water=yes"},
		{"Furniture, appliances, heating and hot water included", "heat=yes hot_water=yes furnished=?"},
		{"Heated, Lighted, Hot water", "heat=yes electricity=yes hot_water=yes"},
		{"T: 3 1/2 tout compris", "rooms=3.5 heat=yes hot_water=yes electricity=yes"},
		{"T: 4½ chauffé éclairé wifi inclus", "rooms=4.5 heat=yes electricity=yes internet=yes"},
		{"Inclus :\n- Chauffage\n- Eau chaude\n- Internet", "heat=yes hot_water=yes internet=yes"},
		{"What's included:\n• Heat\n• Water\n• Hydro", "heat=yes water=yes electricity=yes"},
		{"Not included:\n- Hydro\n- Internet", "electricity=no internet=no"},
		{"Non inclus :\n- Électricité\n- Câble", "electricity=no cable=no"},
	},
	"no home": {
		{"T: Office space for lease downtown", "refused=not_a_home"},
		{"T: Private office for rent", "refused=not_a_home"},
		{"T: Bureau fermé à louer centre-ville", "refused=not_a_home"},
		{"T: Espace de bureau à louer", "refused=not_a_home"},
		{"T: Local commercial à louer", "refused=not_a_home"},
		{"T: Retail space for rent", "refused=not_a_home"},
		{"T: Storage locker for rent", "refused=not_a_home"},
		{"T: Locker à louer", "refused=not_a_home"},
		{"T: Underground parking spot for rent at 38 Grand Magazine", "refused=not_a_home"},
		{"T: Parking spot at Yonge and Eglinton", "refused=not_a_home"},
		{"T: Parking space near Guy metro", "refused=not_a_home"},
		{"T: Place de stationnement à louer au 1200 rue Drummond", "refused=not_a_home"},
		{"T: Stationnement intérieur à louer", "refused=not_a_home"},
		{"T: Garage à louer", "refused=not_a_home"},
		{"T: Entrepôt à louer", "refused=not_a_home"},
		{"T: Lab space for lease", "refused=not_a_home"},
		{"T: Laboratoire à louer", "refused=not_a_home"},
		{"T: Studio photo à louer à l'heure", "refused=not_a_home"},
		{"T: Music studio for rent by the hour", "refused=not_a_home"},
		{"T: Dance studio rental hourly", "refused=not_a_home"},
		{"T: Recording studio for rent", "refused=not_a_home"},
		{"T: Salon de coiffure à louer", "refused=not_a_home"},
		{"T: Chaise à louer salon de coiffure", "refused=not_a_home"},
		{"T: Salle de réception à louer", "refused=not_a_home"},
		{"T: Zero down payment! Own your home", "refused=sale"},
		{"T: 3 bedroom house for sale, 0 down", "refused=sale"},
		{"T: Maison à vendre Beauport", "refused=sale"},
		{"T: Rent to own 3 bedroom house", "refused=sale"},
		{"T: 2 bedroom apartment with office", "bedrooms=2 den=yes"},
		{"T: 2 bedroom + parking and locker", "bedrooms=2 parking=available"},
		{"T: Bachelor with parking", "type=studio parking=included"},
		{"T: 4 1/2 au-dessus d'un local commercial", "rooms=4.5"},
		{"T: Condo + garage à louer", "type=condo parking=available parking_type=indoor"},
		{"T: Apartment for rent, parking available", "parking=available"},
	},
	"wanted": {
		{"T: Looking for a 2 bedroom apartment", "refused=wanted"},
		{"T: Young couple looking for 1 bedroom", "refused=wanted"},
		{"T: Je cherche un 4 1/2", "refused=wanted"},
		{"T: Cherche appartement 3 1/2", "refused=wanted"},
		{"T: Famille cherche logement", "refused=wanted"},
		{"T: Recherche 5 1/2 à Limoilou", "refused=wanted"},
		{"T: ISO 1 bedroom near Dal", "refused=wanted"},
		{"T: In search of a basement apartment", "refused=wanted"},
		{"T: In need of a 2 bedroom", "refused=wanted"},
		{"T: Need a 1 bedroom apartment ASAP", "refused=wanted"},
		{"T: Besoin d'un logement pour juillet", "refused=wanted"},
		{"T: Couple seeking 2 bedroom", "refused=wanted"},
		{"T: WANTED: 2 bedroom", "refused=wanted"},
		{"T: Wanted to rent: house with yard", "refused=wanted"},
		{"T: Étudiante à la recherche d'un 2 1/2", "refused=wanted"},
		{"T: Looking for a place to call home? 2 bedroom available", "bedrooms=2"},
		{"T: Looking for a new home? Call us!", ""},
		{"T: Are you looking for a 2 bedroom?", "bedrooms=2"},
		{"T: Vous cherchez un 4 1/2? Libre maintenant", "rooms=4.5 available=now"},
		{"T: Looking for tenant for 2 bedroom", "bedrooms=2"},
		{"T: Cherche locataire pour 4 1/2", "rooms=4.5"},
		{"T: 1 bedroom sought after location", "bedrooms=1"},
	},
	"rooms in shared homes": {
		{"T: Room for rent near UofT", "room_rental=yes"},
		{"T: Furnished room for rent", "room_rental=yes furnished=yes"},
		{"T: Private room in shared house", "room_rental=yes"},
		{"T: Room available in a 3 bedroom apartment", "room_rental=yes"},
		{"T: 1 room in 4 bedroom house for female student", "room_rental=yes"},
		{"T: Master bedroom for rent in shared condo", "room_rental=yes"},
		{"T: Looking for a roommate", "room_rental=yes"},
		{"T: Roommate wanted", "room_rental=yes"},
		{"T: Seeking female roommate for 2 bedroom", "room_rental=yes"},
		{"T: Cherche coloc pour un 5 1/2", "room_rental=yes"},
		{"T: Recherche colocataire", "room_rental=yes"},
		{"T: Colocation 4 1/2 Limoilou", "room_rental=yes"},
		{"T: Chambre à louer dans un 5 1/2", "room_rental=yes"},
		{"T: Chambre meublée près de l'université", "room_rental=yes furnished=yes"},
		{"T: Chambre dans grand 6 1/2", "room_rental=yes"},
		{"T: Basement room for rent", "room_rental=yes floor=?"},
		{"T: Rooms for rent downtown", "room_rental=yes"},
		{"T: Shared accommodation near Sheridan", "room_rental=yes"},
		{"I have 1 private room available in a 2-bedroom condo.", "room_rental=yes"},
		{"Private room for rent, shared kitchen", "room_rental=yes"},
		{"3 large furnished rooms with shared bathroom and kitchen", "room_rental=yes furnished=yes"},
		{"Chambre à louer dans un grand 6 1/2 partagé", "room_rental=yes"},
		{"The living room is spacious. Games room for residents.", ""},
		{"T: 2 bedroom with large living room for rent", "bedrooms=2"},
		{"T: 4 1/2 avec chambre meublée", "rooms=4.5 furnished=?"},
		{"T: One bedroom, ideal for roommates", "bedrooms=1"},
	},
	"bedrooms": {
		{"3 cozy bedrooms", "bedrooms=3"},
		{"Two well-proportioned bedrooms", "bedrooms=2"},
		{"2 generously sized bedrooms", "bedrooms=2"},
		{"2 spacious and bright bedrooms", "bedrooms=2"},
		{"trois belles chambres lumineuses", "bedrooms=3"},
		{"2 spacieuses et lumineuses chambres", "bedrooms=2"},
		{"two-bedroom", "bedrooms=2"},
		{"2bdrm", "bedrooms=2"},
		{"2 bdrms", "bedrooms=2"},
		{"1BR", "bedrooms=1"},
		{"1-bdr", "bedrooms=1"},
		{"3bed", "bedrooms=3"},
		{"2B2B condo", "bedrooms=2 bathrooms=2 type=condo"},
		{"2bed2bath", "bedrooms=2 bathrooms=2"},
		{"4 bedrms", "bedrooms=4"},
		{"3 bed rooms", "bedrooms=3"},
		{"2 beds/1 bath", "bedrooms=2 bathrooms=1"},
		{"2 bedrooom unit", "bedrooms=2"},
		{"3 chambre a couché", "bedrooms=3"},
		{"3 chambres à coucher", "bedrooms=3"},
		{"T: 2 CAC, 1 SDB", "bedrooms=2 bathrooms=1"},
		{"T: 3 c.à.c.", "bedrooms=3"},
		{"Bedrooms: 3", "bedrooms=3"},
		{"Nombre de chambres : 2", "bedrooms=2"},
		{"Chambres: 2", "bedrooms=2"},
		{"# of bedrooms: 2", "bedrooms=2"},
		{"Number of bedrooms - 2", "bedrooms=2"},
		{"T: Jr 1 bedroom", "bedrooms=1"},
		{"T: Junior one bedroom", "bedrooms=1"},
		{"2+1 bedroom", "bedrooms=2 den=yes"},
		{"2+0 bedrooms", "bedrooms=2"},
		{"3+1 spacious bedrooms", "bedrooms=3 den=yes"},
		{"appartement d'une chambre à louer", "bedrooms=1"},
		{"T: 1+1 condo for rent", "bedrooms=1 den=yes type=condo"},
		{"T: 2+1 basement apartment", "bedrooms=2 den=yes floor=basement"},
		{"1 bedroom plus den", "bedrooms=1 den=yes"},
		{"2 bedrooms and a den", "bedrooms=2 den=yes"},
		{"2-bed 1-den", "bedrooms=2 den=yes"},
		{"1 bed + solarium", "bedrooms=1 den=yes"},
		{"1 bdrm & den", "bedrooms=1 den=yes"},
		{"2BR + Den + 2BA", "bedrooms=2 den=yes bathrooms=2"},
		{"2 bedroom + office", "bedrooms=2 den=yes"},
		{"2 chambres et bureau", "bedrooms=2 den=yes"},
		{"2 chambres + bureau", "bedrooms=2 den=yes"},
		{"1 chambre fermée et un boudoir", "bedrooms=1 den=yes"},
		{"2 chambres au premier et 1 au sous-sol", "bedrooms=3 floor=?"},
		{"2 bedrooms upstairs and 1 in the basement", "bedrooms=3"},
		{"Une grande chambre et une petite chambre", "bedrooms=2"},
		{"One large bedroom and one small bedroom", "bedrooms=2"},
		{"a king bed in the bedroom", ""},
		{"Chambre principale 12 x 14", ""},
		{"Second bedroom has a closet", ""},
		{"no bedroom windows", ""},
		{"2 beds and a sofa", "bedrooms=?"},
	},
	"several homes": {
		{"T: 1 & 2 bedrooms available", "units=1,2"},
		{"T: 1BR and 2BR apartments", "units=1,2"},
		{"T: 1, 2 and 3 bedroom apartments", "units=1,2,3"},
		{"T: Studio, 1 and 2 bedroom suites", "units=0,1,2"},
		{"T: Bachelor, one and two bedroom units", "units=0,1,2"},
		{"T: 1 bedroom and 2 bedroom apartments for rent", "units=1,2"},
		{"T: One & Two Bedroom Suites", "units=1,2"},
		{"T: 1-2 bedroom apartments", "units=1,2"},
		{"Units have 0 to 3 bedrooms.", ""},
		{"T: 2½, 3½ et 4½ à louer", "units=2.5,3.5,4.5"},
		{"T: 3 1/2 ou 4 1/2", "units=3.5,4.5"},
		{"T: Logements de 1 et 2 chambres", "units=1,2"},
		{"The buildings offer bachelor, 1 bedroom and 2 bedroom apartments", "units=0,1,2"},
		{"offers 1 bedroom, 2 bedroom and 3+ bedroom apartments for rent", "units=1,2,3"},
		{"We have studios, one-bedroom and two-bedroom apartments", "units=0,1,2"},
		{"Appartements de 3½, 4½ et 5½ disponibles", "units=3.5,4.5,5.5"},
		{"Nous avez plusieurs 2 1/2, 31/2, 41/2", "units=2.5,3.5,4.5"},
		{"Studios, 1, 2 et 3 chambres", "units=0,1,2,3"},
		{"1 bedroom $1500, 2 bedroom $1900", "units=1,2"},
		{"2 bedrooms, 1 bathroom", "bedrooms=2 bathrooms=1"},
		{"2 bedrooms and 1 den", "bedrooms=2 den=yes"},
		{"Other units are available in the building (1, 2, 3 bedrooms).", ""},
	},
	"counts of Quebec": {
		{"T: 4 pièces ½", "rooms=4.5"},
		{"T: 3 pièces 1/2 à louer", "rooms=3.5"},
		{"T: 5 ½ converti en 4 ½", "rooms=4.5"},
		{"T: 4 1/2 transformé en 3 1/2", "rooms=3.5"},
		{"T: Grand 3 1/2 grand comme un 4 1/2", "rooms=3.5"},
		{"2.5 bedrooms", "bedrooms=2 den=yes"},
		{"1.5 bedroom", "bedrooms=1 den=yes"},
		{"T: 2 1/2 bedroom house", "bedrooms=2 den=yes type=house"},
		{"Constitué de 6 pièces, 3 chambres", "bedrooms=3"},
		{"7 pièces 3 chambres 2 salles de bain", "bedrooms=3 bathrooms=2"},
		{"5 rooms, 2 bedrooms", "bedrooms=2"},
		{"T: 1.5 months free", ""},
		{"T: Studio | 1.5 MRF", "type=studio"},
		{"Petit 4.5 disponible", "rooms=4.5"},
		{"Joli 3,5 à Limoilou", "rooms=3.5"},
		{"Libre: 4.5 au 2e étage", "rooms=4.5 floor=2"},
		{"T: Quatre et demi", "rooms=4.5"},
		{"T: 4 1/2 pcs", "rooms=4.5"},
		{"Ceiling of 9.5 feet", ""},
		{"à 2.5 km du métro", ""},
	},
	"bathrooms": {
		{"1 salle de bain", "bathrooms=1"},
		{"2 full bathrooms", "bathrooms=2"},
		{"1.5 baths", "bathrooms=1.5"},
		{"1½ bath", "bathrooms=1.5"},
		{"2 bathrooms and a powder room", "bathrooms=2.5"},
		{"1 bathroom, 1 powder room", "bathrooms=1.5"},
		{"1 full bath and 1 half bath", "bathrooms=1.5"},
		{"2 full + 1 half bathrooms", "bathrooms=2.5"},
		{"1 salle de bain et 1 salle d'eau", "bathrooms=1.5"},
		{"2 salles de bain et une salle d'eau", "bathrooms=2.5"},
		{"2 sdb", "bathrooms=2"},
		{"two (2) bathrooms and one (1) powder room", "bathrooms=2.5"},
		{"3+1 bathrooms", "bathrooms=3.5"},
		{"la salle de bain et une salle d'eau", "bathrooms=1.5"},
		{"Salle de bain et salle d'eau rénovées", "bathrooms=1.5"},
		{"2 ba", "bathrooms=2"},
		{"two modern bathrooms", "bathrooms=2"},
		{"deux belles salles de bain", "bathrooms=2"},
		{"2 washrooms", "bathrooms=2"},
		{"Bathrooms: 2", "bathrooms=2"},
		{"Bathroom(s): 1", "bathrooms=1"},
		{"Salles de bain : 1,5", "bathrooms=1.5"},
		{"a beautiful 4-piece bathroom", "bathrooms=1"},
		{"une salle de bain de 4 pièces", "bathrooms=1"},
		{"Salle de bain 3 pièces", "bathrooms=1|-"},
		{"3-piece bathroom", "bathrooms=1|-"},
		{"La salle de bain a été rénovée", ""},
		{"Salle de bain sera refaite à neuf", ""},
		{"Renovated kitchen and bathrooms.", ""},
		{"Céramique dans la cuisine et la salle de bain", ""},
		{"master bedroom with ensuite bathroom", ""},
		{"Ceramic floors in kitchen and bathroom", ""},
		{"ventilateur dans salle de bain", ""},
		{"private bathroom", "bathrooms=1"},
		{"salle de bain complète", "bathrooms=1"},
		{"one and a half bathrooms", "bathrooms=1.5"},
	},
	"label and value": {
		{"Pets Allowed: No", "pets=no"},
		{"Pet Friendly: No", "pets=no"},
		{"Pet friendly: Yes", "pets=yes"},
		{"Pets: Yes", "pets=yes"},
		{"Animaux : non", "pets=no"},
		{"Animaux acceptés : Non", "pets=no"},
		{"Animaux permis : oui", "pets=yes"},
		{"Pet policy: no pets", "pets=no"},
		{"Cats: yes, dogs: no", "pets=limited cats=yes dogs=no"},
		{"Furnished: No", "furnished=no"},
		{"Furnished: Unfurnished", "furnished=no"},
		{"Furnished - Yes", "furnished=yes"},
		{"Furniture: Not included", "furnished=no"},
		{"Meublé : non", "furnished=no"},
		{"Meublé : oui", "furnished=yes"},
		{"Smoking: No", "smoking=no"},
		{"Smoking allowed: no", "smoking=no"},
		{"Fumeur : non", "smoking=no"},
		{"Parking: Yes", "parking=available"},
		{"Parking: No", "parking=none"},
		{"Parking: 1", "parking=included parking_spots=1"},
		{"Parking included: No", "parking=available|extra"},
		{"Stationnement : non", "parking=none"},
		{"Stationnement : 2 extérieurs", "parking=included parking_spots=2 parking_type=outdoor"},
		{"Air Conditioning: Yes", "air_conditioning=yes"},
		{"Air Conditioning: No", ""},
		{"Heat included: No", "heat=no"},
		{"Hydro: not included", "electricity=no"},
		{"Internet: included", "internet=yes"},
		{"Chauffage : inclus", "heat=yes"},
		{"Électricité : non incluse", "electricity=no"},
		{"Water: Yes", "water=yes|-"},
		{"Size: 850 sq ft", "area=850"},
		{"Sq Ft.: 718", "area=718"},
		{"Square footage: 950", "area=950"},
		{"Superficie : 85 m²", "area=915"},
		{"Available: Now", "available=now"},
		{"Availability: July 1, 2026", "available=2026-07-01"},
		{"Occupancy: June 1 2026", "available=2026-06-01"},
		{"Move-in date: August 1st", "available=08-01"},
		{"Lease: 1 year", "lease=one-year"},
		{"Lease term: 12 months", "lease=one-year"},
		{"Rent: $2,100", "rent=2100"},
		{"Prix : 1 250 $", "rent=1250"},
	},
	"inverted sense": {
		{"Off-street parking", "parking=available parking_type=?"},
		{"off street parking included", "parking=included parking_type=?"},
		{"On-street parking", "parking=street"},
		{"Stationnement hors rue", "parking=available parking_type=?"},
		{"0 parking included", "parking=none"},
		{"Aucun stationnement inclus", "parking=none"},
		{"No parking included", "parking=none"},
		{"Parking not included", "parking=available|extra"},
		{"Excluded: parking", "parking=available|extra|none"},
		{"washer and dryer hookups", "washer_dryer_hookups=yes"},
		{"washer/dryer hook-up", "washer_dryer_hookups=yes"},
		{"Hookups for washer and dryer", "washer_dryer_hookups=yes"},
		{"Entrée laveuse-sécheuse", "washer_dryer_hookups=yes"},
		{"Entrées pour laveuse et sécheuse", "washer_dryer_hookups=yes"},
		{"Emplacement pour laveuse/sécheuse", "washer_dryer_hookups=yes"},
		{"Espace pour laveuse et sécheuse", "washer_dryer_hookups=yes"},
		{"No washer or dryer", ""},
		{"Laveuse sécheuse non incluses", ""},
		{"Semi-meublé", "furnished=semi"},
		{"semi furnished", "furnished=semi"},
		{"Partly furnished", "furnished=semi"},
		{"partiellement meublé", "furnished=semi"},
		{"not furnished", "furnished=no"},
		{"sans meuble", "furnished=no"},
		{"Unit is un-furnished", "furnished=no"},
		{"peut être meublé", "furnished=optional"},
		{"available furnished or unfurnished", "furnished=optional"},
	},
	"amounts": {
		{"$850..00", "rent=850"},
		{"850..00 $", "rent=850"},
		{"Rent 1450 per month", "rent=1450"},
		{"1450/mois", "rent=1450"},
		{"Loyer : 895", "rent=895"},
		{"asking 1600 a month", "rent=1600"},
		{"Rent is 1500 plus hydro", "rent=1500 electricity=no"},
		{"865.00 tout inclus", "rent=865 heat=yes hot_water=yes electricity=yes"},
		{"FOR RENT 800 rue Villeray", ""},
		{"Garage à louer 225$/mois", "parking=extra parking_type=indoor parking_rent=225"},
		{"Près de l'autoroute 440", ""},
		{"highway 401 and 404", ""},
		{"1350 boulevard Laurier", ""},
		{"hash 640cad9f", ""},
		{"Loyer de 752 pieds carrés", "area=752"},
		{"RENT 1200 sq ft condo", "area=1200 type=condo"},
		{"Assurance responsabilité de 2 000 000 $", ""},
		{"second parking spot at $120/month", "parking=?"},
		{"Appliances $100 per month", ""},
		{"Électros 40$/mois", ""},
		{"Deposit of $500", ""},
		{"$200 move-in fee", ""},
		{"rent a parking nearby for $140 per month", "parking=extra parking_rent=140"},
	},
	"parking": {
		{"One parking space included", "parking=included parking_spots=1"},
		{"Two outdoor parking spaces included", "parking=included parking_spots=2 parking_type=outdoor"},
		{"1 indoor parking spot", "parking=included parking_spots=1 parking_type=indoor"},
		{"un espace de stationnement intérieur", "parking=included parking_spots=1 parking_type=indoor"},
		{"Interior parking", "parking=available parking_type=indoor"},
		{"Underground parking available", "parking=available parking_type=indoor"},
		{"One parking space is available at a cost", "parking=extra parking_spots=?"},
		{"Parking available for an additional fee", "parking=extra"},
		{"Parking available for rent", "parking=extra|available"},
		{"Stationnement disponible ($)", "parking=extra|available"},
		{"stationnement en option", "parking=available|extra"},
		{"Stationnement intérieur disponible à 60 $ par mois", "parking=extra parking_type=indoor parking_rent=60"},
		{"comes with 1 parking and 1 locker", "parking=included parking_spots=1"},
		{"Inclusions : réfrigérateur, stationnement", "parking=included"},
		{"Appliances, parking and storage included", "parking=included"},
		{"garage and locker are included", "parking=included parking_type=indoor"},
		{"Parking monthly rate: 200$", "parking=extra parking_rent=200"},
		{"Possibilité de garage (+200$/mois)", "parking=extra parking_type=indoor parking_rent=200"},
		{"stationnement couvert pour 40$ /mois", "parking=extra parking_rent=40"},
		{"1 espace de garage peut être loué séparément pour 200$/mois",
			"parking=extra parking_type=indoor parking_rent=200 parking_spots=?"},
		{"Une place de stationnement peut être négociée", "parking=available"},
		{"Visitor parking", ""},
		{"visitors' indoor parking", ""},
		{"Parking fee included in rent? No", "parking=available|extra|none"},
		{"stationnement pour visiteurs", ""},
		{"Dépôt pour télécommande de garage", ""},
		{"Parking garage remote deposit $60", ""},
	},
}

// TestClasses: what is claimed of each string is what it says, nothing less and nothing else.
func TestClasses(t *testing.T) {
	t.Parallel()
	all := maps.Clone(classes)
	maps.Copy(all, moreClasses)
	maps.Copy(all, laterClasses)
	maps.Copy(all, freshClasses)
	maps.Copy(all, advertClasses)
	maps.Copy(all, halfClasses)
	maps.Copy(all, landlordClasses)
	maps.Copy(all, ordinaryClasses)
	maps.Copy(all, contraryClasses)
	maps.Copy(all, wholeClasses)
	maps.Copy(all, elsewhereClasses)
	maps.Copy(all, unseenClasses)
	maps.Copy(all, questionClasses)
	maps.Copy(all, strangerClasses)
	maps.Copy(all, neighbourClasses)
	maps.Copy(all, sumClasses)
	maps.Copy(all, shareClasses)
	maps.Copy(all, carClasses)
	maps.Copy(all, energyClasses)
	maps.Copy(all, dateClasses)
	maps.Copy(all, placeClasses)
	maps.Copy(all, bathClasses)
	maps.Copy(all, provinceClasses)
	maps.Copy(all, homeClasses)
	maps.Copy(all, everydayClasses)
	maps.Copy(all, keptClasses)
	maps.Copy(all, aroundClasses)
	maps.Copy(all, listedClasses)
	maps.Copy(all, includedClasses)
	maps.Copy(all, offeredClasses)
	maps.Copy(all, figureClasses)
	maps.Copy(all, readClasses)
	maps.Copy(all, toldClasses)
	all["plain forms"] = plainForms
	for class, cases := range all {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			for _, tt := range cases {
				s := advertString{Part: "description", Want: map[string]string{}}
				text, title := strings.CutPrefix(tt.text, "T: ")
				if s.Text = text; title {
					s.Part = "title"
				}
				if text, whole := strings.CutPrefix(tt.text, "A: "); whole {
					s.Part, s.Text = "advert", text
				}
				if text, passage := strings.CutPrefix(tt.text, "W: "); passage {
					s.Part, s.Text = "where", text
				}
				if text, address := strings.CutPrefix(tt.text, "L: "); address {
					s.Part, s.Text = "address", text
				}
				for pair := range strings.FieldsSeq(tt.want) {
					key, value, _ := strings.Cut(pair, "=")
					if key == "street" || key == "civic" {
						value = strings.ReplaceAll(value, "_", " ")
					}
					if got := strings.Join(prose.ParseAmenities(s.Text), ","); key == "only" && got != value {
						t.Errorf("%q has %q, want %q", tt.text, got, value)
					}
					s.Want[key] = value
				}
				delete(s.Want, "only")
				if wrong, _ := judge(s); len(wrong) > 0 {
					t.Errorf("%q: %s", tt.text, strings.Join(wrong, "; "))
				}
			}
		})
	}
}
