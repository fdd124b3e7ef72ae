package draft

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/markup"
	"github.com/mtlrent/conveyor/domain/web"
)

// IsProduct says that the page is that of a product: by its data, a price where a product's stands, a number of the
// product's, or a button that buys. Only a draft that Extract returned knows; one that was read from JSON says no.
func (d Draft) IsProduct() bool { return d.product }

// Challenge says that a page, UTF-8, is a check for robots instead of an answer: a CAPTCHA, a robot wall. Ask it only
// of a page that is not of a product, for a shop's contact form may have a CAPTCHA as well.
func Challenge(page []byte) bool { return web.Challenge(web.Page{Body: page}) != nil }

// longestPrice is how long a line is, in bytes, that is a price and not a sentence that names one.
const longestPrice = 50

// isProduct weighs the signs that the page is that of a product.
func (p *page) isProduct(products []*markup.Item, data markup.Data, q *quote, numbers ...claims) bool {
	if refusal(p.name) {
		for _, i := range products {
			if alike(i.Text("name"), p.name) > sameProduct {
				return true
			}
		}
		return false
	}
	if len(products) > 0 || p.button >= 0 && !p.headlined(data) {
		return true
	}
	for _, v := range data.Meta["og:type"] {
		if v = strings.ToLower(strings.TrimSpace(v)); v == "product" || v == "og:product" || v == "product.item" {
			return true
		}
	}
	for key := range data.Meta {
		if strings.HasPrefix(key, "product:") || key == "og:price:amount" {
			return true
		}
	}
	if p.name != "" {
		for _, c := range numbers {
			if best, ok := c.best(leastNumber); ok && best.points >= leastNumber {
				return true
			}
		}
	}
	switch {
	case q == nil || article(data):
		return false
	case len(q.sources) > 0 || q.seen == 0: // named by data, or by scripts alone
		return true
	}
	if p.title < 0 || q.at < 0 {
		return false
	}
	if e := &p.els[p.title]; e.start <= q.start && q.end < e.end { // "$60 · Lamp"
		if next := strings.TrimLeft(p.text[q.end:], " "); strings.HasPrefix(next, "·") || strings.HasPrefix(next, "|") {
			return true
		}
	}
	return q.shown >= leastPrice && (p.lineAt(q.start) <= longestPrice || p.named(q.at, costs))
}

// article says that the page calls itself one.
func article(data markup.Data) bool {
	for _, v := range data.Meta["og:type"] {
		if strings.EqualFold(strings.TrimSpace(v), "article") {
			return true
		}
	}
	return len(data.Find(articleTypes...)) > 0
}

var articleTypes = []string{"Article", "NewsArticle", "BlogPosting", "TechArticle", "Report"}

// headlined says that the page's name is the headline of an article, so that a button that buys is of a product which
// the article shows. The type of the page alone does not say that: plugins call every page of a shop an article.
func (p *page) headlined(data markup.Data) bool {
	return slices.ContainsFunc(data.Find(articleTypes...), func(i *markup.Item) bool {
		return alike(cmp.Or(i.Text("headline"), i.Text("name")), p.name) > sameProduct
	})
}

// The headings of pages that stand where a product should: their beginnings, and whole headings.
var (
	refusals = []string{"page not found", "page cannot be found", "page can't be found", "page could not be found",
		"product not found", "not found", "404 not", "404 page", "404 -", "404 error", "403 forbidden", "403 -",
		"500 internal", "500 -", "502 bad", "503 service", "503 -", "access denied", "are you a robot",
		"are you human", "are you a human", "verify you are", "verifying you are", "just a moment", "attention required",
		"sorry, you have been blocked", "you have been blocked", "pardon our interruption", "robot check",
		"security check", "unusual traffic", "sign in to", "log in to", "please sign in", "please log in", "oops",
		"something went wrong", "service unavailable", "internal server error", "bad gateway", "too many requests",
		"seite nicht gefunden", "seite wurde nicht gefunden", "zugriff verweigert", "page introuvable",
		"page non trouvée", "accès refusé", "êtes-vous un robot", "pagina non trovata", "página no encontrada",
		"página não encontrada", "nie znaleziono strony", "stránka nebyla nalezena", "страница не найдена",
		"ページが見つかりません", "页面不存在", "找不到"}
	refusalsAlone = []string{"error", "403", "404", "410", "500", "502", "503",
		"forbidden", "unauthorized", "login", "captcha", "blocked", "sign in",
		"log in",
		"sign up", "create account", "my account", "access to this page has been denied", "anmelden", "einloggen",
		"connexion", "se connecter", "accedi", "iniciar sesión", "entrar", "вход"}
)

// refusal says that a page's heading is one of an error, a log-in or a robot wall.
func refusal(heading string) bool {
	s := strings.ToLower(strings.Trim(fold(heading), " .!?:…"))
	s = strings.TrimPrefix(strings.TrimPrefix(s, "error "), "http ")
	return beginsWithAny(s, refusals) || slices.Contains(refusalsAlone, s)
}
