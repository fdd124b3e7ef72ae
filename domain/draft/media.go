package draft

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/markup"
	plain "github.com/mtlrent/conveyor/domain/page"
)

// maxImages is how many images a draft keeps.
const maxImages = 50

// mostImages is how many addresses are looked at for them: the page decides how many are of no picture.
const mostImages = 2_000

// imagesOf are the product's images: those of its data, that of the page's card for others, those of its gallery.
func (p *page) imagesOf(products []*markup.Item, meta map[string][]string) []Found[string] {
	var out []Found[string]
	seen := map[string]bool{}
	tried, base := 0, p.base.String()
	add := func(address string, s Source) {
		if tried++; tried > mostImages {
			return
		}
		if !strings.ContainsAny(address, "./") || nothing(address) { // "false", where a shop has none
			return
		}
		address = p.link(address)
		key := strings.TrimPrefix(strings.TrimPrefix(address, "https:"), "http:")
		if address == "" || seen[key] || len(out) >= maxImages || address == base || noPicture.MatchString(address) {
			return
		}
		seen[key] = true
		out = append(out, *found(address, s))
	}
	of := func(i *markup.Item) {
		for _, prop := range []string{"image", "images"} {
			for _, v := range i.Props[prop] {
				if v.Item == nil {
					add(v.Text, sourceOf(i))
					continue
				}
				address := cmp.Or(v.Item.Ref("contentUrl"), v.Item.Ref("url"))
				if len(v.Item.Props) == 0 && !strings.Contains(v.Item.ID, "#") { // which is a part of a page
					address = v.Item.ID
				}
				add(address, sourceOf(i))
			}
		}
	}
	for _, i := range products {
		of(i)
	}
	for _, key := range []string{"og:image", "og:image:url", "og:image:secure_url", "twitter:image"} {
		for _, v := range meta[key] {
			add(v, OpenGraph)
		}
	}
	for i := range p.els {
		e := &p.els[i]
		if p.title < 0 || len(out) >= maxImages {
			break
		}
		if e.tag != atom.Img || p.beside(i) {
			continue
		}
		if e.start > p.els[p.title].end+3000 || e.marks&gallery == 0 && !p.large(e.node) || small(e.node) {
			continue
		}
		add(markup.ImageAddress(e.node), Page)
	}
	if len(out) > 0 {
		return out
	}
	for _, i := range products { // a group may leave its images to its variants
		for _, variant := range i.Items("hasVariant") {
			of(variant)
		}
	}
	return out
}

// noPicture is in the address of what shops show in place of a picture: "no_selection", "image-not-available.png",
// "/placeholder/default/". An address with a brace is a template that was not filled in.
var noPicture = regexp.MustCompile(`(?i)/(?:no[-_ ]?(?:image|img|photo|picture|pic|selection|product[-_ ]?image)|` +
	`(?:image|photo|picture)[-_ ]?(?:not[-_ ]?(?:available|found)|coming[-_ ]?soon|missing)|` +
	`(?:woocommerce|product|default)[-_]placeholder)` +
	`(?:[-_.]?(?:available|found|default|placeholder|large|medium|small|thumb|full|[\dx]+|[\da-f]{16,}))*` +
	`(?:\.[a-z]{3,4})?(?:$|[?#])|/placeholder/(?:default|(?:store|website)s/\d+)/|` +
	`/placeholder/(?:(?:small_|swatch_)?image|thumbnail)\.[a-z]{3,4}(?:$|[?#])|%7[bB]|[{}]`)

// large says that an image claims 200 pixels or more.
func (p *page) large(n *html.Node) bool {
	w, h := pixels(n, "width"), pixels(n, "height")
	if w == 0 && h == 0 {
		return p.name != "" && alike(attr(n, "alt"), p.name) > sameImage
	}
	return max(w, h) >= 200
}

// small says that an image is an icon.
func small(n *html.Node) bool {
	w, h := pixels(n, "width"), pixels(n, "height")
	return w > 0 && w < 40 || h > 0 && h < 40
}

func pixels(n *html.Node, name string) int {
	v, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(attr(n, name)), "px"))
	return v
}

