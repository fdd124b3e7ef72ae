package price

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
)

// codes are ISO 4217, and three that pages of a few years ago still show.
const codes = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF " +
	"CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF " +
	"IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK " +
	"MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR " +
	"SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES " +
	"VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG BGN HRK ANG"

// lower are codes that pages write in any case; the others read in capitals only.
const lower = "AED AUD BRL CAD CHF CZK DKK EUR GBP HKD HUF IDR INR JPY KRW KZT MXN MYR NOK NZD PLN SGD THB TWD " +
	"UAH USD VND ZAR"

const dollars = "USD CAD AUD NZD SGD HKD TWD MXN ARS CLP COP UYU BBD BMD BND BSD BZD CUP DOP FJD GYD JMD KYD LRD NAD SBD " +
	"SRD TTD XCD"

// symbols lists the names of currencies, and the codes that each name may mean: the first where nothing else is known,
// none where that is "?". A name in lower case stands for any case, one with a capital for itself; "_" is a space.
var symbols = []struct{ names, codes string }{
	{"€ euro euros eur. євро евро ευρώ eurot euroa", "EUR"},
	{"$ ＄ ﹩ dollar dollars dólares доллар доллара долларов", "? " + dollars},
	{"US$ US_$ U$S U$ usd$ $US $_US $usd $_usd us_dollar us_dollars USD_$ US＄", "USD"},
	{"CA$ CA_$ C$ C_$ can$ cad$ cdn$ cdn_$ $CA $_CA $CAN $_CAN $C $cad $_cad $cdn", "CAD"},
	{"A$ A_$ AU$ AU_$ aud$ AUS$ $AU $aud $_aud", "AUD"},
	{"NZ$ NZ_$ nzd$ $NZ $nzd $_nzd", "NZD"},
	{"S$ SG$ sgd$ $sgd", "SGD"},
	{"HK$ HK_$ hkd$ $hkd HK＄", "HKD"},
	{"NT$ NT_$ ntd ntd$ NT＄ 新台幣 新臺幣 台幣", "TWD"},
	{"MX$ Mex$ mxn$ $mxn $_mxn mxp m.n.", "MXN"},
	{"AR$ ars$ $ars", "ARS"},
	{"CLP$ CL$ $clp", "CLP"},
	{"COP$ COL$ $cop", "COP"},
	{"$U UYU$ U$U", "UYU"},
	{"RD$", "DOP"}, {"J$ JA$", "JMD"}, {"TT$", "TTD"}, {"BZ$", "BZD"}, {"B$", "BND"}, {"EC$", "XCD"}, {"Bds$", "BBD"},
	{"FJ$", "FJD"}, {"GY$ G$", "GYD"}, {"N$", "NAD"},
	{"R$ R_$ BRL$ reais", "BRL"},
	{"¢", "? " + dollars},
	{"£ ￡ ₤ pounds_sterling GB£ UK£", "GBP EGP LBP SYP SDG GIP FKP SHP"},
	{"¥ ￥", "? JPY CNY"},
	{"円 yen JP¥ 日元 日圓", "JPY"},
	{"元 圆 圓 块 rmb CN¥ yuan 人民币", "CNY TWD HKD MOP"},
	{"₩ ￦ 원", "KRW"},
	{"₹ रु रु. रुपये ரூ", "INR"},
	{"rs rs. ₨ re. rupees", "INR PKR LKR NPR MUR SCR"},
	{"රු රු.", "LKR"},
	{"৳ টাকা taka tk tk.", "BDT"},
	{"zł zł. zl zl. złotych złote", "PLN"},
	{"kč kč. kc korun", "CZK"},
	{"Ft Ft. forint", "HUF"},
	{"kr kr. kronor kroner krónur", "? SEK NOK DKK ISK"},
	{"dkr dkr.", "DKK"}, {"skr", "SEK"}, {"nkr", "NOK"}, {"ikr", "ISK"},
	{"lei leu lei.", "RON MDL"},
	{"лв лв. лева lv.", "BGN"},
	{"kn kuna", "HRK"},
	{"din din. дин дин. dinara", "RSD MKD"},
	{"ден ден. денари", "MKD"},
	{"KM", "BAM"},
	{"lekë", "ALL"},
	{"₽ руб руб. р р. рублей рубля рубль rub rub. rubles rubley", "RUB BYN"},
	{"Br", "BYN ETB"},
	{"₴ грн грн. гривень гривні", "UAH"},
	{"₸ тг тг. тенге", "KZT"},
	{"сум so'm soʻm so‘m", "UZS"},
	{"сом", "KGS"},
	{"₾ ლარი", "GEL"}, {"֏ դր դր. դրամ", "AMD"}, {"₼ manat", "AZN"}, {"₮ төгрөг", "MNT"},
	{"Fr Fr. sfr sfr. francs", "CHF"},
	{"fcfa f_cfa cfa francs_cfa", "XOF XAF"},
	{"fcfp f_xpf", "XPF"},
	{"₺ TL TL. Tl lira", "TRY"},
	{"₪ ש\"ח ש״ח שח NIS", "ILS"},
	{"د.إ د.إ. درهم Dhs Dhs. DHS Dh DH dh dhs", "AED MAD"},
	{"د.م. د.م", "MAD"},
	{"ر.س ر.س. SR S.R.", "SAR"},
	{"ر.ق ر.ق. QR", "QAR"},
	{"ر.ع ر.ع.", "OMR"},
	{"ريال ﷼ ریال", "SAR QAR OMR YER IRR"},
	{"د.ك د.ك. KD", "KWD"}, {"د.ب د.ب. BD", "BHD"}, {"د.أ د.أ. JD", "JOD"}, {"د.ت د.ت. DT", "TND"},
	{"د.ج د.ج. دج DA", "DZD"}, {"د.ع د.ع.", "IQD"}, {"ج.م ج.م. جنيه LE L.E. L.E", "EGP"}, {"ل.ل ل.ل. L.L.", "LBP"},
	{"تومان toman", "?"}, // ten rials, and no code of its own
	{"฿ บาท baht", "THB"}, {"₫ đ vnđ đồng", "VND"}, {"Rp Rp. RP", "IDR"}, {"RM", "MYR"}, {"₱", "PHP"}, {"₭", "LAK"},
	{"៛", "KHR"}, {"Ks kyat", "MMK"}, {"₡", "CRC"}, {"S/ S/. soles", "PEN"}, {"Bs Bs. Bs.S", "VES BOB"},
	{"₲ Gs Gs. guaraníes", "PYG"}, {"B/. B/", "PAB"}, {"Q", "GTQ"}, {"L Lps Lps. lempiras", "HNL"},
	{"pesos", "? MXN ARS CLP COP UYU PHP CUP DOP"},
	{"₦ naira", "NGN"}, {"₵ GH₵ GH¢ GHc", "GHS"}, {"KSh KSh. KShs Ksh Ksh. Kshs", "KES"}, {"TSh TSh.", "TZS"},
	{"USh USh.", "UGX"}, {"R rand", "ZAR"}, {"MK", "MWK"}, {"ZK", "ZMW"},
}

