package prose

// offersMore are the verbs of a sentence about other homes that the landlord has: "nous avons aussi", "also available".
var offersMore = set("disponible disponibles dispo libre libres avons offrons louer available have offer rent")

// ofOtherHome tells whether the token at i stands in a sentence that begins with another home than the advert's and
// counts its rooms before i: "Aussi disponible 2 ½ et 3 ½ chauffé au demi sous-sol à partir de 528 $".
func (p *Prose) ofOtherHome(i int) bool {
	from, home := min(i, len(p.words)-1), false
	for ; from > 0 && !p.stop(from); from-- {
		home = home || p.words[from].half || p.about(from, aBedroom|aStudio)
		if i-from > 40 {
			return false
		}
	}
	if from <= 0 || !home {
		return false
	}
	also, more := false, false
	for k := from; k <= from+4 && k <= i; k++ {
		w := p.word(k)
		also = also || w == "aussi" || w == "egalement" || w == "also"
		more = more || offersMore[w]
	}
	return also && more
}
