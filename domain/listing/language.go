package listing

// Language tells the language of a text by its commonest small words: "fr", "en", or "" when it has too few or as many
// of each. A bilingual advert is of the language that it has more of.
func Language(s string) string { return Read(s).language() }

var french = set("le la les de des du un une et est dans pour avec sur au aux vous nous je situe louer tres pas plus ou par sont " +
	"grand grande chambre chambres appartement logement disponible libre pres salle cuisine rue mois juillet inclus chauffe eclaire beau belle")

var english = set("the and of in to for with is are you we on at near available apartment bedroom bedrooms rent located close kitchen bathroom " +
	"included street month july heated this all no your from very large new it has room please")

func (p *Prose) language() string {
	fr, en := 0, 0
	for i := range p.words {
		w := p.words[i].w
		if w == "" {
			continue
		}
		if french[w] {
			fr++
		}
		if english[w] {
			en++
		}
	}
	switch {
	case fr > en:
		return "fr"
	case en > fr:
		return "en"
	}
	return ""
}
