package demosite

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// People is the number of rows that WritePeople writes.
const People = 10_000

// WritePeople writes a file of customers of a shop as its till exports them, by semicolons and with a byte order mark:
// most in Canada, some in the United States, in French and in English. Like real files it is a bit dirty: telephone
// numbers in many notations, rows that are no contact (one in forty), people who are there twice (one in fifty), names
// in capitals, blank lines. It is a function of the seed. Nobody is in it: the numbers are those between 555-0100 and
// 555-0199, which are kept for fiction, and the addresses are in domains of which nobody can have one.
func WritePeople(w io.Writer, seed uint64) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.Comma, out.UseCRLF = ';', true
	p := newPeople(seed)
	rows := [][]string{{
		"Prénom", "Nom", "Téléphone", "Courriel", "Langue", "Ville", "Étiquettes", "Dernier achat", "Points",
	}}
	for n := range People {
		rows = append(rows, p.row(n))
		if n%2500 == 2499 {
			rows = append(rows, make([]string, len(rows[0]))) // between the pages of the report
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write people: %w", err)
	}
	return nil
}

// person is a row before it is written down.
type person struct {
	given, family  string
	area, number   int // of the telephone; area 0 = none
	email          string
	language, city string
	tags           []string
	bought         time.Time
	points         int
}

type people struct {
	dice    *rand.Rand
	numbers []number // that are left
	list    []person
}

// number is a telephone number for fiction: area 555 01 and the line.
type number struct{ place, line int }

func newPeople(seed uint64) *people {
	p := &people{dice: rand.New(rand.NewPCG(seed, 0x5eed))}
	for place := range regions {
		for line := range 100 {
			p.numbers = append(p.numbers, number{place, line})
		}
	}
	p.dice.Shuffle(len(p.numbers), func(i, j int) { p.numbers[i], p.numbers[j] = p.numbers[j], p.numbers[i] })
	return p
}

// row is the nth row.
func (p *people) row(n int) []string {
	switch {
	case n%50 == 49:
		c := p.list[p.dice.IntN(len(p.list))] // bought again, at another till
		c.bought, c.points = p.day(), c.points+10
		return p.cells(c)
	case n%40 == 13:
		return p.bad(n / 40)
	}
	c := p.person(n%33 != 20)
	p.list = append(p.list, c)
	return p.cells(c)
}

// person makes one up, with a telephone or without.
func (p *people) person(phone bool) (c person) {
	c.points, c.bought = 10*p.dice.IntN(250), p.day()
	at := regions[p.dice.IntN(len(regions))]
	if phone {
		n := p.numbers[len(p.numbers)-1]
		p.numbers = p.numbers[:len(p.numbers)-1]
		at = regions[n.place]
		c.area, c.number = at.area, 5550100+n.line
	}
	c.city, c.language = at.city, "en"
	given, family := namesEN, familiesEN
	if p.dice.IntN(100) < at.french {
		c.language, given, family = "fr", namesFR, familiesFR
	}
	if p.dice.IntN(12) == 0 { // families are of both
		given, family = namesFR, familiesEN
	}
	c.given, c.family = given[p.dice.IntN(len(given))], family[p.dice.IntN(len(family))]
	if !phone || p.dice.IntN(10) < 7 {
		c.email = fmt.Sprintf("%s.%s%d@%s", plainLetters.Replace(strings.ToLower(c.given)),
			plainLetters.Replace(strings.ToLower(c.family)), len(p.list), domains[p.dice.IntN(len(domains))])
	}
	for _, t := range []struct {
		tag string
		in  int
	}{{"infolettre", 2}, {"VIP", 15}, {"boutique", 4}, {"en ligne", 3}} {
		if p.dice.IntN(t.in) == 0 {
			c.tags = append(c.tags, t.tag)
		}
	}
	return c
}

func (p *people) day() time.Time {
	return time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -p.dice.IntN(700))
}

