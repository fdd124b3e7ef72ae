package contact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// headersAbroad are those of headersFar, the usual headers of Russian, Ukrainian, Chinese, Arabic, Polish and Turkish
// files, and the rarer ones of German, Italian and Dutch, as people write them: headers folds them.
var headersAbroad = slices.Concat(headersFar, []headerNames{
	{known{FieldPhone, rankMobile}, `мобильный|мобильный телефон|моб телефон|моб тел|моб|сотовый|сотовый телефон|
		номер мобильного|номер мобильного телефона|мобильный номер|ватсап|номер whatsapp|мобільний|мобільний телефон|
		手机|手机号|手机号码|移动电话|手机电话|联系手机|手機|手機號碼|手機號|行動電話|移動電話|
		الجوال|رقم الجوال|جوال|الموبايل|رقم الموبايل|موبايل|المحمول|رقم المحمول|الهاتف المحمول|الهاتف الجوال|
		رقم الواتساب|واتساب|الواتس اب|
		telefon komórkowy|tel komórkowy|tel kom|komórka|numer komórki|numer telefonu komórkowego|nr komórki|
		telefon mobilny|cep telefonu|cep tel|cep telefon|cep numarası|cep telefonu numarası|cep telefonu no|gsm no|
		gsm numarası|mobil telefon|whatsapp numarası|
		num cellulare|n cellulare|nr cellulare|numero cellulare|tel cellulare|tel cell|telefono mobile|telefonino|
		mobiel telefoonnummer|mobiele nummer|mobiel nr|mobielnummer|tel mobiel|telefoon mobiel|mobile nummer|06 nummer|
		telefon mobil|tel mobil|mobil nr|mobilnr|mobilfunk|handynr`},
	{known{FieldPhone, rankAny}, `телефон|номер телефона|тел|контактный телефон|телефон 1|основной телефон|номер тел|
		телефоны|контактный номер|номер телефону|
		电话|电话号码|联系电话|联络电话|電話|電話號碼|聯絡電話|連絡電話|聯繫電話|电话1|
		الهاتف|رقم الهاتف|هاتف|التليفون|رقم التليفون|تليفون|تلفون|رقم التلفون|رقم الاتصال|رقم التواصل|
		nr telefonu|numer telefonu|nr tel|numer tel|telefon kontaktowy|telefon 1|numer kontaktowy|telefony|
		telefon no|telefon numarası|tel numarası|telefon numaraları|iletişim numarası|irtibat numarası|irtibat telefonu|
		iletişim telefonu|
		recapito telefonico|recapiti telefonici|num telefono|n telefono|nr telefono|telefono principale|
		tel nr|telnr|telefoonnr|telefoon nr|telefoon 1|contactnummer|telefoon nummer|rufnr|tel nummer`},
	{known{FieldPhone, rankSecond}, `телефон 2|другой телефон|дополнительный телефон|доп телефон|
		电话2|备用电话|其他电话|備用電話|هاتف آخر|هاتف 2|inny telefon|drugi telefon|
		diğer telefon|ikinci telefon|altro telefono|secondo telefono|telefoon 2|ander telefoonnummer|tweede telefoon`},
	{known{FieldPhone, rankHome}, `домашний телефон|дом телефон|телефон домашний|городской телефон|домашній телефон|
		家庭电话|住宅电话|固定电话|座机|家用電話|住家電話|市話|هاتف المنزل|الهاتف الأرضي|الهاتف الثابت|هاتف ثابت|
		telefon domowy|telefon stacjonarny|tel stacjonarny|tel domowy|ev telefonu|ev tel|sabit telefon|
		telefono casa|tel casa|telefono abitazione|tel fisso|numero fisso|
		vaste telefoon|telefoon thuis|telefoon privé|thuistelefoon|vast nummer`},
	{known{FieldPhone, rankWork}, `рабочий телефон|телефон рабочий|раб телефон|раб тел|служебный телефон|робочий телефон|
		办公电话|工作电话|公司电话|单位电话|辦公電話|公司電話|هاتف العمل|هاتف المكتب|
		telefon służbowy|telefon do pracy|tel służbowy|telefon firmowy|iş telefonu|iş tel|ofis telefonu|
		telefono lavoro|tel ufficio|tel lavoro|telefoon werk|werktelefoon|zakelijk telefoonnummer|telefoon zakelijk`},
	{known{FieldEmail, rankMobile}, `почта|эл почта|электронная почта|e mail адрес|адрес электронной почты|имейл|эл адрес|
		адрес эл почты|мейл|електронна пошта|ел пошта|пошта|
		邮箱|电子邮箱|电子邮件|邮件|邮箱地址|电子邮件地址|邮件地址|電子郵件|電子信箱|電郵|郵箱|電郵地址|電子郵件地址|
		البريد الإلكتروني|بريد إلكتروني|الإيميل|ايميل|عنوان البريد الإلكتروني|
		adres e mail|adres email|adres mailowy|poczta elektroniczna|adres poczty elektronicznej|
		e posta|eposta|e posta adresi|eposta adresi|mail adresi|e mail adresi|email adresi|elektronik posta|
		posta elettronica|indirizzo di posta elettronica|indirizzo posta elettronica|indirizzo mail|indirizzo di posta|
		e mail adres|mailadres|email adres|e mailadressen`},
	{known{FieldName, 0}, `фио|ф и о|имя и фамилия|фамилия и имя|имя фамилия|фамилия имя|фамилия имя отчество|полное имя|
		контактное лицо|имя клиента|фио клиента|піб|повне ім я|
		姓名|名字|客户姓名|联系人|联系人姓名|客户名称|全名|联络人|聯絡人|客戶姓名|真实姓名|會員姓名|
		الاسم|الاسم الكامل|الاسم بالكامل|اسم العميل|الاسم الثلاثي|الاسم الرباعي|
		imię i nazwisko|nazwisko i imię|imię nazwisko|nazwisko imię|osoba kontaktowa|pełne imię i nazwisko|
		ad soyad|adı soyadı|ad ve soyad|isim soyisim|isim soyad|ad soyadı|adı ve soyadı|müşteri adı|isim|tam ad|
		nominativo|nome cognome|cognome nome|nome cliente|
		contactpersoon|klantnaam|naam klant|voor en achternaam`},
	{known{FieldGiven, 0}, `имя|ім я|名|الاسم الأول|imię|adı|voornamen|roepnaam`},
	{known{FieldFamily, 0}, `фамилия|прізвище|姓|姓氏|اسم العائلة|الاسم الأخير|العائلة|الكنية|اللقب|
		nazwisko|soyad|soyadı|soyisim|familienaam`},
	{known{FieldLocale, rankGuessed}, `язык|язык общения|мова|语言|語言|اللغة|język|tercih edilen dil|dil|
		lingua preferita|voorkeurstaal`},
	{known{FieldTags, 0}, `метки|метка|теги|тег|группа|группы|категория|категории|сегмент|
		标签|分组|分类|標籤|群組|分類|الوسوم|المجموعة|التصنيف|
		etykiety|etykieta|grupa|grupy|tagi|kategoria|etiketler|etiket|gruplar|grup|kategori|
		gruppo|gruppi|categoria|etichetta|groep|groepen|categorieën`},
})

