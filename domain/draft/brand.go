package draft

import (
	"math"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/markup"
)

// brandOf chooses the brand. Of what only stands near the product's name, a category of the breadcrumbs is none, unless
// the name has it: no brand is better than a wrong one.
func (p *page) brandOf(products []*markup.Item, meta map[string][]string, found []labelled, s state,
	crumbs *Found[[]string]) claims {
	categories := p.categoriesOf(crumbs)
	var c claims
	p.statedBrands(&c, products, meta)
	p.labelledBrands(&c, found)
	named := p.namedBrands(&c, categories)
	for _, v := range p.prefixes() {
		if !categories[labelKey(v)] {
			c.add(placed(v), p.w[brandPrefix], Page)
		}
	}
	p.linkedBrands(&c, categories)
	v := p.linkedInTitle()
	if _, crumb := categories[labelKey(v)]; !crumb { // the name has it, so it is no category of those above
		c.add(v, p.w[brandLinkWithin], Page)
	}
	p.weighBrands(&c, categories, named)
	p.brandsInScripts(&c, s, categories)
	return c
}

// categoriesOf are the breadcrumbs, as keys of labels are written; those that the product's name has are false.
func (p *page) categoriesOf(crumbs *Found[[]string]) map[string]bool {
	categories := map[string]bool{}
	if crumbs != nil {
		for _, v := range crumbs.Value {
			key := labelKey(v)
			categories[key] = !strings.Contains(" "+labelKey(p.name)+" ", " "+key+" ")
		}
	}
	p.cutBrands(categories)
	return categories
}

// statedBrands adds those that the data names.
func (p *page) statedBrands(c *claims, products []*markup.Item, meta map[string][]string) {
	stated := func(v string, w weight, s Source) {
		if v = makerIn(v); !isLabel(v) || !strings.Contains(v, " ") { // a label of one word may be a brand: "Code"
			c.add(v, p.w[w], s)
		}
	}
	for _, i := range products {
		stated(i.Text("brand"), brandData, sourceOf(i))
		stated(i.Text("manufacturer"), brandMaker, sourceOf(i))
		for _, group := range i.Items("isVariantOf") {
			stated(group.Text("brand"), brandData, sourceOf(i))
		}
	}
	for _, key := range []string{"product:brand", "og:brand", "brand"} {
		for _, v := range meta[key] {
			stated(v, brandMeta, OpenGraph)
		}
	}
}

// labelledBrands adds those that stand behind their labels.
func (p *page) labelledBrands(c *claims, found []labelled) {
	food := sync.OnceValue(p.ofFood)
	for l, w := range p.labelledAs("brand", found) {
		if l.weight == labelWeak && producers[labelKey(l.said)] && food() {
			l.weight, w = labelLikely, w+p.w[labelLikely]-p.w[labelWeak]
		}
		if l.weight == labelWeak && p.title >= 0 && abs(p.els[l.at].start-p.els[p.title].end) > 300 {
			continue
		}
		if !isLabel(l.value) { // the next label, where a table has no value
			c.add(maker(l.value), w, Page)
		}
	}
}

// namedBrands adds those of elements by the product's name that are named brand, and returns them, bare.
func (p *page) namedBrands(c *claims, categories map[string]bool) map[string]bool {
	named := map[string]bool{}
	if p.title < 0 {
		return named
	}
	for i := range p.els {
		e := &p.els[i]
		if e.own&brands == 0 || e.end-e.start > 60 || p.beside(i) {
			continue
		}
		d := abs(e.start - p.els[p.title].start)
		if d > 600 {
			continue
		}
		v := placed(p.of(i))
		if v == "" {
			v = p.logo(i)
		}
		if isLabel(v) || categories[labelKey(v)] || bare(v) == bare(p.name) { // VTEX names the product's name so
			continue
		}
		named[bare(v)] = true
		c.add(v, p.w[brandNamed]-float64(d)/brandReach, Page)
	}
	return named
}

// weighBrands adds what the product's name, the shop's own and the categories say of those that were found.
func (p *page) weighBrands(c *claims, categories, named map[string]bool) {
	name := " " + labelKey(p.name) + " "
	for n := range c.list {
		x := &c.list[n]
		if p.ownName(x.value) {
			least := math.Inf(-1)
			if x.source != Page || named[bare(x.value)] { // alone it is the brand
				least = min(x.points, leastBrand)
			}
			x.points = max(x.points+p.w[brandOwn], least)
		}
		key := labelKey(x.value)
		if x.source != Page && categories[key] {
			x.points += p.w[brandCategory]
		}
		switch brand := " " + key + " "; {
		case strings.HasPrefix(name, brand):
			x.points += p.w[brandBegins]
		case strings.Contains(name, brand):
			x.points += p.w[brandWithin]
		}
	}
}

// producers are the labels of those who make food, and of people who make films and records.
var producers = wordSet("producer producteur productor produtor produzent")

// ofFood says that the page has a label that only those of wine, food and drink have.
func (p *page) ofFood() bool {
	for _, line := range p.lines() {
		if len(line) > 120 {
			continue
		}
		label, _, _ := strings.Cut(line, ":")
		if len(label) < 40 && foodLabels[labelKey(label)] {
			return true
		}
	}
	return false
}