// cells are a person as the tills write one.
func (p *people) cells(c person) []string {
	switch p.dice.IntN(25) {
	case 0:
		c.given, c.family = strings.ToUpper(c.given), strings.ToUpper(c.family)
	case 1:
		c.given, c.family = strings.ToLower(c.given), strings.ToLower(c.family)
	case 2:
		c.given += "  "
	}
	language := map[string][]string{
		"fr": {"fr", "fr", "fr-CA", "français"}, "en": {"en", "en", "en-CA", "English"},
	}[c.language]
	return []string{
		c.given, c.family, p.phone(c), c.email, language[p.dice.IntN(len(language))], c.city, strings.Join(c.tags, ", "),
		c.bought.Format(time.DateOnly), strconv.Itoa(c.points),
	}
}

// phone is a telephone number in one of the notations that people use.
func (p *people) phone(c person) string {
	if c.area == 0 {
		return ""
	}
	a, b, d := c.area, c.number/10000, c.number%10000
	switch p.dice.IntN(9) {
	case 0:
		return fmt.Sprintf("%d-%03d-%04d", a, b, d)
	case 1:
		return fmt.Sprintf("%d.%03d.%04d", a, b, d)
	case 2:
		return fmt.Sprintf("%d %03d %04d", a, b, d)
	case 3:
		return fmt.Sprintf("%d%03d%04d", a, b, d)
	case 4:
		return fmt.Sprintf("+1%d%03d%04d", a, b, d)
	case 5:
		return fmt.Sprintf("+1 (%d) %03d-%04d", a, b, d)
	case 6:
		return fmt.Sprintf("1-%d-%03d-%04d", a, b, d)
	case 7:
		return fmt.Sprintf("\u00a0%d\u00a0%03d-%04d ", a, b, d) // with spaces that do not break
	}
	return fmt.Sprintf("(%d) %03d-%04d", a, b, d)
}

// bad is a row that is no contact, of the nth kind.
func (p *people) bad(n int) []string {
	c := p.person(false)
	row := p.cells(c)
	const phone, email, language, points = 2, 3, 4, 8
	switch n % 10 {
	case 0: // no way to reach the person
		row[phone], row[email] = "", ""
	case 1:
		row[phone] = "555-01" + fmt.Sprintf("%02d", n%100) // without an area
	case 2:
		row[phone] = "5,1455501E+09" // a spreadsheet was at it
	case 3:
		row[phone] = "514-555-01" + fmt.Sprintf("%02d", n%100) + " poste 12"
	case 4:
		row[email] = strings.Replace(row[email], "@", " chez ", 1)
	case 5:
		row[email] = strings.TrimSuffix(row[email], ".example") + "."
	case 6:
		row[phone] = "514-555-FLEURS"
	case 7:
		row[phone] = "à demander"
	case 8:
		row[language] = "les deux"
	case 9:
		row[points] = "#REF!"
	}
	return row
}

// plainLetters makes a part of an address of a name.
var plainLetters = strings.NewReplacer("à", "a", "â", "a", "ç", "c", "é", "e", "è", "e", "ê", "e", "ë", "e", "î", "i",
	"ï", "i", "ô", "o", "ö", "o", "ü", "u", "û", "u", " ", "", "'", "", "-", ".")

// domains are such as nobody can register (RFC 2606).
var domains = strings.Fields("courriel.example mail.example poste.example inbox.example boite.example")

type region struct {
	area, french int // percent
	city         string
}

