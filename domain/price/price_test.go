package price_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/price"
)

// A row is a text, a hint ("EUR", ",", "EUR,"), and the price read: amount, currency and symbol, "-" where there is
// none; nothing where there is no price.
type row struct{ text, hint, want string }

var parsed = []row{
	// English-speaking countries
	{"$1,299.00", "", "1299.00 - $"},
	{"$1,299.00", "USD", "1299.00 USD $"},
	{"$1,299.00", "CAD", "1299.00 CAD $"},
	{"$1,299.00", "EUR", "1299.00 USD $"},
	{"$ 1,299.00", "", "1299.00 - $"},
	{"$12", "", "12 - $"},
	{"Rs 1.5 Lacs", "", "150000 INR Rs"},
	{"PKR 12 lakh", "", "1200000 PKR PKR"},
	{"₹ 0.75 Crore", "", "7500000 INR ₹"},
	{"Rs 5 lacquers", "", "5 INR Rs"},
	{"Rs 1234567 Lacs", "", "1234567 INR Rs"},
	{"$0.99", "", "0.99 - $"},
	{"$.99", "", "0.99 - $"},
	{"$0", "", "0 - $"},
	{"$1,000,000", "", "1000000 - $"},
	{"$1299", "", "1299 - $"},
	{"$007.50", "", "7.50 - $"},
	{"$5.5", "", "5.5 - $"},
	{"$ 5 .99", "", "5.99 - $"},
	{"$5. 99", "", "5.99 - $"},
	{"$19 99", "", "19.99 - $"},
	{"$\n19\n99", "", "19.99 - $"},
	{"63⁰⁷ Lei", "", "63.07 RON Lei"},
	{"$1,000¹", "", "1000 - $"},
	{"$19⁹⁹", "", "19.99 - $"},
	{"US$45.00", "", "45.00 USD US$"},
	{"US $45.00", "", "45.00 USD US $"},
	{"USD 45.00", "", "45.00 USD USD"},
	{"45.00 USD", "", "45.00 USD USD"},
	{"45.00USD", "", "45.00 USD USD"},
	{"USD45", "", "45 USD USD"},
	{"usd 45.00", "", "45.00 USD usd"},
	{"$45.00 USD", "", "45.00 USD USD"},
	{"$45.00 CAD", "", "45.00 CAD CAD"},
	{"$45.00 AUD", "USD", "45.00 AUD AUD"},
	{"$USD 45", "", "45 USD $USD"},
	{"45 dollars", "", "45 - dollars"},
	{"45 dollars", "AUD", "45 AUD dollars"},
	{"45 US dollars", "", "45 USD US dollars"},
	{"Price: $24.95", "", "24.95 - $"},
	{"Our Price:$24.95", "", "24.95 - $"},
	{"Now only $24.95!", "", "24.95 - $"},
	{"$24.95/each", "", "24.95 - $"},
	{"$24.95 / 2 pack", "", "24.95 - $"},
	{"$24.95ea", "", "24.95 - $"},
	{"$2,499.-", "", "2499 - $"},
	{"CA$1,234.56", "", "1234.56 CAD CA$"},
	{"C $1,234.56", "", "1234.56 CAD C $"},
	{"C$ 15.00", "", "15.00 CAD C$"},
	{"CDN$ 15.00", "", "15.00 CAD CDN$"},
	{"1 299,99 $ CA", "", "1299.99 CAD $ CA"},
	{"24,50 $ CAN taxes en sus", "", "24.50 CAD $ CAN"},
	{"24,50 $ US", "", "24.50 USD $ US"},
	{"24,50 $ CARTE", "", "24.50 - $"},
	{"CAD $15.00", "", "15.00 CAD CAD $"},
	{"A$15.00", "", "15.00 AUD A$"},
	{"AU $15.00", "", "15.00 AUD AU $"},
	{"AU$15.00", "", "15.00 AUD AU$"},
	{"NZ$15.00", "", "15.00 NZD NZ$"},
	{"£450", "", "450 GBP £"},
	{"£ 450.00", "", "450.00 GBP £"},
	{"£1,299.99", "", "1299.99 GBP £"},
	{"450 GBP", "", "450 GBP GBP"},
	{"GBP450.50", "", "450.50 GBP GBP"},
	{"£5·99", "", "5.99 GBP £"},
	{"99p", "GBP", "0.99 GBP p"},
	{"5p", "GBP", "0.05 GBP p"},
	{"99¢", "", "0.99 - ¢"},
	{"99¢", "USD", "0.99 USD ¢"},
	{"£12.50", "EGP", "12.50 EGP £"},
	{"was £30 now £25", "", "30 GBP £"},
	{"20% off £80.00", "", "80.00 GBP £"},
	{"(£12.50)", "", "12.50 GBP £"},
	{"€1,299.00", "EUR", "1299.00 EUR €"},

	// The euro's
	{"1.299,00 €", "", "1299.00 EUR €"},
	{"1.299,00€", "", "1299.00 EUR €"},
	{"€ 1.299,00", "", "1299.00 EUR €"},
	{"€1.299", "", "1299 EUR €"},
	{"1 299,00 €", "", "1299.00 EUR €"},
	{"1\u00a0299,00\u00a0€", "", "1299.00 EUR €"},
	{"1\u202f299,00\u202f€", "", "1299.00 EUR €"},
	{"1\u2009299,00 €", "", "1299.00 EUR €"},
	{"1 299 000 €", "", "1299000 EUR €"},
	{"12,90 EUR", "", "12.90 EUR EUR"},
	{"EUR 12,90", "", "12.90 EUR EUR"},
	{"12,90 Euro", "", "12.90 EUR Euro"},
	{"12,90 euros", "", "12.90 EUR euros"},
	{"12 euros", "", "12 EUR euros"},
	{"12€90", "", "12.90 EUR €"},
	{"12 € 90", "", "12.90 EUR €"},
	{"12€ 90", "", "12.90 EUR €"},
	{"€ 12 90", "", "12.90 EUR €"},
	{"€ 12,–", "", "12 EUR €"},
	{"€ 12,-", "", "12 EUR €"},
	{"12,-€", "", "12 EUR €"},
	{"12,– €", "", "12 EUR €"},
	{"12,-- €", "", "12 EUR €"},
	{"12,— €", "", "12 EUR €"},
	{"1.299,- €", "", "1299 EUR €"},
	{"€ 1.299,–", "", "1299 EUR €"},
	{"19,99 € inkl. 19% MwSt.", "", "19.99 EUR €"},
	{"inkl. 19% MwSt. 19,99 €", "", "19.99 EUR €"},
	{"3 für 10 €", "", "10 EUR €"},
	{"2 x 5,00 €", "", "5.00 EUR €"},
	{"ab 9,99 €", "", "9.99 EUR €"},
	{"nur12,90€", "", "12.90 EUR €"},
	{"Preis: 12,90 €*", "", "12.90 EUR €"},
	{"12,90* €", "", "12.90 EUR €"},
	{"à partir de 49,90 €", "", "49.90 EUR €"},
	{"49,90 €/kg", "", "49.90 EUR €"},
	{"49,90 € TTC", "", "49.90 EUR €"},
	{"Prezzo: € 1.234,56", "", "1234.56 EUR €"},
	{"1.234,56 € IVA incl.", "", "1234.56 EUR €"},
	{"1,5 €", "", "1.5 EUR €"},
	{"0,99 €", "", "0.99 EUR €"},
	{",99 €", "", "0.99 EUR €"},
	{"-,99 €", "", "0.99 EUR €"},
	{"ab –,99 €", "", "0.99 EUR €"},
	{"€ -,99", "", "0.99 EUR €"},
	{"1,234.56 €", "", "1234.56 EUR €"},
	{"1’299,00 €", "", "1299.00 EUR €"},
	{"12.345.678,90 €", "", "12345678.90 EUR €"},
	{"€\u00a012,90", "", "12.90 EUR €"},
	{"€&nbsp;", "", ""},
	{"12,90 евро", "", "12.90 EUR евро"},
	{"12,90 ευρώ", "", "12.90 EUR ευρώ"},
	{"40 €12", "", "12 EUR €"},
	{"Gr. 42 59,90 €", "", "59.90 EUR €"},
	{"1.299 €", ".", "1.299 EUR €"},
	{"1.299 €", ",", "1299 EUR €"},
	{"1,299 €", ",", "1.299 EUR €"},
	{"1,299 €", ".", "1299 EUR €"},
	{"1,299 €", "", "1299 EUR €"},
	{"0,299 €", "", "0.299 EUR €"},
	{"1299,000 €", "", "1299.000 EUR €"},
	{"12.9000 €", "", "12.9000 EUR €"},
	{"12,9000 €", "", ""},
	{"12,9000 €", ",", "12.9000 EUR €"},
	{"€12,50 - €20,00", "", "12.50 EUR €"},

	// Switzerland
	{"CHF 1'299.00", "", "1299.00 CHF CHF"},
	{"CHF 1’299.00", "", "1299.00 CHF CHF"},
	{"CHF 12.-", "", "12 CHF CHF"},
	{"CHF 12.–", "", "12 CHF CHF"},
	{"12.- CHF", "", "12 CHF CHF"},
	{"CHF 1'299.–", "", "1299 CHF CHF"},
	{"Fr. 12.90", "", "12.90 CHF Fr."},
	{"SFr. 12.90", "", "12.90 CHF SFr."},
	{"12.90 Fr.", "", "12.90 CHF Fr."},
	{"1'299'000 CHF", "", "1299000 CHF CHF"},
	{"Chf 15", "", "15 CHF Chf"},

	// The north
	{"1 299 kr", "", "1299 - kr"},
	{"1 299 kr", "SEK", "1299 SEK kr"},
	{"1 299 kr", "NOK", "1299 NOK kr"},
	{"1.299,00 kr.", "DKK", "1299.00 DKK kr."},
	{"kr 1.299,00", "NOK", "1299.00 NOK kr"},
	{"kr. 99", "DKK", "99 DKK kr."},
	{"99:-", "SEK", "99 SEK -"},
	{"99:- kr", "SEK", "99 SEK kr"},
	{"1 299:-", "SEK", "1299 SEK -"},
	{"99,50 SEK", "", "99.50 SEK SEK"},
	{"SEK 99.50", "", "99.50 SEK SEK"},
	{"DKK 1.299,95", "", "1299.95 DKK DKK"},
	{"NOK 1 299,-", "", "1299 NOK NOK"},
	{"1299,- kr", "NOK", "1299 NOK kr"},
	{"4.990 kr.", "ISK", "4990 ISK kr."},
	{"249 kronor", "SEK", "249 SEK kronor"},
	{"KR 249", "NOK", "249 NOK KR"},

	// Middle and eastern Europe
	{"1 299,00 zł", "", "1299.00 PLN zł"},
	{"1299 zł", "", "1299 PLN zł"},
	{"129,90zł", "", "129.90 PLN zł"},
	{"129,90 ZŁ", "", "129.90 PLN ZŁ"},
	{"129,90 zl", "", "129.90 PLN zl"},
	{"PLN 129.90", "", "129.90 PLN PLN"},
	{"1299,- Kč", "", "1299 CZK Kč"},
	{"1 299 Kč", "", "1299 CZK Kč"},
	{"12 990,50 Kč", "", "12990.50 CZK Kč"},
	{"1 299 CZK", "", "1299 CZK CZK"},
	{"12 990 Ft", "", "12990 HUF Ft"},
	{"12.990 Ft", "", "12990 HUF Ft"},
	{"990 Ft", "HUF", "990 HUF Ft"},
	{"12990 HUF", "", "12990 HUF HUF"},
	{"1.299,99 Lei", "", "1299.99 RON Lei"},
	{"1.299,99 RON", "", "1299.99 RON RON"},
	{"99 lei", "", "99 RON lei"},
	{"99 lei", "MDL", "99 MDL lei"},
	{"24,90 лв.", "", "24.90 BGN лв."},
	{"24,90 лв", "", "24.90 BGN лв"},
	{"1.299,00 kn", "", "1299.00 HRK kn"},
	{"12.990,00 RSD", "", "12990.00 RSD RSD"},
	{"12.990,00 din.", "", "12990.00 RSD din."},
	{"12.990 дин.", "", "12990 RSD дин."},
	{"29,90 KM", "", "29.90 BAM KM"},
	{"1 290 ден.", "", "1290 MKD ден."},
	{"1 299 руб.", "", "1299 RUB руб."},
	{"1 299 руб. 50 коп.", "", "1299.50 RUB руб."},
	{"5 руб. 5 коп.", "", "5.05 RUB руб."},
	{"1 299 ₽", "", "1299 RUB ₽"},
	{"1299₽", "", "1299 RUB ₽"},
	{"1 299 р.", "", "1299 RUB р."},
	{"1 299 рублей", "", "1299 RUB рублей"},
	{"1 299,90 RUB", "", "1299.90 RUB RUB"},
	{"25 руб.", "BYN", "25 BYN руб."},
	{"Цена: 12 500 ₽", "", "12500 RUB ₽"},
	{"1 299 грн", "", "1299 UAH грн"},
	{"1 299 грн.", "", "1299 UAH грн."},
	{"₴1 299", "", "1299 UAH ₴"},
	{"12 990 ₸", "", "12990 KZT ₸"},
	{"12 990 тг.", "", "12990 KZT тг."},
	{"129 000 сум", "", "129000 UZS сум"},
	{"29.90 ₾", "", "29.90 GEL ₾"},
	{"₼ 29.90", "", "29.90 AZN ₼"},
	{"12,900 ֏", "", "12900 AMD ֏"},

	// Turkey, the Near East, Africa
	{"1.299,90 TL", "", "1299.90 TRY TL"},
	{"1.299,90 ₺", "", "1299.90 TRY ₺"},
	{"₺1.299,90", "", "1299.90 TRY ₺"},
	{"150 TL", "", "150 TRY TL"},
	{"TRY 1.299,90", "", "1299.90 TRY TRY"},
	{"₪199.90", "", "199.90 ILS ₪"},
	{"199.90 ₪", "", "199.90 ILS ₪"},
	{"199 ש\"ח", "", "199 ILS ש\"ח"},
	{"NIS 199", "", "199 ILS NIS"},
	{"AED 1,299.00", "", "1299.00 AED AED"},
	{"1,299.00 AED", "", "1299.00 AED AED"},
	{"1,299.00 د.إ", "", "1299.00 AED د.إ"},
	{"Dhs. 99", "", "99 AED Dhs."},
	{"١٬٢٩٩٫٠٠ د.إ", "", "1299.00 AED د.إ"},
	{"١٢٣٫٤٥ ر.س", "", "123.45 SAR ر.س"},
	{"٩٩ ريال", "", "99 SAR ريال"},
	{"٩٩ ريال", "QAR", "99 QAR ريال"},
	{"SAR 1,299", "", "1299 SAR SAR"},
	{"SR 99.00", "", "99.00 SAR SR"},
	{"KWD 1.299", "", "1.299 KWD KWD"},
	{"1.500 د.ك", "", "1.500 KWD د.ك"},
	{"KD 12.500", "KWD", "12.500 KWD KD"},
	{"OMR 5.250", "", "5.250 OMR OMR"},
	{"12,500 DT", "TND", "12.500 TND DT"},
	{"QAR 450", "", "450 QAR QAR"},
	{"EGP 1,299.00", "", "1299.00 EGP EGP"},
	{"1,299.00 ج.م", "", "1299.00 EGP ج.م"},
	{"LE 1,299.00", "", "1299.00 EGP LE"},
	{"۱۲۳٬۰۰۰ تومان", "", "123000 - تومان"},
	{"۱۲۳،۰۰۰ ریال", "IRR", "123000 IRR ریال"},
	{"DH 299,00", "MAD", "299.00 MAD DH"},
	{"299,00 MAD", "", "299.00 MAD MAD"},
	{"4 500 DA", "DZD", "4500 DZD DA"},
	{"15 000 FCFA", "", "15000 XOF FCFA"},
	{"15 000 FCFA", "XAF", "15000 XAF FCFA"},
	{"₦12,500", "", "12500 NGN ₦"},
	{"NGN 12,500.00", "", "12500.00 NGN NGN"},
	{"KSh 1,299", "", "1299 KES KSh"},
	{"KES 1,299", "", "1299 KES KES"},
	{"GH₵ 99.00", "", "99.00 GHS GH₵"},
	{"R 1 299.00", "", "1299.00 ZAR R"},
	{"R1,299.00", "", "1299.00 ZAR R"},
	{"R 299", "ZAR", "299 ZAR R"},
	{"R299", "ZAR", "299 ZAR R"},
	{"ZAR 299", "", "299 ZAR ZAR"},

	// Asia
	{"₹12,34,567.00", "", "1234567.00 INR ₹"},
	{"₹1,29,900", "", "129900 INR ₹"},
	{"₹ 2,433", "", "2433 INR ₹"},
	{"₹2433", "", "2433 INR ₹"},
	{"Rs. 2,433", "", "2433 INR Rs."},
	{"Rs.2433", "", "2433 INR Rs."},
	{"Rs 2,433.00", "", "2433.00 INR Rs"},
	{"Rs. 2,433", "PKR", "2433 PKR Rs."},
	{"Rs. 2,433/-", "", "2433 INR Rs."},
	{"INR 2,433.00", "", "2433.00 INR INR"},
	{"₹१,२९९", "", "1299 INR ₹"},
	{"PKR 12,500", "", "12500 PKR PKR"},
	{"৳ 1,250", "", "1250 BDT ৳"},
	{"৳১,২৫০", "", "1250 BDT ৳"},
	{"Tk. 1,250", "", "1250 BDT Tk."},
	{"රු 4,500", "", "4500 LKR රු"},
	{"¥1,980", "", "1980 - ¥"},
	{"¥1,980", "JPY", "1980 JPY ¥"},
	{"¥199.00", "CNY", "199.00 CNY ¥"},
	{"￥1,980", "JPY", "1980 JPY ￥"},
	{"1,980円", "", "1980 JPY 円"},
	{"1,980 円(税込)", "", "1980 JPY 円"},
	{"１，９８０円", "", "1980 JPY 円"},
	{"10万円", "", "100000 JPY 円"},
	{"1万5000円", "", "15000 JPY 円"},
	{"1.5万円", "", "15000 JPY 円"},
	{"12万8,000円", "", "128000 JPY 円"},
	{"JPY 1980", "", "1980 JPY JPY"},
	{"199元", "", "199 CNY 元"},
	{"199.00 元", "TWD", "199.00 TWD 元"},
	{"CN¥199", "", "199 CNY CN¥"},
	{"RMB 199", "", "199 CNY RMB"},
	{"人民币 199", "", "199 CNY 人民币"},
	{"NT$1,299", "", "1299 TWD NT$"},
	{"NT$ 1,299", "", "1299 TWD NT$"},
	{"HK$1,299", "", "1299 HKD HK$"},
	{"S$12.90", "", "12.90 SGD S$"},
	{"SGD 12.90", "", "12.90 SGD SGD"},
	{"₩12,900", "", "12900 KRW ₩"},
	{"12,900원", "", "12900 KRW 원"},
	{"12,900 won", "", "12900 - -"},
	{"5만원", "", "50000 KRW 원"},
	{"฿1,299", "", "1299 THB ฿"},
	{"1,299 บาท", "", "1299 THB บาท"},
	{"฿๑,๒๙๙", "", "1299 THB ฿"},
	{"THB 1,299.00", "", "1299.00 THB THB"},
	{"1.299.000 ₫", "", "1299000 VND ₫"},
	{"1.299.000đ", "", "1299000 VND đ"},
	{"299.000 VND", "", "299000 VND VND"},
	{"299,000 VNĐ", "", "299000 VND VNĐ"},
	{"Rp 1.299.000", "", "1299000 IDR Rp"},
	{"Rp1.299.000", "", "1299000 IDR Rp"},
	{"Rp. 299.000", "", "299000 IDR Rp."},
	{"Rp 299.000,00", "", "299000.00 IDR Rp"},
	{"RM 1,299.00", "", "1299.00 MYR RM"},
	{"RM1299", "", "1299 MYR RM"},
	{"₱1,299.00", "", "1299.00 PHP ₱"},
	{"PHP 1,299.00", "", "1299.00 PHP PHP"},
	{"₮129,000", "", "129000 MNT ₮"},

	// Latin America
	{"R$ 1.299,90", "", "1299.90 BRL R$"},
	{"R$1.299,90", "", "1299.90 BRL R$"},
	{"R$ 1299", "", "1299 BRL R$"},
	{"12x de R$ 99,90", "", "99.90 BRL R$"},
	{"BRL 99,90", "", "99.90 BRL BRL"},
	{"$ 1.299,00", "ARS", "1299.00 ARS $"},
	{"$1.299", "ARS", "1299 ARS $"},
	{"$ 129.990", "CLP", "129990 CLP $"},
	{"CLP $129.990", "", "129990 CLP CLP $"},
	{"$ 1.299.000", "COP", "1299000 COP $"},
	{"MX$1,299.00", "", "1299.00 MXN MX$"},
	{"$1,299.00 MXN", "", "1299.00 MXN MXN"},
	{"1,299.00 pesos", "MXN", "1299.00 MXN pesos"},
	{"U$S 1.299", "", "1299 USD U$S"},
	{"S/ 1,299.00", "", "1299.00 PEN S/"},
	{"S/. 99.90", "", "99.90 PEN S/."},
	{"₡12.500", "", "12500 CRC ₡"},
	{"Q 199.00", "", "199.00 GTQ Q"},
	{"L 1,299.00", "", "1299.00 HNL L"},
	{"RD$1,299.00", "", "1299.00 DOP RD$"},
	{"B/. 19.95", "", "19.95 PAB B/."},
	{"Gs. 129.000", "", "129000 PYG Gs."},
	{"$U 1.299", "", "1299 UYU $U"},
	{"Bs. 99,00", "BOB", "99.00 BOB Bs."},

	// Numbers without a currency
	{"1299.00", "", "1299.00 - -"},
	{"1299.00", "EUR", "1299.00 EUR -"},
	{"1,299", "", "1299 - -"},
	{"1299,00", "", "1299.00 - -"},
	{"88", "EUR", "88 EUR -"},
	{"0", "", "0 - -"},
	{"19.9900", "", "19.9900 - -"},
	{"  42 ", "", "42 - -"},
	{"Price: 42.50", "", "42.50 - -"},
	{".99", "", "0.99 - -"},
	{"1 299", "", "1299 - -"},
	{"TRY 3 OF THEM", "", "3 - -"},
	{"iPhone 12", "", "12 - -"},

	// Nothing to pay
	{"Free", "", "0 - -"},
	{"FREE!", "USD", "0 USD -"},
	{"free", "", "0 - -"},
	{"Gratis", "EUR", "0 EUR -"},
	{"gratuit", "", "0 - -"},
	{"Kostenlos", "", "0 - -"},
	{"Бесплатно", "RUB", "0 RUB -"},
	{"無料", "", "0 - -"},
	{"Price: Free", "", "0 - -"},
	{"Free shipping", "", ""},
	{"Free shipping over $50", "", "50 - $"},

	// No prices
	{"", "", ""},
	{"€", "", ""},
	{"Call for price", "", ""},
	{"Sold out", "", ""},
	{"50 %", "", ""},
	{"50%", "", ""},
	{"-20 % €", "", ""},
	{"12.05.2020", "", ""},
	{"12.05.2020 €", "", ""},
	{"2020-05-12", "", ""},
	{"12/05/2020", "", ""},
	{"12:30", "", ""},
	{"v1.2.3", "", ""},
	{"1.2.3.4", "", ""},
	{"4.5 out of 5", "", ""},
	{"4,5 von 5 Sternen", "", ""},
	{"4.5/5", "", ""},
	{"4.5 stars", "", ""},
	{"128GB", "", ""},
	{"10 cm", "", ""},
	{"PS5", "", ""},
	{"#42", "", ""},
	{"4006381333931", "", ""},
	{"+49 30 1234567", "", ""},
	{"$10k", "", ""},
	{"1,23,4 €", "", ""},
	{"1.23.45 €", "", ""},
	{"9999999999999 €", "", ""},
}

