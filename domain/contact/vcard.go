package contact

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Cards, of vCard 2.1, 3.0 and 4.0, become comma-separated text with a header of their own, one line a card, so that
// the line of a problem is the number of the card and one more. What a card has beyond these columns is left out, and
// so are groups, cards within cards, and those with nothing that is read.
//
// emersion/go-vcard is not used: it has no quoted-printable and no folding of vCard 2.1, which Android writes, and
// holds lines of any length, as those of photos are.

// Bounds of a card.
const (
	maxCardLine   = 16 << 10 // bytes of a property that are kept; beyond it there are photos and keys
	maxCardHead   = 1 << 10  // bytes of its name and parameters: one with more is left out
	maxCardPhones = 6
	maxCardEmails = 3
)

// The columns of cards, headed so that each is known for what it is.
const (
	cardName = iota
	cardGiven
	cardFamily
	cardTags
	cardLocale
	cardOrganization
	cardTitle
	cardCity
	cardCountry
	cardNote
	cardFirstPhone // a label and a number each; addresses are behind them
	cardColumns    = cardFirstPhone + 2*maxCardPhones + maxCardEmails
)

var cardHeader = func() []string {
	header := make([]string, cardFirstPhone, cardColumns)
	header[cardName], header[cardGiven], header[cardFamily] = "Name", "Given Name", "Family Name"
	header[cardTags], header[cardLocale], header[cardOrganization] = "Categories", "Language", "Organization"
	header[cardTitle], header[cardCity], header[cardCountry], header[cardNote] = "Title", "City", "Country", "Note"
	for i := range maxCardPhones {
		n := strconv.Itoa(i + 1)
		header = append(header, "Phone "+n+" - Label", "Phone "+n+" - Value")
	}
	for i := range maxCardEmails {
		header = append(header, "E-mail "+strconv.Itoa(i+1)+" - Value")
	}
	return header
}()

// beginsCard says that a text is cards, by its beginning without a byte order mark.
func beginsCard(text []byte) bool {
	const begin = "begin:vcard"
	text = bytes.TrimSpace(text[:min(len(text), 512)])
	return len(text) >= len(begin) && strings.EqualFold(string(text[:len(begin)]), begin)
}

// cards reads cards as comma-separated text.
type cards struct {
	written
	src     *bufio.Reader
	pending []byte // the physical line that was read last, and is none of the property before it
	more    bool   // there is one
	card    card
	depth   int // of cards within each other
	agent   bool
}

// card is what is read of a card.
type card struct {
	cells          []string
	phones, emails []reach
	group          bool
	spelled        string // the name by its parts
}

// reach is a number or an address.
type reach struct {
	label, value string
	preferred    bool
}

func newCards(r io.Reader) *cards {
	return &cards{src: bufio.NewReaderSize(r, 64<<10), written: written{out: appendRecord(nil, cardHeader)}}
}

// Read gives the cards as text.
func (c *cards) Read(p []byte) (int, error) { return c.read(p, c.next) }

// next reads a property, and appends the card that ends with it to out.
func (c *cards) next() error {
	line, err := c.property()
	if err != nil {
		if errors.Is(err, io.EOF) && c.depth > 0 {
			c.end() // of a file that was cut off
		}
		return err
	}
	p, ok := parseProperty(line)
	if !ok {
		return nil
	}
	within := c.agent // a card may be the value of the property before it
	c.agent = p.name == "AGENT" && p.value == ""
	switch isCard := strings.EqualFold(strings.TrimSpace(p.value), "vcard"); {
	case p.name == "BEGIN" && isCard && within:
		c.depth++
	case p.name == "BEGIN" && isCard: // where the card before has no end, it ends here
		c.end()
		c.depth = 1
	case p.name == "END" && isCard && c.depth > 1:
		c.depth--
	case p.name == "END" && isCard:
		c.end()
	case c.depth == 1:
		c.card.add(p)
	}
	return nil
}

// end appends the card to out, if there is anything to read in it.
func (c *cards) end() {
	if row := c.card.row(); row != nil {
		c.out = appendRecord(c.out[:0], row)
	}
	c.card, c.depth = card{}, 0
}