// regions have an area code each, of Canada and of the United States.
var regions = readRegions(`
514 70 Montréal|438 70 Montréal|263 60 Montréal|450 80 Laval|579 80 Longueuil|354 80 Saint-Jérôme|418 95 Québec
581 95 Lévis|367 95 Saguenay|819 85 Gatineau|873 90 Sherbrooke|468 90 Trois-Rivières|506 40 Moncton|428 35 Dieppe
416 5 Toronto|647 5 Toronto|437 5 Toronto|905 3 Mississauga|289 3 Hamilton|365 3 Oshawa|742 2 Brampton
613 25 Ottawa|343 30 Ottawa|753 20 Kingston|519 2 London|226 2 Windsor|548 2 Kitchener|382 2 Waterloo
705 20 Sudbury|249 20 North Bay|683 15 Timmins|807 5 Thunder Bay|204 10 Winnipeg|431 10 Saint-Boniface
584 8 Brandon|306 3 Saskatoon|639 3 Regina|474 3 Moose Jaw|403 3 Calgary|587 3 Edmonton|825 3 Lethbridge
368 3 Red Deer|780 4 Edmonton|604 2 Vancouver|778 2 Surrey|236 2 Kelowna|672 2 Burnaby|250 2 Victoria
902 8 Halifax|782 8 Charlottetown|709 2 St. John's|879 2 Corner Brook|867 15 Whitehorse
212 2 New York|917 2 New York|646 2 New York|347 2 Brooklyn|718 2 Queens|929 2 Bronx|516 1 Hempstead|631 1 Huntington
914 1 Yonkers|845 1 Poughkeepsie|518 6 Plattsburgh|838 2 Albany|315 2 Syracuse|716 1 Buffalo|585 1 Rochester
607 1 Ithaca|802 8 Burlington|603 6 Manchester|207 9 Portland|617 3 Boston|857 3 Cambridge|508 4 Worcester
774 3 New Bedford|978 5 Lowell|413 3 Springfield|401 5 Providence|203 2 New Haven|475 2 Bridgeport|860 2 Hartford
215 1 Philadelphia|267 1 Philadelphia|305 5 Miami|786 5 Miami|954 6 Hollywood|561 3 Boca Raton|239 2 Naples
407 2 Orlando|813 2 Tampa|312 1 Chicago|773 1 Chicago|216 1 Cleveland|614 1 Columbus|313 2 Detroit|504 6 New Orleans
`)

func readRegions(text string) (list []region) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		var p region
		if n, err := fmt.Sscan(line, &p.area, &p.french); n != 2 {
			panic(err) // the text above is wrong
		}
		p.city = line[strings.IndexFunc(line, func(r rune) bool { return r > '9' }):]
		list = append(list, p)
	}
	return list
}

var (
	namesFR = strings.Split("Sophie,Émilie,Camille,Léa,Zoé,Florence,Béatrice,Chloé,Noémie,Maëlle,Élise,Geneviève,Marie-Ève,"+
		"Marie-Claude,Anne-Sophie,Mélanie,Annie,Catherine,Véronique,Josée,Thomas,Samuel,Félix,Olivier,Étienne,Mathieu,"+
		"Jérôme,François,Jean-François,Pierre-Luc,Benoît,Simon,Guillaume,Maxime,Loïc,Raphaël,Yan,Stéphane,Sébastien,Théo", ",")
	familiesFR = strings.Split("Tremblay,Gagnon,Roy,Côté,Bouchard,Gauthier,Morin,Lavoie,Fortin,Gagné,Ouellet,Pelletier,"+
		"Bélanger,Lévesque,Bergeron,Leblanc,Paquette,Girard,Simard,Boucher,Caron,Beaulieu,Cloutier,Dubé,Poirier,Fournier,"+
		"Lapointe,Leclerc,Lefebvre,Nadeau,St-Pierre,Thériault,Lachance,D'Amours,Hébert,Landry,Arsenault,Cormier", ",")
	namesEN = strings.Split("Emma,Olivia,Ava,Charlotte,Amelia,Hannah,Grace,Megan,Sarah,Jessica,Priya,Mei,Fatima,Aisha,Rosa,"+
		"Liam,Noah,Oliver,James,William,Benjamin,Lucas,Henry,Ethan,Daniel,Arjun,Wei,Omar,Mateo,Kwame,Jack,Ryan,Dylan,Owen", ",")
	familiesEN = strings.Split("Smith,Brown,Wilson,MacDonald,Taylor,Campbell,Anderson,Jones,Williams,Thompson,Stewart,"+
		"Martin,Robertson,O'Brien,Murphy,Kelly,Singh,Patel,Chen,Wong,Nguyen,Khan,Ali,Garcia,Rodriguez,Kim,Lee,Ivanov,"+
		"Kowalski,Rossi,Mensah,Baptiste,Clarke,Fraser,Graham,Hughes", ",")
)