func TestParse(t *testing.T) {
	t.Parallel()

	require.GreaterOrEqual(t, len(parsed), 250)
	for _, r := range parsed {
		t.Run(r.text+" "+r.hint, func(t *testing.T) {
			t.Parallel()
			p, ok := price.Parse(r.text, hint(r.hint))
			if got := show(p, ok); got != r.want {
				t.Errorf("Parse(%q, %q) = %q, want %q", r.text, r.hint, got, r.want)
			}
		})
	}
}

func hint(s string) (h price.Hint) {
	if n := len(s); n > 0 && strings.ContainsAny(s[n-1:], ".,") {
		h.Decimal, s = s[n-1], s[:n-1]
	}
	h.Currency = s
	return h
}

func show(p price.Price, ok bool) string {
	if !ok {
		if p != (price.Price{}) {
			return "not zero"
		}
		return ""
	}
	field := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	return p.Amount + " " + field(p.Currency) + " " + field(p.Symbol)
}

// TestAll compares the matches found, with the text of each.
func TestAll(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, text, hint, want string }{
		{"a range", "$10 - $20", "", "$10=10 - $|$20=20 - $"},
		{"a range with one currency", "10 - 20 €", "", "10=10 EUR €|20 €=20 EUR €"},
		{"a number before a dash", "Size 10 - 20 €", "", "20 €=20 EUR €"},
		{"a space after the comma", "Cena 12, 50 zł, 20, 30", "", "12, 50 zł=12.50 PLN zł"},
		{"a range with cents", "12.99 - 15.99 EUR", "", "12.99=12.99 EUR EUR|15.99 EUR=15.99 EUR EUR"},
		{"a weight", "Pesos: 61,8 kg", "MXN", ""},
		{"a word that is a unit, too", "129,90 zł w tym 23% VAT, $49.99 w/ coupon", "",
			"129,90 zł=129.90 PLN zł|$49.99=49.99 - $"},
		{"a size before", "Grösse 42 CHF 159.90, iPhone 15 € 799,00", "", "CHF 159.90=159.90 CHF CHF|€ 799,00=799.00 EUR €"},
		{"a size before, thousands", "Gr. 42 € 1.299", "", "€ 1.299=1299 EUR €"},
		{"another number behind", "12 € 0,75 l; 5 € 4,50 von 5; 12 € 1.299 Stück", "", "12 €=12 EUR €|5 €=5 EUR €|12 €=12 EUR €"},
		{"a letter before", "Grösse L 29,90 €, EOS R 1.299,00 €", "", "29,90 €=29.90 EUR €|1.299,00 €=1299.00 EUR €"},
		{"a letter at home", "R 1 299.00 € 70", "ZAR", "R 1 299.00=1299.00 ZAR R|€ 70=70 EUR €"},
		{"a code and a sign", "COP 129.990 $", "", "COP 129.990=129990 COP COP"},
		{"before and after a reduction", "Was £1,299.00, now £999.00", "", "£1,299.00=1299.00 GBP £|£999.00=999.00 GBP £"},
		{"currencies after", "10 € 20 €", "", "10 €=10 EUR €|20 €=20 EUR €"},
		{"currencies before", "€ 10 € 20", "", "€ 10=10 EUR €|€ 20=20 EUR €"},
		{"glued to the one after", "42 €59,90", "", "€59,90=59.90 EUR €"},
		{"in brackets", "12,90 € (10,84 € netto)", "", "12,90 €=12.90 EUR €|10,84 €=10.84 EUR €"},
		{"price per unit", "1,99 € (3,98 €/kg)", "", "1,99 €=1.99 EUR €|3,98 €=3.98 EUR €"},
		{"two currencies", "USD 10 / EUR 9", "", "USD 10=10 USD USD|EUR 9=9 EUR EUR"},
		{"code after the sign", "$10 CAD or $8 USD", "", "$10 CAD=10 CAD CAD|$8 USD=8 USD USD"},
		{"any space", "US\u00a0$5 US\n$6 R$\u00a0\u00a07", "", "US\u00a0$5=5 USD US\u00a0$|US\n$6=6 USD US\n$|R$\u00a0\u00a07=7 BRL R$"},
		{"lines", "€\n12,90\n€\n13,90", "", "€\n12,90=12.90 EUR €|€\n13,90=13.90 EUR €"},
		{"parts of the amount", "Jetzt 12€90 statt 15€", "", "12€90=12.90 EUR €|15€=15 EUR €"},
		{"cents", "99¢ each", "USD", "99¢=0.99 USD ¢"},
		{"no currency", "12 13.50 14,00", "EUR", ""},
		{"shares", "50% off, 10 % VAT, $20", "", "$20=20 - $"},
		{"a size", "2 L, 330 ml, 12 cm", "", ""},
		{"words that are codes", "TRY 3 TOP 10 ALL 5 4 CUP MAD 2", "", ""},
		{"at home they are codes", "TRY 3", "TRY", "TRY 3=3 TRY TRY"},
		{"a norm", "DIN 912 and PHP 7.4, 10 km, 6 ft", "", ""},
		{"a name", "US$10USB 12€URO", "", "US$10=10 USD US$|12€=12 EUR €"},
		{"other languages", "Peso: 61,800 Ils 20, Rub 250, 10 ans", "", ""},
		{"in a word", "PRICEUR 10 XEUR10", "", ""},
		{"a phone", "Call +44 20 7946 0958", "", ""},
		{"dates", "12.05.2020 13/05/2020 2020-05-14 $5", "", "$5=5 - $"},
		{"thousands by spaces", "12 990 Kč 1 299 Kč", "", "12 990 Kč=12990 CZK Kč|1 299 Kč=1299 CZK Kč"},
		{"an instalment", "12x R$ 10,00 sem juros", "", "R$ 10,00=10.00 BRL R$"},
		{"threshold", "Free shipping over $35. Price $12.99.", "", "$35=35 - $|$12.99=12.99 - $"},
		{"invalid UTF-8", "\xff$10\xff20€\xfe", "", "$10=10 - $|20€=20 EUR €"},
		{"direction marks", "\u200f١٢٣\u00a0\u200fر.س\u200f", "", "١٢٣\u00a0\u200fر.س=123 SAR ر.س"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range price.All(tt.text, hint(tt.hint)) {
				got = append(got, tt.text[m.Start:m.End]+"="+show(m.Price, true))
			}
			assert.Equal(t, tt.want, strings.Join(got, "|"), tt.text)
		})
	}
}