// foodLabels are labels of wine, food and drink, as keys of labels are written.
var foodLabels = phraseSet("" +
	"appellation|aoc|denominación|denominación de origen|denominazione|vintage|millésime|jahrgang|annata|añada|safra|" +
	"grape|grapes|grape variety|grape varieties|cépage|cépages|rebsorte|rebsorten|vitigno|vitigni|uva|uvas|" +
	"variedad de uva|casta|castas|druivenras|abv|alcohol|alcohol content|alcool|taux d alcool|degré d alcool|" +
	"alkohol|alkoholgehalt|alc vol|gradazione|gradazione alcolica|graduación|graduación alcohólica|teor alcoólico|" +
	"alcoholpercentage|ingredients|ingrédients|zutaten|ingredienti|ingredientes|ingrediënten|składniki|" +
	"allergens|allergènes|allergene|allergeni|alérgenos|milk|milch|lait|latte|leche|fat content|fett i tr|" +
	"matière grasse|nutrition|nutrition facts|nährwerte|valeurs nutritionnelles|valori nutrizionali|" +
	"roast|röstung|röstgrad|torréfaction|tostatura|serving temperature|trinktemperatur|température de service")

// brandsInScripts adds what the scripts call a brand, {"brand": "Lumen"}, where the product's name or a line by it has it.
func (p *page) brandsInScripts(c *claims, s state, categories map[string]bool) {
	lines := p.linesByTitle()
	lower, name := strings.ToLower(p.name), " "+labelKey(p.name)+" "
	for _, v := range sorted(s.brands) {
		w := placed(v)
		if w == "" {
			continue
		}
		switch key := labelKey(w); {
		case strings.HasPrefix(lower, strings.ToLower(w)+" "):
			c.add(w, p.w[brandScriptBegins], Page)
		case cards[key]:
		case len(w) > 2 && strings.Contains(name, " "+key+" "):
			c.add(w, p.w[brandScriptWithin], Page)
		case lines[strings.ToLower(w)] && !p.ownName(w) && !categories[key] && !isLabel(w):
			c.add(w, p.w[brandScriptLine], Page)
		default:
			c.support(w, min(p.w[brandScript]+p.w[brandScriptEach]*float64(s.brands[v]), maxBrandScript), false)
		}
	}
}

// brandPaths are the parts of addresses that lead to all products of a brand.
var brandPaths = partsOf([]string{"/brand/", "/brands/", "/b/", "/marke/", "/marken/", "/marque/", "/marques/",
	"/marca/",
	"/marcas/", "/marka/", "/marki/", "/merk/", "/merken/", "/znacka/", "/znacky/", "/varemerke/", "/maerke/", "/maerker/",
	"/hersteller/", "/producent/", "/producenci/", "/proizvodac/", "/proizvajalec/", "/manufacturer/", "/manufacturers/",
	"/vendor/", "/vendors/", "/fabricant/", "/fabricante/", "/brend/", "/brendy/", "/zimoli/", "/tootja/", "/valmistaja/",
	"brand=", "manufacturer=", "vendor=", "marca=", "marke=", "designer/", "manufacturers_id="})

// behindBrandPath is what an address has behind one of brandPaths, bare; ok says that it has one.
func behindBrandPath(href string) (behind string, ok bool) {
	if len(href) > 2000 {
		return "", false
	}
	if !brandPaths.in(href) {
		return "", false
	}
	for _, path := range brandPaths.list {
		if _, after, ok := strings.Cut(href, path); ok {
			return strings.TrimLeft(bare(after), "0123456789"), true
		}
	}
	return "", false
}

// crumbBrand is what the address of a breadcrumb has behind one of brandPaths, but for /b/, which leads to categories
// there.
func crumbBrand(href string) (behind string, ok bool) {
	if strings.Contains(href, "/b/") {
		return "", false
	}
	return behindBrandPath(href)
}

// cutBrands takes the breadcrumbs that lead to all products of a brand out of the categories.
func (p *page) cutBrands(categories map[string]bool) {
	for i := range p.els {
		e := &p.els[i]
		if e.tag != atom.A || e.marks&crumbs == 0 || e.end-e.start > 60 {
			continue
		}
		if behind, ok := crumbBrand(strings.ToLower(attr(e.node, "href"))); ok && behind == bare(p.of(i)) && !p.isWare(p.of(i)) {
			delete(categories, labelKey(p.of(i)))
		}
	}
}