// faint are names that say something else, too. Away from their country they count only beside a number that is written
// like money: "2 L", "TRY 3", "4 CUP" are no prices, "R 1 299" and "TRY 3.50" are.
const faint = "ALL AMD ANG BAM BOB COP CUP DOP ERN GEL GIP LAK MAD MOP PEN PHP RON SCR SOS TOP TRY R L Q KM Ft Br BD DA " +
	"DT JD KD LE SR QR Bs Gs Ks MK ZK Dh DH dh rand re. cfa"

// faintBefore are faint only where they stand before the number: "din 912", and not "912 din".
const faintBefore = "TL Tl Fr Fr. kn din din. lira kc zl lv. р р. rub francs dollar dollars euro euros"

// A meaning is the currency that a name stands for.
type meaning struct {
	codes []string
	vague bool // without a hint it is none of them
}

// names holds every name, those of any case in lower case.
var names = func() map[string]meaning {
	m := map[string]meaning{}
	for code := range strings.FieldsSeq(codes) {
		m[code] = meaning{codes: []string{code}}
	}
	for code := range strings.FieldsSeq(lower) {
		m[strings.ToLower(code)] = m[code]
	}
	for _, s := range symbols {
		rest, vague := strings.CutPrefix(s.codes, "?")
		for name := range strings.FieldsSeq(s.names) {
			m[strings.ReplaceAll(name, "_", " ")] = meaning{codes: strings.Fields(rest), vague: vague}
		}
	}
	return m
}()

