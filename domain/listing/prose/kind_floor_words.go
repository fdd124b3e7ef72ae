package prose

// ordinals are the words before the noun of a floor.
var ordinals = map[string]string{
	"premier": "1", "premiere": "1", "deuxieme": "2", "troisieme": "3", "quatrieme": "4", "cinquieme": "5", "sixieme": "6",
	"septieme": "7", "huitieme": "8", "neuvieme": "9", "dixieme": "10", "seconde": "2", "dernier": "top",
	"derniere": "top", "haut": "top", "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
	"seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "last": "top", "top": "top", "upper": "2",
	"main": "ground", "ground": "ground", "lower": "ground",
}

// ordinalEnds follow the number of a floor.
var ordinalEnds = set("e eme ieme er o nd rd th st ier iem ere iere ie em ieem ime")

// numberedFloor is the ordinal that the word at i, right before the noun of a floor, is or has but one slip from:
// "forth floor", "secound floor", "deuxime étage". It is "" for any other word.
func (p *Prose) numberedFloor(i int) string {
	w := p.word(i)
	if v := ordinals[w]; v != "" || len(w) < 4 {
		return v
	}
	if cardinals[w] || p.words[i].topic != 0 {
		return ""
	}
	one := ""
	for right, v := range ordinals {
		if right[0] != w[0] || len(right) < 5 || v[0] > '9' || v == one || !oneSlip(w, right) {
			continue
		}
		if one != "" { // "dexième" is either
			return ""
		}
		one = v
	}
	return one
}

// cardinals are near an ordinal and count floors: "seven floor building".
var cardinals = set("seven eight fifty fourty seventy eighty sixty sept huit")

// oneSlip tells whether one letter of a and b is another, is missing, is too many, or two have changed places.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a) || a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// everyFloor tells whether the floor that begins at k is none but each of several: "on every 2nd floor", "à chaque
// étage".
func (p *Prose) everyFloor(k int) bool {
	switch p.word(k - 1) {
	case "every", "each", "any", "chaque":
		return true
	}
	return false
}

// kitchenWords behind "SS" say that it is stainless steel and no basement.
var kitchenWords = set("appliance appliances appls apps fridge refrigerator stove oven range sink dishwasher " +
	"microwave hood kitchen steel electros electromenagers")
