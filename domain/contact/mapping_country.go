package contact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// countryWords make a header one of countries where it has nothing else but countryNotes: "Mailing Country",
// "Land/Region privat". The country that somebody comes from, or a company is in, says nothing of a telephone number.
var (
	countryWords = wordsOf(fold(`country countries pays país land paese nazione kraj страна ülke 国家 國家 الدولة البلد`))
	countryNotes = wordsOf(fold(`region région región região code código iso iso2 name nom nombre nome of de du del do la
		residence résidence residencia residência phone mobile address adresse dirección endereço home business work other
		mailing billing shipping default primary contact customer person 1 domicile bureau particular trabajo privat
		geschäftlich wohnort`))
)

// ofCountry says that a folded header is one of countries, of the person or of a number.
func ofCountry(folded string) bool {
	words := strings.Fields(folded)
	is := false
	for _, w := range words {
		if countryWords[w] {
			is = true
		} else if !countryNotes[w] {
			return false
		}
	}
	return is
}

// located finds for columns of telephone numbers without country codes beside them the column that has the country of
// each row: of several, the one that begins as the header of the numbers does, else the fullest, where no row has
// others. They remain custom fields.
func located(m Mapping, folded []string, sample [][]string) {
	var all []int
	best, most := -1, 0
	for i, c := range m {
		if c.Field != "" && !strings.HasPrefix(c.Field, FieldCustom) || !ofCountry(folded[i]) {
			continue
		}
		part, values := share(sample, i, func(s string) bool { return countryOfCell(s) != "" || filler(s) })
		empty, _ := share(sample, i, filler)
		if part <= .8 || empty == 1 || values == 0 {
			continue
		}
		if all = append(all, i); values > most {
			best, most = i, values
		}
	}
	if differ(all, sample) {
		best = -1
	}
	for i := range m {
		if m[i].Field != FieldPhone || m[i].Code != 0 {
			continue
		}
		at := best
		first, _, more := strings.Cut(folded[i], " ")
		for _, j := range all {
			if begins, _, _ := strings.Cut(folded[j], " "); more && begins == first {
				at = j
			}
		}
		if at >= 0 {
			m[i].Country = at + 1
			m[i].Why += fmt.Sprintf("; the countries are in column %d", at+1)
		}
	}
}

// differ says that a row has another country in one of columns than in another.
func differ(columns []int, sample [][]string) bool {
	for _, r := range sample {
		of := ""
		for _, i := range columns {
			if i >= len(r) || filler(r[i]) {
				continue
			}
			if region := countryOfCell(r[i]); of != "" && region != of {
				return true
			} else if region != "" {
				of = region
			}
		}
	}
	return false
}

// countryOfCell is the region that a cell names, by a code of ISO 3166-1 or a name; "" = none.
func countryOfCell(cell string) string {
	cell = strings.TrimSpace(cell)
	if iso := strings.ToUpper(cell); len(iso) == 2 && KnownRegion(iso) {
		return iso
	}
	return countries()[fold(cell)]
}

// otherCountries are further names of countries, as people write them.
const otherCountries = `AE uae|u a e|emirates|emirats arabes unis,BO bolivia,CD dr congo|drc,
	CI ivory coast|cote d ivoire,CN pr china|peoples republic of china,CZ czech republic,DE brd,
	GB uk|u k|great britain|britain|england|scotland|wales|northern ireland|grande bretagne|angleterre|gran bretana|
	inglaterra|großbritannien|inghilterra|gran bretagna|groot brittannie,HK hong kong,IE republic of ireland|eire,IR iran,
	KP north korea,KR south korea|korea|republic of korea|coree|corea|coreia,LA laos,MD moldova,
	MK macedonia|north macedonia,MO macau|macao,MX estados unidos mexicanos,
	NL holland|the netherlands|hollande|holanda|olanda,PH the philippines,PS palestine,RU russian federation|russia,
	SY syria,TR turkey|turkiye,TW taiwan,TZ tanzania,US usa|u s a|u s|united states of america|the united states|
	etats unis d amerique|eeuu|ee uu|estados unidos de america|eua|vereinigte staaten von amerika|
	stati uniti d america,VE venezuela,VN vietnam|viet nam`

// countries are the regions by their names, folded, in the languages of most files, and by their codes of three
// letters. A name of several is none.
var countries = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	add := func(name, region string) {
		switch was, ok := m[name]; {
		case name == "":
		case ok && was != region:
			m[name] = ""
		default:
			m[name] = region
		}
	}
	languages := []*display.Dictionary{
		display.English, display.French, display.Spanish, display.Portuguese, display.German, display.Italian, display.Dutch,
	}
	for _, code := range slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())) {
		region, err := language.ParseRegion(code)
		if err != nil {
			continue
		}
		add(strings.ToLower(region.ISO3()), code)
		for _, in := range languages {
			add(fold(in.Regions().Name(region)), code)
		}
	}
	for of := range strings.SplitSeq(otherCountries, ",") {
		region, names, _ := strings.Cut(strings.TrimSpace(of), " ")
		for name := range strings.SplitSeq(names, "|") {
			m[fold(name)] = region
		}
	}
	return m
})
