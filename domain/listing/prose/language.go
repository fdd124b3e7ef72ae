package prose

// language tells the language of a text by its commonest small words: "fr", "en", or "" when it has too few or as many
// of each. A bilingual advert is of the language that it has more of.
func (p *Prose) language() string {
	fr, en := 0, 0
	for i := range p.words {
		t := p.words[i].topic
		if t&inFrench != 0 {
			fr++
		}
		if t&inEnglish != 0 {
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
