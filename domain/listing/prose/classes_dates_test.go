package prose_test

// dateClasses are dates that are sentences, or end in a short year, and shortest stays.
var dateClasses = map[string][]classCase{
	"years behind a day and a stroke": {
		{"Possession April 1/26", "available=2026-04-01"},
		{"avail. Oct 1/25", "available=2025-10-01"},
		{"Available Aug 1/15", "available=08-01"},
	},
	"dates that are a sentence": {
		{"2 400$ non chauffé. Juillet 2026. Pas de chien.", "rent=2400 heat=no available=2026-07|2026-07-01 pets=limited dogs=no"},
		{"Non fumeur. Février.", "smoking=no available=02|02-01"},
		{"590$. Étudiant seulement. Août ou septembre.", "rent=590 available=08|08-01"},
		{"2 300 $ + Hydro. 1er juillet 2026, bail 1 an.", "rent=2300 electricity=no available=2026-07-01 lease=one-year"},
		{"Sorry no pets. Free Dec 1.", "pets=no available=12-01"},
		{"2 500 $/mois chauffé. Bail 12 mois, 1er mai 2026. Sans fumeurs", "rent=2500 heat=yes lease=one-year available=2026-05-01 smoking=no"},
		{"Rabais en février.", ""},
		{"Festival tous les étés. En juillet, la rue est fermée.", ""},
		{"You may. We will.", ""},
	},
	"shortest stays": {
		{"Min. 4 months.", "lease=4-month"},
		{"Furnished. 6 month term. No pets.", "furnished=yes lease=6-month pets=no"},
		{"min. 1 yr", "lease=one-year"},
	},
	"months of papers": {
		{"Min. 3 months pay stubs required.", ""},
		{"Minimum 2 yrs rental references.", ""},
		{"Min. 2 yrs of employment history", ""},
		{"Minimum 2 years of credit history", ""},
		{"Min. 4 months, references", "lease=4-month"},
	},
}
