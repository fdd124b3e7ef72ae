package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// detected is how many bytes of a text Detect reads.
const detected = 4 << 10

// Detect returns the language that the beginning of a text (4 KiB) is mostly in, as its ISO 639-1 code; "" when there
// is too little to tell. Most languages are known by their script or by letters that others do not have; those in Latin
// letters by their commonest words, 19 of them. Accents and capitals may lack.
func Detect(text string) string {
	if len(text) > detected {
		text = text[:detected]
	}
	letters, latin := 0, 0
	var scripts [len(script)]int
	var votes [len(latinLanguages)]int
	seen := map[rune]int{}
	last := -1 // the script of the letter before
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			if class[c] == lower || class[c] == upper {
				letters++
				latin++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		r = unicode.ToLower(r)
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < 0x250 || r >= 0x1e00 && r < 0x1f00 {
			latin++
			for _, l := range signs[r] {
				votes[l] += vote / 2
			}
			continue
		}
		if last >= 0 && unicode.Is(script[last].table, r) {
			scripts[last]++
		} else {
			last = slices.IndexFunc(script[:], func(s writing) bool { return unicode.Is(s.table, r) })
			if last >= 0 {
				scripts[last]++
			}
		}
		if tell[r] {
			seen[r]++
		}
	}
	best := 0
	for s := range script {
		if scripts[s] > scripts[best] {
			best = s
		}
	}
	// A character of Chinese says as much as two letters.
	if scripts[best]*2 > latin {
		if scripts[best] < 4 {
			return ""
		}
		return written(script[best].language, scripts, seen)
	}
	if letters < 12 {
		return ""
	}
	return latinLanguage(text, votes)
}

type writing struct {
	language string
	table    *unicode.RangeTable
}

// script has the scripts, and the languages that they tell.
var script = [...]writing{
	{"zh", unicode.Han}, {"ja", unicode.Hiragana}, {"ja", unicode.Katakana}, {"ko", unicode.Hangul},
	{"ru", unicode.Cyrillic},
	{"ar", unicode.Arabic}, {"he", unicode.Hebrew}, {"el", unicode.Greek}, {"hi", unicode.Devanagari},
	{"th", unicode.Thai},
	{"lo", unicode.Lao}, {"km", unicode.Khmer}, {"my", unicode.Myanmar}, {"ka", unicode.Georgian},
	{"hy", unicode.Armenian},
	{"bn", unicode.Bengali}, {"ta", unicode.Tamil}, {"te", unicode.Telugu}, {"gu", unicode.Gujarati},
	{"pa", unicode.Gurmukhi},
	{"kn", unicode.Kannada}, {"ml", unicode.Malayalam}, {"si", unicode.Sinhala}, {"am", unicode.Ethiopic},
}

// tell has the letters that tell the languages of a script apart.
var tell = func() map[rune]bool {
	m := map[rune]bool{}
	for _, r := range "іїєґыэъљњћџђپچژگٹڈےں" {
		m[r] = true
	}
	return m
}()

// written tells languages of one script apart.
func written(language string, scripts [len(script)]int, seen map[rune]int) string {
	count := func(letters string) (n int) {
		for _, r := range letters {
			n += seen[r]
		}
		return n
	}
	switch language {
	case "zh":
		if (scripts[1]+scripts[2])*10 > scripts[0] {
			return "ja"
		}
	case "ru":
		switch {
		case count("іїєґ") > count("ыэъ"):
			return "uk"
		case count("љњћџђ") > count("ыэъ"):
			return "sr"
		case count("ъ") > 2*count("ыэ"):
			return "bg"
		}
	case "ar":
		switch {
		case count("ٹڈےں") > 0:
			return "ur"
		case count("پچژگ") > 0:
			return "fa"
		}
	}
	return language
}

// vote is what a word that only one language has counts; it is divided among the languages that have it.
const vote = 60

