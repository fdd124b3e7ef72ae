package draft

import (
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/markup"
)

// GTIN reads a product's global number and returns its digits: 8, 12, 13 or 14 of them, the check digit right, and not
// all zeros. Spaces and hyphens in it are dropped; an ISBN-10 becomes its ISBN-13; of a GS1 Digital Link it is the
// number that the link has. It says false to everything else.
func GTIN(s string) (string, bool) {
	if strings.Contains(s, "://") {
		s = linkedGTIN(s)
	}
	if len(s) > 64 {
		return "", false
	}
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \u00a0\t\n-‐‑–", r) {
			return -1
		}
		return r
	}, s)
	if len(s) == 10 {
		return isbn13(s)
	}
	if len(s) != 8 && len(s) != 12 && len(s) != 13 && len(s) != 14 {
		return "", false
	}
	if strings.Trim(s, "0123456789") != "" || strings.Trim(s, "0") == "" {
		return "", false
	}
	if checkDigit(s[:len(s)-1]) != s[len(s)-1] {
		return "", false
	}
	return s, true
}

// gtinOf chooses the global trade item number.
func (p *page) gtinOf(products []*markup.Item, offers []offer, meta map[string][]string, found []labelled) claims {
	var c claims
	props := []string{"gtin13", "gtin", "gtin12", "gtin14", "gtin8", "ean", "upc", "isbn", "productID"}
	read := func(i *markup.Item, w float64) {
		for n, prop := range props {
			text := i.Text(prop)
			if prop == "productID" { // "ean:4006381333931"
				_, text, _ = strings.Cut(text, ":")
			}
			c.add(statedGTIN(text), w-p.w[gtinOrder]*float64(n), sourceOf(i))
		}
		for _, v := range stated(i, "gtin") {
			c.add(statedGTIN(v), w, sourceOf(i))
		}
	}
	for _, i := range products {
		read(i, p.w[gtinData])
	}
	for _, o := range offers {
		if o.item != nil && !o.second {
			read(o.item, p.w[gtinOffer])
		}
	}
	for _, key := range []string{"product:ean", "product:upc", "product:isbn", "og:ean", "og:upc", "og:isbn",
		"product:gtin"} {
		for _, v := range meta[key] {
			c.add(statedGTIN(v), p.w[gtinMeta], OpenGraph)
		}
	}
	for l, w := range p.labelledAs("gtin", found) {
		for _, v := range []string{l.value, code(l.value), firstWord(l.value)} {
			if g, ok := GTIN(v); ok {
				c.add(g, w, Page)
				break
			}
		}
	}
	return c
}

// numbered are the items of the data whose numbers are the product's: the products, and the variant that all their
// offers are of, where there is one, or the address asks for it.
func numbered(products []*markup.Item, asked []offer) []*markup.Item {
	var variant *markup.Item
	for _, o := range asked {
		switch {
		case o.of == nil || o.of == variant || slices.Contains(products, o.of):
		case variant != nil:
			return products
		default:
			variant = o.of
		}
	}
	if variant == nil {
		return products
	}
	return append(slices.Clone(products), variant)
}

// statedGTIN is GTIN for a text that data gives as one: behind a label, "EAN Code: 4006381333931", or as a number,
// which has lost the zero that it began with. "" = it is none.
func statedGTIN(s string) string {
	value := number(s)
	if len(value) == 11 {
		value = "0" + value
	}
	for _, v := range []string{s, value} {
		if g, ok := GTIN(v); ok {
			return g
		}
	}
	return ""
}

// linkedGTIN is the number in the path of a GS1 Digital Link, "https://id.gs1.org/01/09520123456788/10/ABC"; "" = none.
func linkedGTIN(link string) string {
	_, path, _ := strings.Cut(link, "://")
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	for {
		_, rest, ok := strings.Cut(path, "/")
		if !ok {
			return ""
		}
		if key, value, ok := strings.Cut(rest, "/"); ok && (key == "01" || key == "gtin") {
			value, _, _ = strings.Cut(value, "/")
			return value
		}
		path = rest
	}
}

// checkDigit is the last digit of a GTIN, by those before it.
func checkDigit(digits string) byte {
	sum := 0
	for i := range digits {
		weight := 1
		if (len(digits)-i)%2 == 1 {
			weight = 3
		}
		sum += weight * int(digits[i]-'0')
	}
	return '0' + byte((10-sum%10)%10)
}

// isbn13 makes an ISBN-13 of an ISBN-10 whose own check digit, 0 to 9 or X for ten, is right.
func isbn13(s string) (string, bool) {
	if strings.Trim(s[:9], "0123456789") != "" || strings.Trim(s, "0") == "" {
		return "", false
	}
	sum := 0
	for i := range 10 {
		d := int(s[i] - '0')
		if i == 9 && (s[i] == 'X' || s[i] == 'x') {
			d = 10
		}
		sum += (10 - i) * d
	}
	if sum%11 != 0 || strings.Trim(s[9:], "0123456789Xx") != "" {
		return "", false
	}
	s = "978" + s[:9]
	return s + string(checkDigit(s)), true
}