// property is the next line without its folds, up to maxCardLine bytes of it, as they are when they are decoded.
func (c *cards) property() ([]byte, error) {
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	prop := slices.Clone(line)
	printable := isQuotedPrintable(prop)
	goesOn := func(line []byte) bool { return printable && bytes.HasSuffix(line, []byte("=")) }
	soft := goesOn(line) // also where nothing more is kept
	most := maxCardLine
	if printable {
		most *= 3 // a byte is written as three
	}
	for {
		next, err := c.line()
		if errors.Is(err, io.EOF) {
			return prop, nil // which the next call comes to again
		}
		if err != nil {
			return nil, err
		}
		switch {
		case soft:
			prop = bytes.TrimSuffix(prop, []byte("="))
		case len(next) > 0 && (next[0] == ' ' || next[0] == '\t'):
			next = next[1:]
		default:
			c.pending, c.more = next, true
			return prop, nil
		}
		if room := most - len(prop); room > 0 {
			prop = append(prop, next[:min(room, len(next))]...)
		}
		soft = goesOn(next)
	}
}

// line is the next physical line without its end, up to maxCardLine bytes of it. It holds until the next call.
func (c *cards) line() ([]byte, error) {
	if c.more {
		c.more = false
		return c.pending, nil
	}
	line, err := c.src.ReadSlice('\n')
	kept := line
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(kept) > maxCardLine || &kept[0] == &line[0] {
			kept = slices.Clone(kept[:min(len(kept), maxCardLine)])
		}
		_, err = c.src.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if errors.Is(err, io.EOF) && len(kept) == 0 {
		return nil, io.EOF
	}
	return bytes.TrimRight(kept[:min(len(kept), maxCardLine)], "\r\n"), nil
}

// isQuotedPrintable says that the value of a property is written so.
func isQuotedPrintable(line []byte) bool {
	head, _, _ := bytes.Cut(line, []byte(":"))
	return bytes.Contains(bytes.ToUpper(head), []byte("QUOTED-PRINTABLE"))
}

// cardProperty is a line of a card.
type cardProperty struct {
	name    string // in capitals, without its group
	types   []string
	charset string
	printed bool // quoted-printable
	binary  bool
	value   string
}

// parseProperty reads a line: "item1.TEL;TYPE=CELL,VOICE:+1 514 555-0123", or in 2.1 "TEL;CELL:…".
func parseProperty(line []byte) (cardProperty, bool) {
	head, value, quoted := "", "", false
	at := bytes.IndexFunc(line, func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ':' && !quoted
	})
	if at < 0 || at > maxCardHead {
		return cardProperty{}, false
	}
	head, value = string(line[:at]), string(line[at+1:])
	name, parameters, _ := strings.Cut(head, ";")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	p := cardProperty{name: strings.ToUpper(strings.TrimSpace(name)), value: value}
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, values, has := strings.Cut(parameter, "=")
		if !has { // as 2.1 has it
			key, values = "TYPE", parameter
		}
		switch strings.ToUpper(strings.TrimSpace(key)) {
		case "TYPE":
			for one := range strings.SplitSeq(strings.Trim(values, `"`), ",") {
				p.types = append(p.types, strings.ToUpper(strings.Trim(one, ` "`)))
			}
		case "PREF":
			p.types = append(p.types, "PREF")
		case "CHARSET":
			p.charset = strings.ToLower(strings.Trim(values, ` "`))
		case "ENCODING":
			p.types = append(p.types, strings.ToUpper(strings.Trim(values, ` "`)))
		}
	}
	p.printed = slices.Contains(p.types, "QUOTED-PRINTABLE")
	p.binary = slices.Contains(p.types, "B") || slices.Contains(p.types, "BASE64")
	return p, true
}

// add reads a property.
func (c *card) add(p cardProperty) {
	if p.binary {
		return
	}
	if p.printed {
		p.value = inCharset(unprinted(p.value), p.charset)
	}
	if c.cells == nil {
		c.cells = make([]string, cardFirstPhone)
	}
	switch p.name {
	case "FN":
		c.set(cardName, plainText(p.value))
	case "N":
		c.parts(structured(p.value))
	case "TEL":
		number := strings.TrimSpace(plainText(p.value))
		if len(number) > 4 && strings.EqualFold(number[:4], "tel:") {
			number, _, _ = strings.Cut(number[4:], ";") // an extension
		}
		if number != "" && len(c.phones) < 4*maxCardPhones {
			c.phones = append(c.phones, reach{cardLabel(p.types), number, slices.Contains(p.types, "PREF")})
		}
	case "EMAIL":
		address := strings.TrimSpace(plainText(p.value))
		if len(address) > 7 && strings.EqualFold(address[:7], "mailto:") {
			address = address[7:]
		}
		if address != "" && len(c.emails) < 4*maxCardEmails {
			c.emails = append(c.emails, reach{"", address, slices.Contains(p.types, "PREF")})
		}
	case "ORG":
		c.set(cardOrganization, strings.Join(slices.DeleteFunc(structured(p.value), empty), ", "))
	case "TITLE":
		c.set(cardTitle, plainText(p.value))
	case "NOTE":
		c.set(cardNote, shortened(plainText(p.value)))
	case "LANG":
		c.set(cardLocale, plainText(p.value))
	case "CATEGORIES":
		c.set(cardTags, strings.Join(split(p.value, ','), "\n"))
	case "ADR":
		if at := structured(p.value); len(at) == 7 { // box, extended, street, city, region, code, country
			c.set(cardCity, at[3])
			c.set(cardCountry, at[6])
		}
	case "KIND", "X-ADDRESSBOOKSERVER-KIND":
		c.group = strings.EqualFold(strings.TrimSpace(p.value), "group")
	}
}