var faintNames, faintBeforeNames = set(faint), set(faint + " " + faintBefore)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		m[name] = true
	}
	return m
}

// longest is the length of the longest name, in runes.
var longest = func() (n int) {
	for name := range names {
		n = max(n, utf8.RuneCountInString(name))
	}
	return n
}()

// beginnings holds all beginnings of names, in lower case, and endings all ends of them, their runes in reverse.
var beginnings, endings = func() (begin, end map[string]bool) {
	begin, end = map[string]bool{}, map[string]bool{}
	for name := range names {
		var forth, back []byte
		for _, r := range strings.ToLower(name) {
			forth = utf8.AppendRune(forth, r)
			begin[string(forth)] = true
		}
		for rest := strings.ToLower(name); rest != ""; {
			r, size := utf8.DecodeLastRuneInString(rest)
			rest = rest[:len(rest)-size]
			back = utf8.AppendRune(back, r)
			end[string(back)] = true
		}
	}
	return begin, end
}()

// A spelled is what was read of a name, as the keys of beginnings are.
type spelled struct {
	b    [64]byte
	n    int
	most map[string]bool
}

// goesOn says that a name may be what was read and r. White space is one space.
func (s *spelled) goesOn(r rune) bool {
	if unicode.IsSpace(r) {
		if r = ' '; s.n > 0 && s.b[s.n-1] == ' ' {
			return true
		}
	}
	s.n += len(utf8.AppendRune(s.b[s.n:s.n], unicode.ToLower(r)))
	return s.n <= len(s.b)-utf8.UTFMax && s.most[string(s.b[:s.n])]
}

// find looks a name up and returns the spelling under which it is listed.
func find(name string) (string, meaning, bool) {
	m, ok := names[name]
	if ok || strings.TrimSpace(name) != name {
		return name, m, ok
	}
	if words := strings.Fields(name); len(words) > 1 { // parted by any space
		name = strings.Join(words, " ")
		if m, ok = names[name]; ok {
			return name, m, true
		}
	}
	name = strings.ToLower(name)
	m, ok = names[name]
	return name, m, ok
}

// in returns the code that is meant; "" = several may be.
func (m meaning) in(h Hint) string {
	switch {
	case slices.Contains(m.codes, h.Currency):
		return h.Currency
	case !m.vague:
		return m.codes[0]
	case slices.Contains(m.codes, h.Home):
		return h.Home
	case h.Currency != "" && len(m.codes) > 0 && m.codes[0] == "USD":
		return "USD" // abroad, a dollar is that of the United States
	}
	return ""
}

// CurrencyOf returns the ISO 4217 code of a symbol, code or name as a page writes it. Where it can mean several, the
// hint's is taken, or else the most common; "" = not known, or too open to say ("$", "kr", "¥").
func CurrencyOf(symbol string, h Hint) string {
	symbol = strings.TrimFunc(symbol, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(":()[]", r)
	})
	if len(symbol) > 64 {
		return ""
	}
	if _, m, ok := find(symbol); ok {
		return m.in(h)
	}
	if m, ok := names[strings.ToUpper(symbol)]; ok && len(symbol) == 3 {
		return m.in(h)
	}
	return ""
}

