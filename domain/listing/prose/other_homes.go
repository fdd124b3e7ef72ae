package prose

import (
	"regexp"
	"slices"
	"strings"
)

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

// Lines about other homes that the landlord has: "Aussi disponible :", and a size of a home.
var (
	othersHead = regexp.MustCompile(`(?i)^[^\pL\d]*(?:(?:nous avons |we have )?(?:aussi|également|egalement|also) ` +
		`(?:disponibles?|dispo|à louer|a louer|available|for rent)|` +
		`(?:other|autres) (?:units|apartments|logements|unités|unites|appartements|grandeurs))[^:.\n\d]{0,30}:(.*)$`)
	othersSize = regexp.MustCompile(`(?i)\d ?(?:½|1/2|[,.]5)|\b(?:studios?|bachelors?|lofts?)\b|` +
		`\b\d ?(?:bdrms?|beds?|bedrooms?|br|cc|cac|ch|chambres?)\b`)
	othersItem = regexp.MustCompile(`^\s*(?:[-–—•*·>+▪◦✓✔➢]|\d)`)
)

// withoutOthers is a description without the homes that it lists under a line such as "Aussi disponible :", where the
// advert's own is named before, in its title or above.
func withoutOthers(title, text string) string {
	heads := func(line string) bool { return strings.Contains(line, ":") && othersHead.MatchString(line) }
	if !slices.ContainsFunc(strings.Split(text, "\n"), heads) {
		return text
	}
	var kept []string
	named, under, dropped := othersSize.MatchString(title), false, false
	for line := range strings.SplitSeq(text, "\n") {
		size := othersSize.MatchString(line)
		if under && (size && othersItem.MatchString(line) || strings.TrimSpace(line) == "" && !dropped) {
			dropped = dropped || size
			continue
		}
		under = false
		if head := othersHead.FindStringSubmatch(line); named && head != nil {
			switch rest := strings.TrimSpace(head[1]); {
			case rest == "":
				under, dropped = true, false
			case size:
				continue
			}
		}
		named = named || size
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}