// linkedBrands adds the texts of links to all products of a brand that stand by the product's name or are in it.
func (p *page) linkedBrands(c *claims, categories map[string]bool) {
	if p.title < 0 {
		return
	}
	name := " " + labelKey(p.name) + " "
	for i := range p.els {
		e := &p.els[i]
		if e.tag != atom.A || e.end-e.start > 60 {
			continue
		}
		href := strings.ToLower(attr(e.node, "href"))
		behind, ok := behindBrandPath(href)
		if !ok {
			continue
		}
		v := placed(p.of(i))
		if v == "" {
			v = p.logo(i)
		}
		key := labelKey(v)
		if v == "" || isLabel(v) || categories[key] || digits(v) == len(v) || p.isWare(v) {
			continue
		}
		_, crumb := crumbBrand(href)
		crumb = crumb && e.marks&crumbs != 0
		switch d := abs(e.start - p.els[p.title].start); {
		case len(key) > 1 && strings.Contains(name, " "+key+" "):
			c.add(v, p.w[brandLinkWithin], Page)
		case d < brandReach && (crumb || !p.beside(i)) && len(key) > 1 && strings.HasPrefix(behind, bare(v)):
			c.add(v, p.w[brandLink], Page)
		}
	}
}

// isWare says that a word is several of what the product's name says that it is: "Lampen", of "Tischlampe Mira".
func (p *page) isWare(s string) bool {
	key := labelKey(s)
	if strings.Contains(key, " ") || strings.Contains(" "+labelKey(p.name)+" ", " "+key+" ") { // "Rains Rain Jacket"
		return false
	}
	for _, end := range []string{"s", "es", "n", "en", "er", "e", "i", "r", "ar"} {
		one, ok := strings.CutSuffix(key, end)
		if !ok || len(one) < 4 {
			continue
		}
		for w := range strings.FieldsSeq(labelKey(p.name)) {
			if w != key && (strings.HasSuffix(w, one) || strings.HasSuffix(w, one+"a") || strings.HasSuffix(w, one+"e")) {
				return true
			}
		}
	}
	return false
}

// linkedInTitle is the text of a link to another page with which the product's name begins: <h1><a
// href="/lumen-x-b12">Lumen</a> lamp</h1>. "" = there is none, it is all of the name, or it is a badge.
func (p *page) linkedInTitle() string {
	if p.title < 0 {
		return ""
	}
	title := &p.els[p.title]
	for i := p.title + 1; i <= min(title.last, p.title+mostOfCard) && p.els[i].start == title.start; i++ {
		if e := &p.els[i]; e.tag == atom.A && p.leadsElsewhere(attr(e.node, "href")) && !p.badge(i) &&
			e.end < title.end && e.end-e.start < 40 {
			return placed(p.of(i))
		}
	}
	return ""
}

// leadsElsewhere says that a link goes to neither this page nor the shop's first one.
func (p *page) leadsElsewhere(href string) bool {
	u, err := url.Parse(p.link(href))
	if err != nil || !leads(href) {
		return false
	}
	if u.RawQuery != "" && (p.address == nil || u.RawQuery != p.address.RawQuery) {
		return true
	}
	path := strings.TrimRight(u.Path, "/")
	return path != "" && (p.address == nil || path != strings.TrimRight(p.address.Path, "/"))
}

// badgeNames are the words of class names of what is put on products: <a class="flag" href="/new">New</a>.
var badgeNames = wordSet("badge badges flag label labels tag tags ribbon sticker pill chip promo")

// badge says that the element i, or one within it, is named one.
func (p *page) badge(i int) bool {
	for k := i; k <= min(p.els[i].last, i+mostOfCard); k++ {
		class := attr(p.els[k].node, "class")
		if len(class) >= longestName {
			continue
		}
		for w := range split(class) {
			if badgeNames[strings.ToLower(w)] {
				return true
			}
		}
	}
	return false
}

// logo is the brand that a picture in the element i, or the element itself, is described with.
func (p *page) logo(i int) string {
	for k := i; k <= p.els[i].last && k < i+8; k++ {
		if v := placed(attr(p.els[k].node, "alt")); v != "" {
			return v
		}
	}
	return ""
}

// ownName says that the shop is called so.
func (p *page) ownName(brand string) bool {
	own := bare(brand)
	return p.site != "" && len(own) > 2 && strings.HasPrefix(bare(p.site), own)
}

// linesByTitle are the lines by the product's name, lower case.
func (p *page) linesByTitle() map[string]bool {
	out := map[string]bool{}
	if p.title < 0 {
		return out
	}
	e := &p.els[p.title]
	above, below := p.text[max(e.start-brandReach, 0):e.start], p.text[e.end:min(e.end+brandReach, len(p.text))]
	for _, text := range []string{above, below} {
		for line := range strings.SplitSeq(text, "\n") {
			out[strings.ToLower(strings.TrimSpace(line))] = true
		}
	}
	return out
}

// prefixes are the words that the page's title has before the product's name, and that stand alone above it: in "Acme
// Boots - green", with Boots as its heading, Acme.
func (p *page) prefixes() []string {
	if p.title < 0 {
		return nil
	}
	heading := fold(p.of(p.title))
	above := "\n" + strings.ToLower(p.text[max(p.els[p.title].start-400, 0):p.els[p.title].start]) + "\n"
	var out []string
	for _, c := range p.called {
		n := strings.Index(strings.ToLower(c), strings.ToLower(heading))
		if n < 2 || n > 40 {
			continue
		}
		before := strings.Trim(c[:n], " -–|:,")
		if before != "" && strings.Contains(above, "\n"+strings.ToLower(before)+"\n") {
			out = append(out, before)
		}
	}
	return out
}
