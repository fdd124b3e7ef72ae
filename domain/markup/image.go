package markup

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// imageAttributes have an image's address. The first that is there, and no template such as "x_{width}.jpg", counts:
// those of zooms before those of lazy loading, which say nothing of the size.
var imageAttributes = []string{"data-zoom-image", "data-large", "data-large_image", "data-old-hires", "data-zoom",
	"data-zoom-src", "data-src", "data-lazy-src", "data-original", "data-lazy", "data-lazyload", "data-ll-src",
	"data-image", "src"}

// ImageAddress is an image's address as written, of several by imageAttributes and then the largest of a srcset; "" =
// none. A placeholder until the image has loaded counts only where neither another nor one in a noscript beside it is
// there.
func ImageAddress(n *html.Node) string {
	address, standIn := addressOf(n)
	if address == "" {
		address = silent(n)
	}
	if address == "" {
		return standIn
	}
	return address
}

func addressOf(n *html.Node) (address, standIn string) {
	for _, name := range imageAttributes {
		v, _ := attr(n, name)
		v = strings.TrimSpace(v)
		switch {
		case v == "" || strings.HasPrefix(v, "data:") || !strings.ContainsAny(v, "./") || strings.ContainsAny(v, "{}"):
		case name == "src" && standsIn(v):
			standIn = v
		default:
			return v, ""
		}
	}
	for _, of := range append([]*html.Node{n}, sourcesOf(n)...) {
		for _, name := range []string{"data-srcset", "data-lazy-srcset", "srcset"} {
			set, _ := attr(of, name)
			if v := largestOf(set); v != "" && !strings.HasPrefix(v, "data:") && !standsIn(v) {
				return v, ""
			}
		}
	}
	return "", standIn
}

// Limits on the noscript elements that are looked at beside an image.
const (
	maxBeside = 4       // nodes on each side
	maxSilent = 4 << 10 // bytes of one
)

// silent is the address of the image in the noscript element beside an image, or beside the <picture> around it: what
// shows in a browser without scripts.
func silent(n *html.Node) string {
	if n.DataAtom == atom.Img && n.Parent != nil && n.Parent.DataAtom == atom.Picture && !hasImageBefore(n) {
		if v := silent(n.Parent); v != "" {
			return v
		}
	}
	for _, step := range []func(*html.Node) *html.Node{
		func(n *html.Node) *html.Node { return n.NextSibling }, func(n *html.Node) *html.Node { return n.PrevSibling },
	} {
		for c, k := step(n), 0; c != nil && k < maxBeside && c.DataAtom != n.DataAtom; c, k = step(c), k+1 {
			if c.DataAtom == atom.Noscript && c.FirstChild != nil && c.FirstChild.Type == html.TextNode {
				if v := firstImage(c.FirstChild.Data[:min(len(c.FirstChild.Data), maxSilent)]); v != "" {
					return v
				}
			}
		}
	}
	return ""
}

// hasImageBefore reports whether an earlier <img> of the <picture> is there, as in invalid HTML only.
func hasImageBefore(n *html.Node) bool {
	c := n.PrevSibling
	for k := 0; c != nil && c.DataAtom != atom.Img && k < maxSources; k++ {
		c = c.PrevSibling
	}
	return c != nil
}

// firstImage is the address of the first image in a piece of HTML that has one.
func firstImage(text string) string {
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			if t := z.Token(); t.DataAtom == atom.Img {
				if v, _ := addressOf(&html.Node{Type: html.ElementNode, DataAtom: atom.Img, Data: "img", Attr: t.Attr}); v != "" {
					return v
				}
			}
		}
	}
}

// Limits on where an image's addresses are looked for.
const (
	maxSources    = 20
	maxCandidates = 1000
)

// sourcesOf are the sources of an image in a <picture>, the last so many. By the HTML standard they come before the
// image; those before another image are that one's, so each is read once however many images there are.
func sourcesOf(n *html.Node) (out []*html.Node) {
	if n.Parent == nil || n.Parent.DataAtom != atom.Picture {
		return nil
	}
	for c := n.PrevSibling; c != nil && c.DataAtom != atom.Img && len(out) < maxSources; c = c.PrevSibling {
		if c.DataAtom == atom.Source {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return out
}

// standIns are what the names of files that show until an image has loaded are made of, and nothing else: "pixel.gif",
// "transparent-1x1.png".
var standIns = map[string]bool{"blank": true, "pixel": true, "spacer": true, "transparent": true, "1x1": true,
	"loading": true, "loader": true, "lazyload": true, "lazy": true, "grey": true, "gray": true, "empty": true,
	"ajax": true, "preloader": true, "spinner": true}

// standsIn says that an address is of such a file. One more kind has a size or a number in its name:
// "placeholder_300x300.png".
func standsIn(address string) bool {
	name := strings.ToLower(address)
	if end := strings.IndexAny(name, "?#"); end >= 0 {
		name = name[:end]
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, begin := range []string{"placeholder", "image-placeholder", "img-placeholder", "product-placeholder"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		name = name[:dot]
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !standIns[w] })
}

// largestOf is the largest image of a srcset, by the HTML standard: an address may have commas, and ends at white
// space. The first maxCandidates are read.
func largestOf(set string) string {
	const space = " \t\n\r\f"
	best, most, n := "", 0.0, 0
	for rest := strings.TrimLeft(set, space+","); rest != "" && n < maxCandidates; n++ {
		end := strings.IndexAny(rest, space)
		if end < 0 {
			end = len(rest)
		}
		address, size := rest[:end], 1.0
		rest = rest[end:]
		if short := strings.TrimRight(address, ","); short != address {
			address = short
		} else {
			var descriptors string
			descriptors, rest, _ = strings.Cut(rest, ",")
			for d := range strings.FieldsSeq(descriptors) {
				if v, err := strconv.ParseFloat(d[:len(d)-1], 64); err == nil && (d[len(d)-1] == 'w' || d[len(d)-1] == 'x') {
					size = v
				}
			}
		}
		if size > most && !strings.ContainsAny(address, "{}") {
			best, most = address, size
		}
		rest = strings.TrimLeft(rest, space+",")
	}
	return best
}