// wordsAbroad are words of telephones and addresses in longer headers of these languages. Those of scripts that have no
// spaces between words, or glue an article to them, count within a word.
var wordsAbroad = []headerWords{
	{"мобильный", known{FieldPhone, rankMobile}}, {"手机", known{FieldPhone, rankMobile}},
	{"手機", known{FieldPhone, rankMobile}}, {"جوال", known{FieldPhone, rankMobile}},
	{"موبايل", known{FieldPhone, rankMobile}}, {"komórkowy", known{FieldPhone, rankMobile}},
	{"cep telefonu", known{FieldPhone, rankMobile}}, {"cellulare", known{FieldPhone, rankMobile}},
	{"mobiel", known{FieldPhone, rankMobile}}, {"handy", known{FieldPhone, rankMobile}},
	{"телефон", known{FieldPhone, rankSecond}}, {"телефона", known{FieldPhone, rankSecond}},
	{"тел", known{FieldPhone, rankSecond}}, {"电话", known{FieldPhone, rankSecond}},
	{"電話", known{FieldPhone, rankSecond}}, {"هاتف", known{FieldPhone, rankSecond}},
	{"telefon", known{FieldPhone, rankSecond}}, {"telefonu", known{FieldPhone, rankSecond}},
	{"telefoon", known{FieldPhone, rankSecond}}, {"telefoonnummer", known{FieldPhone, rankSecond}},
	{"почта", known{FieldEmail, rankSecond}}, {"почты", known{FieldEmail, rankSecond}},
	{"邮箱", known{FieldEmail, rankSecond}}, {"邮件", known{FieldEmail, rankSecond}},
	{"郵件", known{FieldEmail, rankSecond}}, {"بريد", known{FieldEmail, rankSecond}},
	{"eposta", known{FieldEmail, rankSecond}}, {"e posta", known{FieldEmail, rankSecond}},
}