// latinLanguage tells languages in Latin letters apart.
func latinLanguage(text string, votes [len(latinLanguages)]int) string {
	Tokenize(text, func(t Token) bool {
		if of := commonIn[t.Word]; len(of) > 0 {
			for _, l := range of {
				votes[l] += vote / len(of)
			}
		}
		return true
	})
	best, second := 0, 0
	for l, n := range votes {
		if n > votes[best] {
			best = l
		}
	}
	for l, n := range votes {
		if l != best && n > second {
			second = n
		}
	}
	if votes[best] < vote || votes[best]*4 < second*5 {
		return ""
	}
	return latinLanguages[best].language
}

// latinLanguages have words and letters that few others have. Words are folded.
var latinLanguages = [...]struct{ language, words, letters string }{
	{"en", `the and of to in is for with that this are on you your from by it be or at an have not we our can will which was
		were has their they if but about all more also how what when who its into than been would may`, ""},
	{"fr", `le la les des et du de un une en est dans pour avec sur par au aux qui que pas ce cette vous nous votre sont ou il
		elle plus ne se leur tres sans nos vos notre ces chez tout tous toute mois je mais`, "éèêçàâûùœ"},
	{"es", `el la los las de y en un una es que con para por se del al su como mas no esta son lo pero sus muy hay nuestros
		todo sobre`, "ñóáí¿¡"},
	{"de", `der die das und ist in den von zu mit fur auf ein eine im dem des nicht sie wir sich auch als werden oder haben bei
		einen einer ihr ihre unsere aus nach wird hier`, "äöüß"},
	{"it", `il la di e che per un una con del della i le gli nel non sono alla dei delle piu anche si da al lo nostro questo
		ai sul`, "òàèù"},
	{"pt", `o a os as de e do da que em um uma para nao no na por dos das mais se ao ou seu sua nos voce sao muito`, "ãõç"},
	{"nl", `de het een en van in is dat op te met voor zijn niet aan wij ook bij uit onze u deze die er worden naar om`, "ë"},
	{"sv", `och att det som en ar pa av for med den till inte har vi om ett kan de du eller var`, "åäö"},
	{"da", `og at det er en til af for med den ikke har vi om et kan der som de du eller fra pa kunne vores dig hvad ved`, "æøå"},
	{"no", `og at det er en til av for med den ikke har vi om et kan som de du eller fra pa kunne vare deg hva ved`, "æøå"},
	{"pl", `i w na z do nie sie jest to ze o oraz dla od po przez jak lub sa ma`, "łąęśżźńć"},
	{"cs", `v na je se z do to ze pro jako jsou nebo ktere za nasich si jsme byl`, "řůěščž"},
	{"ro", `si de la in cu pe este un o care pentru din nu sunt mai despre puteti va`, "ăâîșțşţ"},
	{"tr", `ve bir bu da de icin ile olarak en cok olan gibi daha olup hakkinda ne`, "ğşıç"},
	{"hu", `a az es hogy nem is egy ez van meg itt vagy minden`, "őűöü"},
	{"fi", `ja on ei se etta ovat oli mutta joka tai kun myos voit`, "äö"},
	{"vi", `va cua la co trong cho cac mot khong duoc nguoi voi tai ban den`, "ơưđạảấầẩậắặẹẻếềểệịỏọốồổộớờợụủứừửự"},
	{"id", `yang dan di dengan untuk ini dari pada dalam adalah tidak kami anda dapat atau`, ""},
	{"ca", `el la els les de i que en un una amb per del dels no es al nostre aqui sobre als`, "çòàï"},
}

// commonIn has the languages that a word is common in; signs, those that have a letter.
var commonIn, signs = func() (map[string][]int, map[rune][]int) {
	words, letters := map[string][]int{}, map[rune][]int{}
	for l, language := range latinLanguages {
		for _, w := range strings.Fields(language.words) {
			words[w] = append(words[w], l)
		}
		for _, r := range language.letters {
			letters[r] = append(letters[r], l)
		}
	}
	return words, letters
}()