// TestRanges reads both ends of ranges, and what only looks like one.
func TestRanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, hint, lower, upper string }{
		{"$10 - $20", "", "10", "20"},
		{"US $10.49 - 15.20", "", "10.49", "15.20"},
		{"10 - 20 €", "", "10", "20"},
		{"12,99 € – 15,99 €", "", "12.99", "15.99"},
		{"12.99 to 15.99 EUR", "", "12.99", "15.99"},
		{"ab 9,90 € bis 12,90 €", "", "9.90", "12.90"},
		{"10.49 - 15.20", "EUR", "10.49", "15.20"},
		{"£1,299.00 - £999.00", "", "1299.00", ""}, // a reduction
		{"$10 - 20% off", "", "10", ""},
		{"$10 - 12 cm", "", "10", ""},
		{"$10 - €20", "", "10", ""},
		{"$10, $20", "", "10", ""},
		{"$9.99", "", "9.99", ""},
		{"Size 10 - 20 €", "", "20", ""},
		{"12, 50 zł", "", "12.50", ""},
		{"od 12, 50 zł do 13, 50 zł", "", "12.50", "13.50"},
		{"€ 12, 50", "", "12.50", ""},
		{"$10, 20, 30", "", "10", ""},
		{"$10, 50% off", "", "10", ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			p, _ := price.Parse(tt.text, hint(tt.hint))
			if p.Amount != tt.lower || p.To != tt.upper {
				t.Errorf("Parse(%q) = %q to %q; want %q to %q", tt.text, p.Amount, p.To, tt.lower, tt.upper)
			}
			all := price.All(tt.text, hint(tt.hint))
			if tt.hint == "" && (len(all) == 0 || all[0].Amount != tt.lower || all[0].To != tt.upper) {
				t.Errorf("All(%q) = %+v; want %q to %q", tt.text, all, tt.lower, tt.upper)
			}
		})
	}
}

