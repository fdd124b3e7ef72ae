package prose

// artStudio tells whether the studio at i is a room for yoga, music or the like: "un studio de création".
func (p *Prose) artStudio(i int) bool {
	k := i + 1
	if w := p.word(k); w == "de" || w == "d" {
		k++
	}
	return studioArts[p.word(i-1)] || studioArts[p.word(k)]
}

// studio finds a word for a one-room home that is not said of something else ("près du studio de yoga").
func (p *Prose) studio() (i int, ok bool) {
	for i := range p.words {
		if !p.about(i, aStudio) {
			continue
		}
		if p.artStudio(i) {
			continue
		}
		switch p.word(i - 1) {
		case "style", "type", "genre":
			continue
		}
		return i, true
	}
	return 0, false
}
