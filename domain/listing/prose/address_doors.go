package prose

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// unitOfDoors tells the unit from the civic number where a line begins with two numbers, and returns what is left:
// "3515-53 avenue Lacombe" has its unit last; "53-3515", "1 - 6030 boul. Chevrier" and "101-791 Goldstream Ave" first.
// The doors of a row are near and on one side of the street: "4500-4520".
func unitOfDoors(civic, words []string, k int, part string) (unit string, left []string) {
	if len(civic) != 2 || k < 2 || civicJoint(words[k-2]) && words[k-2] != "-" {
		return "", civic
	}
	x, y := civic[0], civic[1]
	glued := strings.Contains(part, x+"-"+y)
	switch {
	case glued && len(y) < len(x):
		return y, civic[:1]
	case rowOf(x, y) || neighbours(x, y):
		return "", civic
	case len(y) < len(x) && k < len(words) && listing.StreetWord(page.Fold(strings.Trim(words[k], ".,"))):
		return "", civic // "1408 - 33 Bay St", but not "4500 - 45 rue X"
	}
	return x, civic[1:]
}

// rowOf says that the doors x and y ascend on one side of a street, near each other. "3-15 rue Principale" is a unit.
func rowOf(x, y string) bool {
	apart := doorOf(y) - doorOf(x)
	return apart > 0 && apart%2 == 0 && (len(x) > 1 || apart == 2 || len(y) == 1) &&
		(apart <= 20 || apart <= 102 && len(x) == len(y))
}

func doorOf(s string) int {
	n, _ := strconv.Atoi(strings.TrimRightFunc(s, unicode.IsLetter))
	return n
}

// numbersOfStreet gives the last of the civic numbers that end at k back to a numbered street: "6020 - 1A STREET SW".
func numbersOfStreet(civic, words []string, k int) ([]string, int) {
	n := len(civic)
	if n < 2 || k >= len(words) || len(civic[n-1]) > 3 || len(civic[n-1]) >= len(civic[n-2]) ||
		!streetTypes[page.Fold(strings.Trim(words[k], ".,"))] {
		return civic, k
	}
	for _, w := range words[k+1:] {
		if !compass[strings.ReplaceAll(page.Fold(w), ".", "")] {
			return civic, k
		}
	}
	return civic[:n-1], k - 1
}

// leadsCivic tells whether the word at k, behind a number, is the civic number of a street, so that the first is its
// unit: "103 1485 Garnet Rd", not "110 125 Street NW".
func leadsCivic(words []string, k int) bool {
	if k+1 >= len(words) || !isCivic(words[k]) || words[k] == "1/2" || len(words[k]) < 2 || isOrdinal(words, k) {
		return false
	}
	next := page.Fold(strings.Trim(words[k+1], ".,"))
	return next != "" && !listing.StreetWord(next) && (!compass[next] || k+2 < len(words)) && !civicJoint(next)
}

// dashedLetter returns the last token of the letter that a dash joins to the civic number at i, "118-B", or i.
func (p *Prose) dashedLetter(i int) int {
	if t := p.num(i); p.sym(i+1) != '-' || len(p.word(i+2)) != 1 || t == nil || t.digits < 2 || p.words[i+1].space ||
		p.words[i+2].space || !p.capital(i+2) || i+3 < len(p.words) && !p.words[i+3].space && p.sym(i+3) != ',' {
		return i
	}
	return i + 2
}

// afterBuilding drops the name of a building before an address: "Le Duke - 790 rue William".
func afterBuilding(part string) string {
	i := strings.LastIndex(part, " - ")
	if i < 0 {
		return part
	}
	rest := strings.Fields(part[i+3:])
	first, _, _ := strings.Cut(part, " ")
	if len(rest) < 2 || isCounted(page.Fold(rest[1])) || !isDigit(rest[0][0]) || !isCivic(rest[0]) || isOrdinal(rest, 0) ||
		isDigit(part[0]) && first != rest[0] || len(first) == 1 || unitOf(part[:i]) != "" || part[0] == '#' {
		return part
	}
	return part[i+3:]
}

// isCounted tells whether a number before the word counts something: "rue Fabre - 2 chambres", "rue Fabre - 5 minutes".
func isCounted(word string) bool {
	return topics[word]&(aBedroom|aPiece|aBathroom) != 0 || minuteWords[word]
}