func TestCurrencies(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ in, hint, want string }{
		{"€", "", "EUR"}, {"£", "", "GBP"}, {"US$", "", "USD"}, {"CA$", "", "CAD"}, {"zł", "", "PLN"}, {"Rs.", "", "INR"},
		{"₹", "", "INR"}, {"руб.", "", "RUB"}, {"kr", "", ""}, {"kr", "DKK", "DKK"}, {"kr", "EUR", ""}, {"$", "", ""},
		{"$", "MXN", "MXN"}, {"$", "GBP", "USD"}, {"¥", "", ""}, {"¥", "CNY", "CNY"}, {"eur", "", "EUR"}, {"Gbp", "", "GBP"},
		{"try", "", "TRY"}, {"DEM", "", ""}, {"", "", ""}, {" EUR ", "", "EUR"}, {"XYZ", "", ""}, {"(USD)", "", "USD"},
		{"Euro", "", "EUR"}, {"лв.", "", "BGN"},
	} {
		if got := price.CurrencyOf(tt.in, price.Hint{Currency: tt.hint}); got != tt.want {
			t.Errorf("CurrencyOf(%q, %q) = %q, want %q", tt.in, tt.hint, got, tt.want)
		}
	}
	for host, want := range map[string]string{"amazon.it": "EUR", "x.co.uk": "GBP", "shop.com": "", "www.konzum.hr": "EUR",
		"a.bg": "EUR", "x.io": "", "x.tv": "", "x.de:8443": "EUR", "x.com.br": "BRL", "x.ch": "CHF", "x.in": "INR",
		"x.jp.": "JPY", "X.PL": "PLN", "xn--80ak6aa92e.xn--p1ai": "RUB", "localhost": "", "127.0.0.1": "", "[::1]:80": "",
		"x.eu": "EUR", "": "", "x.qq": "", "x.ca": "CAD", "x.com.au": "AUD", "x.se": "SEK", "x.ru": "RUB", "x.no": "NOK",
		"x.us": "USD", "x.uk": "GBP", "x.su": "RUB", "x.рф": "RUB", "x.укр": "UAH", "x.xn--j1amh": "UAH",
		"x.com.ua": "UAH", "x.co.za": "ZAR", "x.cz": "CZK", "x.hu": "HUF", "x.lt": "EUR", "x.ae": "AED"} {
		assert.Equal(t, want, price.CurrencyOfHost(host), host)
	}
	for tag, want := range map[string]string{"pt-BR": "BRL", "en-GB": "GBP", "pt": "", "en_US": "USD", "es-419": "",
		"zh-Hans-CN": "CNY", "de-AT": "EUR", "fr-CH": "CHF", "x-none": "", "": "", "en-": "", "hr-HR": "EUR", "de-de": "EUR",
		"en-001": "", "da-DK": "DKK"} {
		assert.Equal(t, want, price.CurrencyOfLanguage(tag), tag)
	}
	for tag, want := range map[string]string{"ja": "JPY", "sv": "SEK", "zh": "CNY", "zh-Hans": "CNY", "zh-Hant": "", "zh-HK": "",
		"sv-FI": "", "pl": "", "ko": "", "en": "", "": "", "x-none": ""} {
		assert.Equal(t, want, price.HomeOfLanguage(tag), tag)
	}
	for sign, want := range map[string]string{"¥": "JPY", "$": "", "€": "EUR", "kr": ""} {
		assert.Equal(t, want, price.CurrencyOf(sign, price.Hint{Home: "JPY"}), sign)
	}
}

