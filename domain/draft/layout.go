package draft

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	plain "github.com/mtlrent/conveyor/domain/page"
)

// lines yields the lines of the visible text and where they begin.
func (p *page) lines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for start := 0; start < len(p.text); {
			end := strings.IndexByte(p.text[start:], '\n')
			if end < 0 {
				end = len(p.text) - start
			}
			if end > 0 && !yield(start, p.text[start:start+end]) {
				return
			}
			start += end + 1
		}
	}
}

// coverer returns a function that finds the innermost element that holds the text [start:end). It must be asked in the
// order of start, roughly: it goes on from where it was.
func (p *page) coverer() func(start, end int) int {
	// starts in document order never fall, so the innermost element that begins at or before start is found by walking
	// up from the last such element.
	i := 0
	return func(start, end int) int {
		for i > 0 && p.els[i].start > start {
			i--
		}
		for i+1 < len(p.els) && p.els[i+1].start <= start {
			i++
		}
		for e := i; e >= 0; e = p.els[e].parent {
			if p.els[e].start <= start && end <= p.els[e].end {
				return e
			}
		}
		return -1
	}
}

// holdsTitle says that the product's name shows within the element i.
func (p *page) holdsTitle(i int) bool {
	return p.title >= 0 && p.els[i].inside(i, p.title)
}

// beside says that an element does not belong to the product: other products, reviews, the frame of the site. An
// ancestor that holds the product's name, too, is not held against it.
func (p *page) beside(i int) bool {
	if p.besides != nil && i >= 0 {
		return p.besides[i]
	}
	for ; i >= 0; i = p.els[i].parent {
		if p.holdsTitle(i) {
			return false
		}
		if p.els[i].own&(aside|chrome) != 0 || p.card(i) {
			return true
		}
	}
	return false
}

// veiledAt says that an element, or one around it, has a class that says hidden.
func (p *page) veiledAt(i int) bool {
	if p.veils != nil && i >= 0 {
		return p.veils[i]
	}
	for ; i >= 0; i = p.els[i].parent {
		if p.holdsTitle(i) {
			return false
		}
		if p.els[i].own&veiled != 0 {
			return true
		}
	}
	return false
}

// card says that the element i is one of three or more alike that each hold an amount: other products, or other
// offers; or one that is headed so.
func (p *page) card(i int) bool { return p.cards != nil && p.cards[i] }

// findCards fills p.cards by the amounts that show.
func (p *page) findCards(amounts []amountShown) {
	p.cards = make([]bool, len(p.els))
	holds := make([]bool, len(p.els)) // of the elements, which hold an amount
	counted := map[shape]int{}        // how many of them do
	for _, a := range amounts {
		for i := a.el; i >= 0 && !holds[i]; i = p.els[i].parent {
			if holds[i] = true; p.els[i].parent >= 0 {
				counted[p.shape(i)]++
			}
		}
	}
	for i := range holds {
		if !holds[i] || p.els[i].parent < 0 || p.holdsTitle(i) || !p.holdsLink(i) {
			continue
		}
		least := 3
		switch p.els[i].tag {
		case atom.Tr, atom.Td, atom.Dd, atom.P, atom.Span, atom.Tbody:
			continue // rows of one product's prices, of its sizes
		default:
			if attr(p.els[i].node, "class") == "" && p.els[i].tag != atom.Li {
				least = 4
			}
		}
		if counted[p.shape(i)] >= least || p.headsElsewhere(i) {
			p.cards[i] = true
		}
	}
	p.findBesides()
}

// findBesides says of all elements at once what beside and veiledAt say of them.
func (p *page) findBesides() {
	p.besides, p.veils = make([]bool, len(p.els)), make([]bool, len(p.els))
	apart := p.headedApart()
	for i := range p.els {
		e := &p.els[i]
		if p.holdsTitle(i) {
			continue
		}
		up := e.parent
		p.besides[i] = e.own&(aside|chrome) != 0 || p.card(i) || apart[i] || up >= 0 && p.besides[up]
		p.veils[i] = e.own&veiled != 0 || up >= 0 && p.veils[up]
	}
}