// Limits on how far breadcrumbs are looked for: links, and elements inside one that is named so.
const (
	maxCrumbs    = 50
	maxCrumbWalk = 2000
)

// crumbsOf is the way from the shop's root to the product's category.
func (p *page) crumbsOf(data markup.Data) *Found[[]string] {
	for _, i := range data.Find("BreadcrumbList") {
		var out []string
		for _, el := range i.Items("itemListElement") {
			name := el.Text("name")
			if name == "" {
				name = el.Text("item")
			}
			out = append(out, cleanText(plain.CutBytes(name, longestText), 200))
		}
		if out = p.trail(out); len(out) > 0 {
			return foundAs(out, sourceOf(i))
		}
	}
	for i := 0; i < len(p.els); i++ {
		e := &p.els[i]
		if e.own&crumbs == 0 || e.end == e.start || e.end-e.start > 1000 || e.marks&veiled != 0 {
			continue
		}
		var out []string
		for k := i + 1; k <= min(e.last, i+maxCrumbWalk) && len(out) < maxCrumbs; k++ {
			c := &p.els[k]
			if c.end > c.start && (c.tag == atom.A || c.tag == atom.Li && !p.holdsTag(k, atom.A)) {
				out = append(out, cleanText(fold(p.of(k)), 200))
			}
		}
		i = e.last // those inside have been tried with it
		if out = p.trail(out); len(out) > 1 {
			return foundAs(out, Page)
		}
	}
	return nil
}

// trail cleans a list of breadcrumbs: without empty ones, separators, and the product itself at its end.
func (p *page) trail(list []string) []string {
	var out []string
	for _, s := range list {
		s = strings.Trim(s, " >/›»|·\\•→-")
		if s == "" || len(out) > 0 && out[len(out)-1] == s || strings.Contains(s, "://") {
			continue
		}
		out = append(out, s)
	}
	if n := len(out); n > 0 && p.name != "" && alike(out[n-1], p.name) > sameCrumb {
		out = out[:n-1]
	}
	return out[:min(len(out), 20)]
}

// holdsTag says that the element i is such an element or has one near its beginning.
func (p *page) holdsTag(i int, tag atom.Atom) bool {
	for k := i; k <= min(p.els[i].last, i+50); k++ {
		if p.els[k].tag == tag {
			return true
		}
	}
	return false
}

// maxDescription is how long a description may be, in characters.
const maxDescription = 5000

// descriptionOf is the product's description.
func (p *page) descriptionOf(products []*markup.Item, meta map[string][]string) *Found[string] {
	for _, i := range products {
		if d := cleanText(i.Text("description"), maxDescription); d != "" && !nothing(d) {
			return found(d, sourceOf(i))
		}
	}
	for _, v := range meta["og:description"] {
		if d := cleanText(v, maxDescription); d != "" {
			return found(d, OpenGraph)
		}
	}
	for i := range p.els {
		e := &p.els[i]
		if e.end-e.start < 60 || e.marks&(aside|chrome) != 0 {
			continue
		}
		names := strings.ToLower(attr(e.node, "class") + " " + attr(e.node, "id"))
		if strings.Contains(names, "description") || strings.Contains(names, "beschreibung") {
			return found(cleanText(p.of(i), maxDescription), Page)
		}
	}
	for _, v := range meta["description"] {
		if d := cleanText(v, maxDescription); d != "" {
			return found(d, Page)
		}
	}
	return nil
}

// cleanText makes plain text of a text that may be HTML, white space folded, cut at max characters.
func cleanText(s string, max int) string {
	if strings.ContainsRune(s, '&') {
		s = html.UnescapeString(s)
	}
	if strings.Contains(s, "<") && strings.Contains(s, ">") {
		s = plain.Text(s) // an HTML parser would copy every open element for each paragraph: gigabytes of a small page
	}
	s = fold(strings.ToValidUTF8(strings.Map(printable, s), ""))
	n := 0
	for i := range s {
		if n++; n > max {
			return strings.TrimSpace(s[:i])
		}
	}
	return s
}

// printable drops control characters and those that turn the direction of writing, which no field of a draft may hold:
// they steer the terminal that a draft is printed on.
func printable(r rune) rune {
	if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' ||
		r == '\ufeff' {
		return -1
	}
	return r
}