// TestCurrencyOfPlaces reads the domains of cities and regions. The half set aside has other spellings of
// a host, entries that the table got later, and domains that name no place of one currency.
func TestCurrencyOfPlaces(t *testing.T) {
	t.Parallel()

	for half, hosts := range map[string]map[string]string{
		"open": {"shop.quebec": "CAD", "shop.berlin": "EUR", "shop.tokyo": "JPY", "shop.nyc": "USD", "a.b.zuerich": "CHF",
			"shop.paris.fr": "EUR", "quebec.com": "", "shop.shop": "", "x.cat": "EUR", "x.scot": "GBP", "x.london": "GBP",
			"x.moscow": "RUB", "x.swiss": "CHF", "x.kiwi": "NZD", "x.wales": "GBP", "x.rio": "BRL", "quebec": ""},
		"aside": {"WWW.SHOP.QUEBEC.": "CAD", "shop.melbourne:443": "AUD", "x.helsinki": "EUR", "x.budapest": "HUF",
			"x.dubai": "AED", "x.abudhabi": "AED", "x.doha": "QAR", "x.tatar": "RUB", "x.xn--80adxhks": "RUB", "x.bcn": "EUR",
			"x.москва": "RUB", "x.irish": "", "art.ist": "", "x.africa": "", "x.asia": "", "x.lat": "", "x.arab": "", "x.krd": "",
			"shop.paris.com": "", "berlin.io": "", "quebec.co.uk": "GBP", "x.boston": "USD", "x.taipei": "TWD",
			"x.stockholm": "SEK", "x.istanbul": "TRY", "x.joburg": "ZAR", "x.osaka": "JPY", "x.vlaanderen": "EUR"},
	} {
		for host, want := range hosts {
			if got := price.CurrencyOfHost(host); got != want {
				t.Errorf("%s: CurrencyOfHost(%q) = %q, want %q", half, host, got, want)
			}
		}
	}
}