// headedApart are the elements that begin with a heading of other products, or of other sellers' offers of this one,
// and those that follow such a heading where it stands by the product's name.
func (p *page) headedApart() []bool {
	out := make([]bool, len(p.els))
	followed := map[run]int{}
	for i := range p.els {
		e := &p.els[i]
		heading := atom.H2 == e.tag || atom.H3 == e.tag || atom.H4 == e.tag || atom.H5 == e.tag || e.own&titled != 0
		if !heading || e.end-e.start < 5 || e.end-e.start > 60 || p.title < 0 || e.start < p.els[p.title].end {
			continue
		}
		if !beginsWithAny(strings.ToLower(p.of(i)), apartWords) {
			continue
		}
		k := i
		for up := p.els[k].parent; up >= 0 && p.els[up].start == e.start && !p.holdsTitle(up); up = p.els[k].parent {
			k = up
		}
		out[k] = true
		if k != i && (p.holdsLink(k) || p.holdsAmount(k)) { // they are in there with their heading
			continue
		}
		r := run{p.els[k].parent, e.tag, e.own&titled != 0}
		if k < followed[r] { // by the heading before it
			continue
		}
		next := p.els[k].last + 1
		for ; next <= p.els[max(r.parent, 0)].last && !p.endsApart(next, r); next = p.els[next].last + 1 {
			out[next] = true
		}
		followed[r] = next
	}
	return out
}

// A run is what follows headings of a tag, or of elements named title, in an element.
type run struct {
	parent int
	tag    atom.Atom
	titled bool
}

// endsApart says that with the element i a run of what is apart has ended: it is, or has, the next heading.
func (p *page) endsApart(i int, r run) bool {
	return p.els[i].own&titled != 0 || !r.titled && (p.els[i].tag == r.tag || p.headsItself(i, r.tag))
}

// headsItself says that the element i begins with a heading of its own that is no lower than one of this tag, and shows
// neither an amount nor a link in that: it is about the product again, and none of others.
func (p *page) headsItself(i int, than atom.Atom) bool {
	for k := i; k <= min(p.els[i].last, i+mostOfCard) && p.els[k].start == p.els[i].start; k++ {
		switch tag := p.els[k].tag; tag {
		case atom.H2, atom.H3, atom.H4, atom.H5:
			return p.els[k].end-p.els[k].start <= 60 && tag.String() <= than.String() && !p.holdsLink(k) && !p.holdsAmount(i) &&
				!beginsWithAny(strings.ToLower(p.of(k)), apartWords)
		}
	}
	return false
}

// apartWords begin the headings of other products, and of other offers.
var apartWords = []string{"similar", "you may also", "you might also", "you might like", "you may like",
	"we found other", "goes well with", "pairs well", "pair it with", "frequently bought", "often bought",
	"customers also", "customers who", "people also", "others also", "related", "recommended for",
	"recommended products", "recommended items", "recommended accessories",
	"recommendations", "more ways to buy",
	"other sellers", "other offers", "other buying options", "more buying choices", "more sellers", "more like this",
	"more from", "complete the look", "complete your look", "complete your set", "complete your outfit",
	"wear it with", "shop the look", "recently viewed",
	"compare with similar", "sponsored", "ils pourraient vous", "vous aimerez", "vous pourriez", "cela pourrait",
	"produits similaires", "produits associés", "produits complémentaires", "articles similaires", "autres vendeurs",
	"autres offres", "d'autres vendeurs", "nos suggestions", "souvent achetés", "fréquemment achetés",
	"les clients ont", "complétez votre look", "complétez votre tenue", "récemment consultés", "das könnte",
	"dazu passt", "passt dazu", "passend dazu",
	"passendes zubehör", "ähnliche", "weitere angebote", "weitere verkäufer", "andere verkäufer", "andere kunden",
	"kunden kauften", "kunden, die", "wird oft zusammen", "zuletzt angesehen", "empfohlene produkte", "empfehlung*",
	"unsere empfehlung*",
	"también te", "te puede interesar", "te podría", "quizás te", "productos relacionados", "productos similares",
	"otros vendedores", "otras ofertas", "otros clientes", "los clientes", "comprados juntos", "vistos recientemente",
	"completa tu look", "completa el look", "potrebbe", "potrebbero", "ti potrebbe", "prodotti correlati",
	"prodotti simili",
	"articoli simili", "altri venditori", "altre offerte", "spesso comprati", "visti di recente",
	"talvez você", "também pode", "produtos relacionados", "produtos semelhantes", "produtos similares",
	"quem comprou", "outros vendedores", "outras ofertas", "misschien vind", "vergelijkbare", "anderen kochten",
	"anderen bekeken", "andere verkopers", "vaak samen", "gerelateerde", "podobne", "inni klienci", "inne oferty",
	"mogą cię", "podobné", "související", "mohlo by", "du kanske", "liknande", "lignende", "andre købte",
	"du vil måske", "saatat pitää", "похожие товары", "с этим товаром", "вам может", "関連する商品", "関連商品", "こちらもおすすめ"}

