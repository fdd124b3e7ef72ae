package draft

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/price"
)

// A state is the JSON and the JavaScript objects in the scripts of a page: "price": 12.99. It does not say which
// product they are about, so it only speaks for values that are found elsewhere, too.
type state struct {
	prices map[string]float64 // canonical amount → points
	finals map[string]int     // canonical amount → how often a key says that it is the final price
	ids    map[string]int     // value of sku, productId, … → how often
	mpns   map[string]int
	gtins  map[string]int
	brands map[string]int
	sku    string // the value of the key sku, if there is one; of several, the first after the key variants
	in, no int    // how often a key about stock says that something can be had, and that it cannot
}

// Limits on reading scripts.
const (
	maxScripts = 8 << 20 // bytes
	maxKey     = 40
	maxValue   = 80
)

// stateOf reads the scripts of a page. Only "key: value" is understood, wherever it stands.
func stateOf(w weights, scripts []string, hint price.Hint) state {
	s := state{prices: map[string]float64{}, finals: map[string]int{}, ids: map[string]int{}, mpns: map[string]int{},
		gtins: map[string]int{}, brands: map[string]int{}}
	var skus skuKeys
	amounts := map[string]string{} // of the values read before: scripts repeat them
	left := maxScripts
	for _, script := range scripts {
		if left -= len(script); left < 0 {
			break
		}
		for i := 0; i < len(script); i++ {
			n := strings.IndexByte(script[i:], ':')
			if n < 0 {
				break
			}
			i += n
			kind := keyed(stateKeys, keyBefore(script, i))
			if kind == 0 {
				continue
			}
			value := valueAfter(script, i+1)
			switch {
			case kind == 'b' && value == "":
				value = fieldAfter(script, i+1, nameField)
			case kind == 's' && value == "":
				value = truthAfter(script, i+1)
			}
			if value == "" {
				continue
			}
			switch kind {
			case 'p', 'P':
				amount, ok := amounts[value]
				if !ok {
					if m, ok := price.Parse(value, hint); ok && !isZero(m.Amount) {
						amount = canonical(m.Amount)
					}
					amounts[value] = amount
				}
				if amount == "" {
					continue
				}
				worth := w[priceScript]
				if kind == 'P' {
					worth = w[priceScriptFinal]
					s.finals[amount]++
				}
				s.prices[amount] = max(s.prices[amount], worth)
			case 'i', 'k':
				count(s.ids, value)
				if kind == 'k' {
					skus.add(value, script[:i])
				}
			case 'm':
				count(s.mpns, value)
			case 'g':
				if g, ok := GTIN(value); ok {
					count(s.gtins, g)
				}
			case 'b':
				count(s.brands, value)
			case 's', 'S':
				switch strings.ToLower(unspaced.Replace(value)) {
				case "instock", "lowstock", "available", "true", "preorder", "backorder", "limitedavailability":
					s.in++
				case "outofstock", "soldout", "unavailable", "notavailable", "false", "discontinued":
					s.no++
				}
			}
		}
	}
	s.sku = skus.best()
	return s
}

// mostValues is how many values of a field are kept of the scripts.
const mostValues = 5_000

func count(seen map[string]int, value string) {
	if len(seen) < mostValues || seen[value] > 0 {
		seen[value]++
	}
}

// skuKeys are the values of the key sku in scripts.
type skuKeys struct {
	first, variant string // the first of all, and the first after the key variants
	several        bool
	tried          int // how often a list of variants was looked for
}

// add notes a value that stands behind a part of a script.
func (k *skuKeys) add(value, before string) {
	if value = code(value); value == "" {
		return
	}
	switch {
	case k.first == "":
		k.first = value
	case k.first != value:
		k.several = true
	}
	if k.variant == "" && k.tried < 50 {
		k.tried++
		if strings.Contains(before[max(len(before)-maxVariantsKey, 0):], "variants") {
			k.variant = value
		}
	}
}

// maxVariantsKey is how far before a number the key of the list of variants may stand, in bytes.
const maxVariantsKey = 4000

// best is the value that is the product's, "" where that is not known.
func (k *skuKeys) best() string {
	if k.several {
		return k.variant
	}
	return k.first
}

// price is the points that scripts add to an amount.
func (s state) price(amount string) float64 { return s.prices[canonical(amount)] }