// TestLinear reads texts that would take for ever if a number were looked at more than a few times.
func TestLinear(t *testing.T) {
	t.Parallel()

	for _, s := range []string{"1 234 567 ", "1.", "1,234,", "$", "$1", "1$", "US $", " ", "R$ 1", "€ ", "9", "万", "1万", "-,",
		"\u200f1", "⁹", "1'", "руб. ", "1:-", "1 - 2 €", "1, 50 ", "1 - ", "$1 - "} {
		price.All(strings.Repeat(s, 1<<18/len(s)), price.Hint{})
		price.Parse(strings.Repeat(s, 1<<18/len(s)), price.Hint{})
	}
}

var amount = regexp.MustCompile(`^(0|[1-9]\d*)(\.\d+)?$`)

func FuzzParse(f *testing.F) {
	for _, r := range parsed {
		f.Add(r.text, r.hint)
	}
	f.Fuzz(func(t *testing.T, text, known string) {
		h := hint(known)
		p, ok := price.Parse(text, h)
		if ok && !amount.MatchString(p.Amount) || !ok && p != (price.Price{}) {
			t.Errorf("Parse(%q, %q) = %+v, %t", text, known, p, ok)
		}
		if p.To != "" && !amount.MatchString(p.To) {
			t.Errorf("Parse(%q, %q) = %+v", text, known, p)
		}
		end := 0
		for _, m := range price.All(text, h) {
			if !amount.MatchString(m.Amount) || m.Symbol == "" || m.Start < end || m.End <= m.Start || m.End > len(text) {
				t.Errorf("All(%q, %q) has %+v after byte %d", text, known, m, end)
			} else if !strings.Contains(text[m.Start:m.End], m.Symbol) || !utf8.ValidString(m.Amount) {
				t.Errorf("All(%q, %q): %q does not hold %q", text, known, text[m.Start:m.End], m.Symbol)
			}
			end = m.End
		}
		price.CurrencyOf(text, h)
		price.CurrencyOfHost(text)
		price.CurrencyOfLanguage(text)
		price.HomeOfLanguage(text)
	})
}