// mostOfCard is how many elements are looked at for the heading of an item, and in it: the page decides how many there
// are, and how deep items nest.
const mostOfCard = 50

// headsElsewhere says that the element i is an item of a list, or an article, under a heading of its own that leads to
// another page: a product of a list that may be short.
func (p *page) headsElsewhere(i int) bool {
	if p.els[i].tag != atom.Li && p.els[i].tag != atom.Article {
		return false
	}
	for k := i + 1; k <= min(p.els[i].last, i+mostOfCard); k++ {
		switch p.els[k].tag {
		case atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return p.linkAround(k, i)
		}
	}
	return false
}

// linkAround says that the element k, which is in i, is in or holds a link to another page, and that neither names a
// brand or a seller.
func (p *page) linkAround(k, i int) bool {
	if beginsWithAny(strings.ToLower(plain.CutBytes(p.of(k), 60)), soldBy) { // it may hold the page
		return false
	}
	elsewhere := func(at int) bool {
		href := strings.ToLower(attr(p.els[at].node, "href"))
		_, brand := behindBrandPath(href)
		return p.els[at].tag == atom.A && !brand && !sellerPath.MatchString(href) && p.leadsElsewhere(href)
	}
	for up := k; up != i; up = p.els[up].parent {
		if elsewhere(up) {
			return true
		}
	}
	for in := k + 1; in <= min(p.els[k].last, k+mostOfCard); in++ {
		if elsewhere(in) {
			return true
		}
	}
	return false
}

// The words before a seller's name, and the ends of addresses that lead to one's page, and not to one of the seller's
// products.
var (
	soldBy = []string{"sold by", "sold and shipped by", "shipped by", "offered by", "verkauf durch", "verkauft von",
		"verkauf und versand durch", "angeboten von", "vendu par", "vendu et expédié par", "proposé par", "vendido por",
		"ofrecido por", "vendido e entregue por", "venduto da", "offerto da", "verkocht door", "verkoop door",
		"aangeboden door",
		"sprzedawca", "sprzedaje", "prodejce", "prodává", "predajca", "predáva", "vânzător", "vândut de", "eladó:",
		"säljs av", "sælges af", "selges av", "myyjä", "satıcı", "продавец", "продавець", "販売元", "販売者", "賣家", "卖家", "판매자"}
	sellerPath = regexp.MustCompile(`/(?:sellers?|merchants?|h(?:ae|ä)ndler|verk(?:ae|ä)ufer|vendeurs?|vendedor(?:es)?|` +
		`venditor[ei]|verkopers?|sprzedawc[ay]|prodejc[ei]|satici|magaza)/[^/?#]+/?(?:[?#]|$)`)
)

// A shape holds the traits that an element shares with its like: parent, tag and first class.
type shape struct {
	parent     int
	tag, class string
}

func (p *page) shape(i int) shape {
	e := &p.els[i]
	class, _, _ := strings.Cut(strings.TrimSpace(attr(e.node, "class")), " ")
	return shape{e.parent, e.node.Data, class}
}

// holdsLink says that the element i is, or holds, a link or a picture.
func (p *page) holdsLink(i int) bool {
	until := p.els[i].last + 1
	return until < len(p.els) && p.els[until].links > p.els[i].links || until == len(p.els) && p.links > p.els[i].links
}

// holdsAmount says that an amount shows within the element i.
func (p *page) holdsAmount(i int) bool {
	return slices.ContainsFunc(p.amounts, func(a amountShown) bool {
		return p.els[i].start <= a.start && a.end <= p.els[i].end
	})
}

// leads says that a link goes to another page.
func leads(href string) bool {
	return href != "" && !strings.HasPrefix(href, "#") && !strings.HasPrefix(href, "javascript:")
}

// link is an element's address made absolute, "" where it is none for a browser to load.
func (p *page) link(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasPrefix(s, "data:") || len(s) > 2000 {
		return ""
	}
	u, err := p.base.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}

// childElements yields the child elements of the element i.
func (p *page) childElements(i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := i + 1; k <= p.els[i].last; k = p.els[k].last + 1 {
			if !yield(k) {
				return
			}
		}
	}
}

// htmlElement is a document's <html>, nil where there is none.
func htmlElement(doc *html.Node) *html.Node {
	for c := range doc.ChildNodes() {
		if c.Type == html.ElementNode && c.DataAtom == atom.Html {
			return c
		}
	}
	return nil
}