// renewed are regions whose currency has changed since the tables of golang.org/x/text were made.
var renewed = map[string]string{"BG": "EUR", "BY": "BYN", "CW": "XCG", "HR": "EUR", "LT": "EUR", "LV": "EUR",
	"MR": "MRU", "SL": "SLE", "ST": "STN", "SX": "XCG", "VE": "VES", "ZM": "ZMW", "ZW": "ZWG"}

// international are country domains that stand for no country.
var international = set("ac ad ai as bz cc cd co dj fm gg gl im io je la li ly me ms mu nu pw sc sh so st sx tf tk " +
	"tl to tv vc vg vu ws")

// places are the domains in IANA's root zone database whose currency is not that of two letters: those of cities,
// regions and their languages, by the currency of their country, and of countries the few that are no region's code.
// Those that are words or of many countries as well (.irish, .ist, .africa, .krd) name no currency.
var places = func() map[string]string {
	m := map[string]string{}
	for code, names := range map[string]string{
		"EUR": "eu alsace amsterdam barcelona bayern bcn berlin brussels bzh cat cologne corsica eus frl gal gent hamburg " +
			"helsinki koeln madrid nrw paris ruhr saarland tirol vlaanderen wien",
		"CAD": "quebec", "USD": "boston miami nyc vegas", "GBP": "uk cymru london scot wales", "CHF": "swiss zuerich",
		"JPY": "kyoto nagoya okinawa osaka ryukyu tokyo yokohama", "AUD": "melbourne sydney", "NZD": "kiwi",
		"SEK": "stockholm", "HUF": "budapest", "TRY": "istanbul", "ZAR": "capetown durban joburg", "TWD": "taipei",
		"BRL": "rio", "AED": "abudhabi dubai", "QAR": "doha",
		"RUB": "su рф xn--p1ai moscow tatar xn--80adxhks москва", "UAH": "укр xn--j1amh",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = code
		}
	}
	return m
}()

// CurrencyOfHost returns the currency of the country that a host name ends in, or of that of its city ("shop.quebec");
// "" where it ends in none ("shop.com"), or in one whose domain the whole world uses ("shop.io").
func CurrencyOfHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if name, port, ok := strings.Cut(host, ":"); ok && !strings.Contains(port, ":") {
		host = name
	}
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 {
		return ""
	}
	switch tld := host[dot+1:]; {
	case international[tld]:
		return ""
	case places[tld] != "":
		return places[tld]
	case len(tld) == 2:
		return ofRegion(tld)
	}
	return ""
}

// CurrencyOfLanguage returns the currency of a language tag's region: BRL of "pt-BR"; "" where it names none.
func CurrencyOfLanguage(tag string) string {
	t, err := language.Parse(strings.TrimSpace(tag[:min(len(tag), 64)]))
	if err != nil {
		return ""
	}
	if _, _, region := t.Raw(); region.IsCountry() {
		return ofRegion(region.String())
	}
	return ""
}

// homes are the languages that are mostly written in one country whose currency shares its sign, kr or ¥, with others.
var homes = map[string]string{"da": "DKK", "is": "ISK", "ja": "JPY", "nb": "NOK", "nn": "NOK", "no": "NOK", "sv": "SEK",
	"zh": "CNY"}

// HomeOfLanguage returns which kr or ¥ is meant in a language whose tag names no region: JPY of "ja"; "" where there
// are several. A shop that writes it may well sell in another currency, so that it is no meaning of other signs.
func HomeOfLanguage(tag string) string {
	t, err := language.Parse(strings.TrimSpace(tag[:min(len(tag), 64)]))
	if err != nil {
		return ""
	}
	base, script, region := t.Raw()
	if region != (language.Region{}) || script.String() == "Hant" {
		return ""
	}
	return homes[base.String()]
}