// shortened is a note as far as a cell has room for it, with a mark where it was cut: beside the person's number it is
// worth little, and a telephone is no place to correct it.
func shortened(note string) string {
	note = strings.TrimSpace(note)
	if utf8.RuneCountInString(note) <= MaxField {
		return note
	}
	return string([]rune(note)[:MaxField-1]) + "…"
}

func empty(s string) bool { return s == "" }

// set fills a cell that has nothing yet.
func (c *card) set(i int, value string) {
	if c.cells[i] == "" {
		c.cells[i] = strings.TrimSpace(value)
	}
}

// parts reads a name: family; given; additional; prefixes; suffixes.
func (c *card) parts(name []string) {
	name = append(name, "", "", "")
	c.set(cardFamily, name[0])
	c.set(cardGiven, name[1])
	c.spelled = strings.Join(slices.DeleteFunc([]string{name[1], name[2], name[0]}, empty), " ")
}

// row are the cells of the card; nil = there is nothing that is read.
func (c *card) row() []string {
	if c.cells == nil || c.group {
		return nil
	}
	preferredFirst := func(a, b reach) int {
		switch {
		case a.preferred == b.preferred:
			return 0
		case a.preferred:
			return -1
		}
		return 1
	}
	slices.SortStableFunc(c.phones, preferredFirst)
	slices.SortStableFunc(c.emails, preferredFirst)
	c.set(cardName, c.spelled)
	row := make([]string, cardColumns)
	copy(row, c.cells)
	for i, phone := range c.phones[:min(len(c.phones), maxCardPhones)] {
		row[cardFirstPhone+2*i], row[cardFirstPhone+2*i+1] = phone.label, phone.value
	}
	for i, email := range c.emails[:min(len(c.emails), maxCardEmails)] {
		row[cardFirstPhone+2*maxCardPhones+i] = email.value
	}
	if !slices.ContainsFunc(row, func(s string) bool { return s != "" }) {
		return nil
	}
	return row
}

// cardLabel is what the types of a number say of it, in the words of Google Contacts.
func cardLabel(types []string) string {
	has := func(t string) bool { return slices.Contains(types, t) }
	switch {
	case has("FAX"):
		return "Fax"
	case has("PAGER"):
		return "Pager"
	case has("MODEM"), has("TEXTPHONE"), has("BBS"):
		return "Telex"
	case has("CELL"), has("IPHONE"), has("MOBILE"):
		return "Mobile"
	case has("HOME"):
		return "Home"
	case has("WORK"):
		return "Work"
	}
	return ""
}

// structured are the parts of a value between semicolons.
func structured(value string) []string { return split(value, ';') }

// split are the parts of a value, as text.
func split(value string, mark byte) []string {
	var parts []string
	from := 0
	for i := 0; i < len(value) && len(parts) < MaxTags; i++ {
		switch value[i] {
		case '\\':
			i++
		case mark:
			parts, from = append(parts, strings.TrimSpace(plainText(value[from:i]))), i+1
		}
	}
	return append(parts, strings.TrimSpace(plainText(value[from:])))
}

var cardEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\:`, ":")

// plainText is a value without what escapes its characters.
func plainText(value string) string { return cardEscapes.Replace(value) }

// unprinted is a value in quoted-printable as bytes; what is none of it stays.
func unprinted(value string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '=' && i+2 < len(value) {
			if b, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(b))
				i += 2
				continue
			}
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

// inCharset are bytes of an encoding, which may not be the one that they are said to have, as text.
func inCharset(text, charset string) string {
	enc, err := encodingOf(charset)
	if charset == "" || err != nil || charset == "us-ascii" {
		if utf8.ValidString(text) {
			return text
		}
		enc = charmap.Windows1252
	}
	if out, err := enc.NewDecoder().String(text); err == nil {
		return out
	}
	return text
}