// notWordsAbroad are the notWords of these languages.
const notWordsAbroad = `факс факса тип дата статус код страна страны время согласие подтвержден
	传真 傳真 类型 類型 日期 状态 狀態 国家 國家 区号 區號 时间 時間 فاكس نوع تاريخ حالة رمز الدولة
	faks tür türü tarih tarihi durum durumu izin izni onay onayı kodu kod ülke
	kraj zgoda consenso prefisso data soort toestemming`

// faxes are words of numbers that no message reaches, whatever the values are.
var faxes = strings.Fields(fold(`fax faxnummer telefax telecopie telecopieur pager faks факс 传真 傳真 فاكس`))

// unreached says that a header is that of faxes or pagers, and not of telephones as well: "Tél/Fax".
func unreached(folded string) bool {
	return slices.ContainsFunc(faxes, func(w string) bool { return holdsWord(folded, w) }) &&
		!slices.ContainsFunc(words, func(w headerWords) bool {
			return w.field == FieldPhone && holdsWord(folded, w.words)
		})
}

// holdsWord says that a folded text has a word, or words. One of a script without spaces between words, or with an
// article that is glued to them, may stand within another.
func holdsWord(folded, word string) bool {
	if r, _ := utf8.DecodeRuneInString(word); unicode.In(r, unicode.Han, unicode.Arabic) {
		return strings.Contains(folded, word)
	}
	return strings.Contains(" "+folded+" ", " "+word+" ")
}

// givenBeside are headers that are given names beside a column of family names, and else something different: "Ad" is
// an advert in English.
var givenBeside = []string{"ad", "isim", "名字", fold("الاسم"), fold("نام"), fold("नाम")}

// languagesAbroad are names of languages in the languages of headersAbroad, and those of these in English and French.
var languagesAbroad = map[string]string{
	"en": "английский|английский язык|англійська|英语|英文|英語|الإنجليزية|انجليزي|إنجليزي|angielski|ingilizce|inglesi",
	"fr": "французский|французька|法语|法文|法語|الفرنسية|فرنسي|francuski|fransızca",
	"es": "испанский|西班牙语|西班牙語|الإسبانية|hiszpański|ispanyolca",
	"de": "немецкий|німецька|德语|德文|德語|الألمانية|niemiecki|almanca",
	"it": "итальянский|意大利语|意大利語|الإيطالية|włoski|italyanca",
	"pt": "португальский|葡萄牙语|葡萄牙語|البرتغالية|portugalski|portekizce",
	"nl": "нидерландский|голландский|荷兰语|الهولندية|niderlandzki|holenderski|hollandaca|felemenkçe",
	"ar": "арабский|阿拉伯语|阿拉伯語|العربية|عربي|arabski|arapça|arabisch|arabo|árabe",
	"zh": "китайский|中文|汉语|漢語|普通话|國語|الصينية|chiński|çince|chinesisch|chinees|cinese|chino|chinês",
	"ru": "русский|русский язык|російська|俄语|俄語|الروسية|rosyjski|rusça|russian|russe|russisch|russo|ruso",
	"uk": "украинский|українська|乌克兰语|الأوكرانية|ukraiński|ukraynaca|ukrainian|ukrainien|ukrainisch|ucraino|ucraniano",
	"pl": "польский|波兰语|波蘭語|البولندية|polski|lehçe|polish|polonais|polnisch|pools|polacco|polaco",
	"tr": "турецкий|土耳其语|土耳其語|التركية|turecki|türkçe|turkish|turc|türkisch|turks|turco",
}
