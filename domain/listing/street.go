package listing

import (
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/page"
)

// streetWords are the kinds of street and their abbreviations, folded.
var streetWords = map[string]bool{
	"rue": true, "avenue": true, "av": true, "ave": true, "aven": true, "boulevard": true, "boul": true,
	"bd": true, "blvd": true, "chemin": true, "ch": true, "chem": true, "place": true, "pl": true, "route": true,
	"rang": true, "montee": true, "cote": true, "cours": true, "croissant": true, "cr": true, "terrasse": true,
	"allee": true, "impasse": true, "ruelle": true, "quai": true, "promenade": true, "carre": true,
	"square": true, "street": true, "st": true, "road": true, "rd": true, "drive": true, "dr": true,
	"crescent": true, "lane": true, "way": true, "court": true, "ct": true, "circle": true, "autoroute": true,
	"voie": true, "passage": true, "descente": true, "sentier": true,
}

// StreetWord says that a folded word is a kind of street: rue, avenue, boul.
func StreetWord(w string) bool { return streetWords[w] }

// sameStreet compares two streets without their type, accents and case.
func sameStreet(a, b string) bool { return streetKey(a) == streetKey(b) }

func streetKey(s string) string {
	words := strings.FieldsFunc(page.Fold(s), func(r rune) bool { return r == ' ' || r == '-' || r == '.' || r == '\'' })
	words = slices.DeleteFunc(words, func(w string) bool {
		return streetWords[w] && w != "st" && w != "cote" || w == "de" || w == "du" || w == "des" || w == "la" || w == "le" ||
			w == "l" || w == "d"
	})
	for i, w := range words {
		switch w {
		case "st":
			words[i] = "saint"
		case "ste":
			words[i] = "sainte"
		case "e", "east":
			words[i] = "est"
		case "o", "west":
			words[i] = "ouest"
		case "n", "north":
			words[i] = "nord"
		case "s", "south":
			words[i] = "sud"
		}
	}
	return strings.Join(words, " ")
}
