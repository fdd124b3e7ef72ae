package draft

import (
	"cmp"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/markup"
)

// maxVariants is how many variants a draft keeps.
const maxVariants = 200

// optionProps are the properties in which variants differ.
var optionProps = []string{"color", "size", "material", "pattern", "width", "height", "scent", "flavor"}

// variantsOf are the forms that the product is sold in: the variants its data lists, else its offers where each has a
// number of its own, else the choices that the page offers.
func (p *page) variantsOf(products []*markup.Item, offers []offer) []Found[Variant] {
	var out []Found[Variant]
	add := func(v Variant, s Source) {
		if len(out) < maxVariants {
			out = append(out, *foundAs(v, s))
		}
	}
	for _, product := range products {
		for _, i := range product.Items("hasVariant") {
			if len(out) == maxVariants { // each may lead to thousands of offers
				return out
			}
			v := Variant{Name: cleanText(i.Text("name"), 300), SKU: number(i.Text("sku")), URL: p.link(i.Ref("url")),
				GTIN: gtinOf(i), Options: optionsOf(i)}
			for _, o := range p.offersOf(i) {
				v.Price, v.Currency, v.Availability = o.amount, o.currency, o.availability
				if v.URL == "" {
					v.URL = p.link(o.url)
				}
				if v.SKU == "" {
					v.SKU = o.sku
				}
				break
			}
			add(v, sourceOf(i))
		}
		if len(out) > 0 {
			return out
		}
	}
	for _, product := range products {
		skus := map[string]bool{}
		for _, o := range offers {
			if o.of == product && o.sku != "" {
				skus[o.sku] = true
			}
		}
		if len(skus) < 2 {
			continue
		}
		for _, o := range offers {
			if o.of == product && skus[o.sku] {
				delete(skus, o.sku)
				v := Variant{Name: cleanText(o.name, 300), SKU: o.sku, GTIN: gtinOf(o.item), Price: o.amount, Currency: o.currency,
					Availability: o.availability, URL: p.link(o.url)}
				for _, i := range o.item.Items("itemOffered") {
					v.GTIN, v.Options = cmp.Or(v.GTIN, gtinOf(i)), optionsOf(i)
				}
				add(v, o.source)
			}
		}
		return out
	}
	return p.choices()
}

// optionsOf are the properties in which a form differs from the others, nil where data names none.
func optionsOf(i *markup.Item) map[string]string {
	var options map[string]string
	for _, prop := range optionProps {
		if text := cleanText(i.Text(prop), 100); text != "" {
			if options == nil {
				options = map[string]string{}
			}
			options[prop] = text
		}
	}
	return options
}

// gtinOf is the global number that data gives a product or an offer, "" = none.
func gtinOf(i *markup.Item) string {
	for _, prop := range []string{"gtin13", "gtin", "gtin12", "gtin14", "gtin8"} {
		if g := statedGTIN(i.Text(prop)); g != "" {
			return g
		}
	}
	return ""
}

// choices are the options of the lists near the product's name that are named after a property in which variants
// differ.
func (p *page) choices() []Found[Variant] {
	var out []Found[Variant]
	for i := range p.els {
		e := &p.els[i]
		if e.tag != atom.Select || p.title < 0 || e.start < p.els[p.title].start || p.beside(i) {
			continue
		}
		name := strings.ToLower(attr(e.node, "name") + " " + attr(e.node, "id") + " " + attr(e.node, "aria-label"))
		if strings.Contains(name, "quant") || strings.Contains(name, "qty") || strings.Contains(name, "menge") ||
			e.own&option == 0 && nameMarks(name)&option == 0 && !strings.Contains(name, "attribute") {
			continue
		}
		key := "option"
		for _, k := range optionProps {
			if strings.Contains(name, k) || k == "color" && strings.Contains(name, "colour") {
				key = k
				break
			}
		}
		for k := range p.childElements(i) {
			n := p.els[k].node
			text := cleanText(innerText(n, 120), 100)
			if p.els[k].tag != atom.Option || text == "" || attr(n, "value") == "" || len(out) >= maxVariants {
				continue
			}
			v := Variant{Name: text, Options: map[string]string{key: text}}
			if has(n, "disabled") {
				v.Availability = OutOfStock
			}
			out = append(out, *foundAs(v, Page))
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
