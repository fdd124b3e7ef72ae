package centris

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadSearch reads the first page of a search, or what the site's script is given for a later one: the same cards
// within JSON. A page is empty only where its own count says so.
func (Platform) ReadSearch(p web.Page) (scrape.Results, error) { return scrape.Read(p, search) }

func search(p web.Page) (scrape.Results, error) {
	if answer := body.JSON(p.Body); answer != nil {
		return laterPage(p, answer)
	}
	return firstPage(p)
}

// firstPage reads a page of HTML. Its state stands in elements that nobody sees, at its end.
func firstPage(p web.Page) (scrape.Results, error) {
	doc, err := body.HTML(p)
	if err != nil {
		return scrape.Results{}, err
	}
	total, found := number(doc, "#numberOfResults")
	size, sized := number(doc, "#pageSize")
	at, placed := number(doc, "#currentPage")
	if !found || !sized || !placed || size < 1 || at < 1 {
		return scrape.Results{}, web.Unrecognized("no #numberOfResults, #pageSize and #currentPage")
	}
	if n := pageOf(p.Asked); n > 0 && n != at {
		return scrape.Results{}, web.Unrecognized("page %d was asked for, and the site shows page %d", n, at)
	}
	cards, err := cardsOf(p, doc)
	return results(cards, err, total, at, size)
}

// laterPage reads the answer of resultsPath.
func laterPage(p web.Page, answer []byte) (scrape.Results, error) {
	var said struct {
		D struct {
			Succeeded *bool `json:"Succeeded"`
			Result    *struct {
				HTML  *string `json:"html"`
				Count *int    `json:"count"`
				Size  int     `json:"inscNumberPerPage"`
			} `json:"Result"`
		} `json:"d"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return scrape.Results{}, web.Unrecognized("no JSON of results: %v", err)
	}
	r := said.D.Result
	if said.D.Succeeded == nil || !*said.D.Succeeded || r == nil || r.HTML == nil || r.Count == nil || *r.Count < 0 {
		return scrape.Results{}, web.Unrecognized("JSON without d.Succeeded, d.Result.html and d.Result.count")
	}
	doc, err := body.Fragment([]byte(*r.HTML))
	if err != nil {
		return scrape.Results{}, err
	}
	if r.Size < 1 {
		r.Size = pageSize
	}
	cards, err := cardsOf(p, doc)
	return results(cards, err, *r.Count, max(pageOf(p.Asked), 1), r.Size)
}

// results makes the content of a page, the at-th of size adverts each.
func results(cards []scrape.Card, err error, total, at, size int) (scrape.Results, error) {
	if err == nil && len(cards) == 0 && total > (at-1)*size {
		err = web.Unrecognized("%d adverts in all, and page %d of %d adverts each has no %s", total, at, size, card)
	}
	if err == nil && len(cards) > 0 && total == 0 {
		err = web.Unrecognized("%d adverts, and a count of 0", len(cards))
	}
	if err != nil {
		return scrape.Results{}, err
	}
	return scrape.Results{Cards: cards, Total: total, Last: total <= at*size}, nil
}

// card is the element of an advert on a search page.
const card = "div.property-thumbnail-item"

func cardsOf(p web.Page, doc *goquery.Document) (cards []scrape.Card, err error) {
	doc.Find(card).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		href := s.Find("a.property-thumbnail-summary-link").AttrOr("href", "")
		kind := body.Text(s.Find(".category"))
		var lines []string
		s.Find(".address > div").Each(func(_ int, s *goquery.Selection) { lines = append(lines, body.Text(s)) })
		id := strings.TrimSpace(s.Find(`meta[itemprop="sku"]`).AttrOr("content", ""))
		u := p.Link(href)
		if u == nil || id == "" || idOf(u) != id || kind == "" {
			err = web.Unrecognized("a card has the link %q, the number %q and the category %q", href, id, kind)
			return false
		}
		u.RawQuery, u.ForceQuery = "", false
		address := strings.Join(lines, ", ")
		cards = append(cards, scrape.Card{
			PlatformID: id, URL: u.String(), Title: strings.TrimSuffix(kind+", "+address, ", "),
			Fingerprint: scrape.Fingerprint(kind, address, body.Text(s.Find(".price")), body.Text(s.Find(".cac")),
				body.Text(s.Find(".sdb")), body.Text(s.Find(".photo-btn"))),
		})
		return true
	})
	return cards, err
}

var digits = regexp.MustCompile(`^\d{1,9}$`)

// number reads the element of an id that holds a number, also one with spaces between its thousands.
func number(doc *goquery.Document, id string) (int, bool) {
	text := strings.Join(strings.Fields(doc.Find(id).First().Text()), "")
	if !digits.MatchString(text) {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