// likeliest is the amount that most keys call the final price, "" where none or two do.
func (s state) likeliest() string {
	best, most, tie := "", 0, false
	for amount, n := range s.finals {
		switch {
		case n > most:
			best, most, tie = amount, n, false
		case n == most:
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}

// stateKeys are the keys that tell something, lower case without separators.
var stateKeys = func() map[string]byte {
	m := map[string]byte{}
	add := func(kind byte, list string) {
		for _, k := range strings.Fields(list) {
			m[k] = kind
		}
	}
	add('p', `price unitprice baseprice amount value displayprice formattedprice priceamount itemprice pricevalue
		prix preis precio prezzo preco lowprice`)
	add('P', `saleprice finalprice currentprice sellingprice offerprice productprice nowprice specialprice
		productpricelocal ecommprodvalue ecommtotalvalue ecommpvalue totalvalue prodprice productdiscountprice
		discountedprice promoprice pricecurrent finalpriceamount unitsaleprice`)
	add('k', "sku")
	add('i', `productid productsku itemid prodid ecommprodid productcode articlenumber itemnumber asin pid
		productnumber skuid masterid variationid modelnumber partnumber articleid ecommpid reference productreference
		styleid stylecode parentsku defaultsku`)
	add('m', `mpn manufacturerpartnumber mfrpartno manufacturernumber modelno vendorpartnumber`)
	add('g', `gtin gtin13 gtin12 gtin14 gtin8 ean ean13 upc isbn barcode eancode isbn13`)
	add('s', `availability availabilitystatus stockstatus stockstate stockavailability inventorystatus instock
		isinstock available isavailable`)
	add('S', "status") // of anything, which may be true or false
	add('b', `brand brandname productbrand manufacturer marca marke itembrand vendor manufacturername brandlabel`)
	return m
}()

// currencyKeys are those of the currency that a page shows its prices in.
var currencyKeys = wordSet(`currency currencycode pricecurrency currencyiso currencyisocode isocurrencycode shopcurrency
	storecurrency currentcurrency activecurrency currencyid`)

// currencyFields are those of an object that a currency is: {"active": "CAD", "rate": "1.0"}.
var currencyFields = wordSet("active code isocode currencycode")

// currencyIn is the currency that scripts name, "" where they name none or, as for a choice of them, several. What they
// assign, which may be a default, counts where no key names one.
func currencyIn(scripts []string) string {
	const word = "urrency"
	const several = "-"
	var key, assigned string
	left := maxScripts
	for _, script := range scripts {
		if left -= len(script); left < 0 {
			break
		}
		for i := 0; ; {
			n := strings.Index(script[i:], word)
			if n < 0 {
				break
			}
			i += n + len(word)
			is := strings.IndexAny(script[i:min(i+16, len(script))], ":=")
			if is < 0 || !keyed(currencyKeys, keyBefore(script, i+is)) || script[i+is] == '=' && isParameter(script[:i]) {
				continue
			}
			v := cmp.Or(valueAfter(script, i+is+1), fieldAfter(script, i+is+1, currencyFields))
			code := &key
			if script[i+is] == '=' {
				code = &assigned
			}
			switch {
			case !isCode(v) || price.CurrencyOf(v, price.Hint{}) == "" || v == *code:
			case *code == "":
				*code = v
			default:
				*code = several
			}
		}
	}
	if code := cmp.Or(key, assigned); code != several {
		return code
	}
	return ""
}

// isParameter says that the name that s ends in is one of a function's parameters, which may have a default:
// function (amount, currency = "USD").
func isParameter(s string) bool {
	s = strings.TrimRight(strings.TrimRightFunc(s[max(len(s)-40, 0):], func(r rune) bool {
		return r < utf8.RuneSelf && isWord(byte(r))
	}), " ")
	return strings.HasSuffix(s, "(") || strings.HasSuffix(s, ",")
}

// keyBefore is the object key that ends before a colon; "" = none.
func keyBefore(s string, colon int) string {
	i := colon
	for i > 0 && (s[i-1] == ' ' || s[i-1] == '"' || s[i-1] == '\'' || s[i-1] == '\\') && colon-i < 6 {
		i--
	}
	end := i
	for i > 0 && (isWord(s[i-1]) || s[i-1] == '-') && end-i < maxKey {
		i--
	}
	if end == i || end-i == maxKey {
		return ""
	}
	return s[i:end]
}

// keyed is what a table has for an object key, in lower case and without its separators.
func keyed[V any](table map[string]V, key string) V {
	var room [maxKey]byte
	b := room[:0]
	for i := range len(key) {
		switch c := key[i]; {
		case 'A' <= c && c <= 'Z':
			b = append(b, c+'a'-'A')
		case c != '_' && c != '-':
			b = append(b, c)
		}
	}
	return table[string(b)]
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || isDigit(c)
}

// valueAfter is the string or number after a colon, "" = something else, or too long.
func valueAfter(s string, i int) string {
	for n := 0; i < len(s) && (s[i] == ' ' || s[i] == '\\' || s[i] == '['); n++ {
		if i++; n > 4 {
			return ""
		}
	}
	if i >= len(s) {
		return ""
	}
	from := i
	switch q := s[i]; {
	case q == '"' || q == '\'':
		from++
		for i = from; i < len(s) && i-from <= maxValue; i++ {
			if s[i] == q || s[i] == '\\' && i+1 < len(s) && s[i+1] == q {
				return strings.TrimSpace(unescape(s[from:i]))
			}
		}
		return ""
	case isDigit(q):
		for i < len(s) && (isDigit(s[i]) || s[i] == '.') && i-from < 20 {
			i++
		}
		return strings.TrimRight(s[from:i], ".")
	}
	return ""
}

var nameField = wordSet("name")

// fieldAfter is the first of some fields of the object after a colon: name of {"id": 3, "name": "Lumen"}. "" = there is
// none near its beginning, or it has a part before it.
func fieldAfter(s string, i int, fields map[string]bool) string {
	s = strings.TrimLeft(s[i:min(i+200, len(s))], ` \`)
	if s == "" || s[0] != '{' {
		return ""
	}
	if n := strings.IndexAny(s[1:], "{}"); n >= 0 {
		s = s[:n+1]
	}
	for at, more := range s {
		if more == ':' && keyed(fields, keyBefore(s, at)) {
			return valueAfter(s, at+1)
		}
	}
	return ""
}

// truthAfter is the true or false after a colon, "" = something else.
func truthAfter(s string, i int) string {
	s = strings.TrimLeft(s[i:min(i+12, len(s))], " ")
	for _, v := range []string{"true", "false"} {
		if strings.HasPrefix(s, v) {
			return v
		}
	}
	return ""
}

// unescape undoes the escapes that names are written with in scripts.
func unescape(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	return unescaped.Replace(s)
}

// A replacer builds its table at its first use: one for all pages.
var (
	unspaced  = strings.NewReplacer(" ", "", "_", "", "-", "")
	unescaped = strings.NewReplacer(`\u0026`, "&", `\/`, "/", `\u0027`, "'", `\u002F`, "/", `\u002f`, "/")
)
