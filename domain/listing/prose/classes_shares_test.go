package prose_test

// shareClasses are shares, sums and lists of what the rent leaves to the tenant.
var shareClasses = map[string][]classCase{
	"utilities at a share or a price": {
		{"Rent: $1,750 + 30% utilities", "rent=1750 heat=no hot_water=no electricity=no"},
		{"$2,000 plus 1/3 utilities", "rent=2000 heat=no hot_water=no electricity=no"},
		{"$1,900 plus 40% of all utilities", "rent=1900 heat=no hot_water=no electricity=no"},
		{"Utilities are $85/month flat on top of rent", "heat=no hot_water=no electricity=no electricity_estimate=85"},
		{"$1,100, tenants pay own utilities", "rent=1100 heat=no hot_water=no electricity=no"},
		{"The company saved 30% on utilities", ""},
		{"$2,650 + utilities (Hydro, gas, water)", "rent=2650 heat=no hot_water=no electricity=no water=no"},
		{"Parking - underground, included\nUtilities - heat, water included",
			"parking=included parking_type=indoor heat=yes water=yes"},
		{"+ 30% rabais", ""},
	},
	"lights and companies of energy": {
		{"1 650$ + lumières, laveuse", "rent=1650 electricity=no washer_dryer=?"},
		{"Heat (oil) and hot water included, lights extra", "heat=yes hot_water=yes electricity=no"},
		{"Heat and hot water included, you pay lights", "heat=yes hot_water=yes electricity=no"},
		{"1 650 $ par mois + lumières", "rent=1650 electricity=no"},
		{"Pot lights and extra windows", ""},
		{"Tenants pay BC Hydro, Fortis & internet.", "electricity=no internet=no"},
		{"Tenant pays NB Power", "electricity=no"},
		{"BC Hydro building nearby", ""},
		{"Hydro, internet, tenant insurance by tenant.", "electricity=no internet=no"},
		{"Utilities - heat, water, AC included. Hydro extra.", "heat=yes water=yes air_conditioning=yes electricity=no"},
	},
	"a list added to the rent": {
		{"$1,550/mth plus gas, hydro & water.", "rent=1550 electricity=no water=no"},
		{"$2,400 + power, oil and water. Pets negotiable", "rent=2400 electricity=no water=no pets=limited|conditional"},
		{"$1,800 + parking and storage", "rent=1800 parking=?"},
		{"$1350 with utilities, wifi not included.", "rent=1350 heat=yes hot_water=yes electricity=yes internet=no"},
		{"$1,050 all utilities incl. (no internet). Quiet", "rent=1050 heat=yes hot_water=yes electricity=yes internet=no water=? cable=?"},
		{"location du terrain comprise, hydro en plus.", "electricity=no"},
		{"chauffage a l'eau chaude inclus", "heat=yes"},
		{"En plus, électricité incluse", "electricity=yes"},
	},
	"includes all that is named": {
		{"800 $/mois incluant tout : électricité, chauffage, internet",
			"rent=800 electricity=yes heat=yes internet=yes hot_water=? water=? cable=?"},
		{"$900 including everything: hydro, heat, wifi", "rent=900 electricity=yes heat=yes internet=yes hot_water=? water=? cable=?"},
	},
	"what electricity costs in brackets": {
		{"hydro a vos frais (environ 60$ par mois)", "electricity=no electricity_estimate=60"},
		{"Électricité au locataire (environ 55 $/mois)", "electricity=no electricity_estimate=55"},
		{"Chauffage électrique, à vos frais (environ 120$/mois égalisé). 1 795$.",
			"heat=no electricity=?  electricity_estimate=120 rent=1795"},
		{"L'électricité revient à environ 85$/mois", "electricity=?  electricity_estimate=85"},
		{"1 650$ + hydro (~70$)", "rent=1650 electricity=no electricity_estimate=70"},
	},
	"what a counted place costs": {
		{"Stationnement en arrière 1 place 25$ par mois", "parking=extra parking_rent=25 parking_type=outdoor|- parking_spots=1|-"},
	},
}