func ofRegion(code string) string {
	if c, ok := renewed[strings.ToUpper(code)]; ok {
		return c
	}
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() {
		return ""
	}
	unit, ok := currency.FromRegion(region)
	if !ok {
		return ""
	}
	return unit.String()
}

// A symbol is a currency's name beside a number.
type symbol struct {
	meaning
	name       string // as it is listed
	start, end int    // bytes of the text
	spaced     bool   // something stands between it and the number
}

// joint tells whether a rune may stand between a currency and its number.
func joint(r rune) bool {
	return unicode.IsSpace(r) || r == ':' || r == '(' || r == '[' || r == '=' || unicode.Is(unicode.Cf, r)
}

// symbolBefore finds the currency that stands before a number, at or after from.
func symbolBefore(text string, from, at int) (symbol, bool) {
	end := at
	for range 5 {
		r, size := utf8.DecodeLastRuneInString(text[from:end])
		if size == 0 || !joint(r) {
			break
		}
		end -= size
	}
	starts := make([]int, 0, 32)
	read := spelled{most: endings}
	for start := end; start > from && len(starts) < longest; {
		r, size := utf8.DecodeLastRuneInString(text[from:start])
		if !read.goesOn(r) {
			break
		}
		start -= size
		starts = append(starts, start)
	}
	for _, start := range slices.Backward(starts) {
		name, m, ok := find(text[start:end])
		if !ok || letterAt(text, start) && wordBefore(text, start) {
			continue
		}
		return symbol{m, name, start, end, end < at}, true
	}
	return symbol{}, false
}

// symbolAfter finds the currency that stands after a number.
func symbolAfter(text string, at int) (symbol, bool) {
	start := at
	for range 5 {
		r, size := utf8.DecodeRuneInString(text[start:])
		if size == 0 || !joint(r) && r != '*' {
			break
		}
		start += size
	}
	ends := make([]int, 0, 32)
	read := spelled{most: beginnings}
	for end := start; end < len(text) && len(ends) < longest; {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !read.goesOn(r) {
			break
		}
		end += size
		ends = append(ends, end)
	}
	for _, end := range slices.Backward(ends) {
		name, m, ok := find(text[start:end])
		if !ok || letterBefore(text, end) && letterAt(text, end) {
			continue
		}
		return symbol{m, name, start, end, start > at}, true
	}
	return symbol{}, false
}

// wordBefore tells whether a letter or digit stands before a name, which then is a part of something longer.
func wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// gluedToNumber tells whether a digit follows at once.
func gluedToNumber(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	_, ok := digit(r)
	return ok
}

// refines tells whether a currency after the number says which one is meant by that before it: "$ 10 CAD".
func (s symbol) refines(before symbol) bool {
	return len(s.codes) == 1 && slices.Contains(before.codes, s.codes[0]) && s.name != before.name
}

// faint tells whether the name may say something else where it stands.
func (s symbol) faint(before bool) bool {
	if before {
		return faintBeforeNames[s.name]
	}
	return faintNames[s.name]
}

// subunits are the hundredths of currencies.
var subunits = set("коп коп. копеек копейки копійок cents cent ct ct. gr gr. groszy øre öre bani стотинки")

// readSubunits reads "50 коп." after a whole amount and its currency, as two digits.
func readSubunits(text string, at int) (digits string, end int) {
	skip := func() {
		if r, size := utf8.DecodeRuneInString(text[at:]); size > 0 && (separator(r) == ' ' || r == '\n') {
			at += size
		}
	}
	skip()
	digits, at = readDigits(text, at)
	if len(digits) == 0 || len(digits) > 2 {
		return "", 0
	}
	skip()
	end = at
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsLetter(r) || end-at > 32 {
			break
		}
		end += size
	}
	if end < len(text) && text[end] == '.' && subunits[text[at:end]+"."] {
		end++
	}
	if !subunits[text[at:end]] {
		return "", 0
	}
	return strings.Repeat("0", 2-len(digits)) + digits, end
}
