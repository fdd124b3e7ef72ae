package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// An advert is one message of scraped.kijiji, about 3 KB.
type advert struct {
	id    int
	again bool // it was fed before
	body  []byte
}

const text = "Grand et lumineux 4 ½ entièrement rénové, à deux pas du métro et des commerces. Deux chambres fermées, " +
	"cuisine équipée, laveuse-sécheuse, plancher de bois franc, balcon arrière donnant sur une cour calme. Chauffage et " +
	"eau chaude inclus, électricité non comprise. Animaux : un chat accepté, pas de chien. Non-fumeur. Libre le 1er juillet. "

func generate(n int) []advert { return generateFrom(0, n) }

// generateFrom makes n adverts with IDs from first on. They lie far enough apart not to be one home.
func generateFrom(first, n int) []advert {
	out := make([]advert, n)
	for i := range out {
		out[i] = makeAdvert(first+i, 0, time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC))
	}
	return out
}

func makeAdvert(id, raise int, at time.Time) advert {
	var images []string
	for n := range 6 {
		images = append(images, fmt.Sprintf("https://media.example/images/%d/%d.jpg", id, n))
	}
	m := map[string]any{
		"platform": "kijiji", "platform_id": fmt.Sprint(9_000_000_000 + id), "url": fmt.Sprintf("https://www.kijiji.ca/v/%d", id),
		"scraped_at": at, "title": fmt.Sprintf("4 ½ rénové, chauffé, près du métro, no %d", id),
		"description": "<p>" + strings.Repeat(text, 5) + "</p>",
		"price":       map[string]any{"amount_cents": 100000 + id%900*100 + raise, "type": "FIXED"},
		"address":     fmt.Sprintf("%d rue Saint-Denis, Montréal, QC H2X 3K%d", 1000+id%8000, id%10),
		"latitude":    45.42 + float64(id%1000)*0.00025, "longitude": -73.80 + float64(id/1000%1000)*0.0003,
		"attributes": map[string][]string{
			"numberbedrooms": {"2"}, "numberbathrooms": {"10"}, "unittype": {"apartment"}, "petsallowed": {"limited"},
			"furnished": {"0"}, "heat": {"1"}, "hydro": {"0"}, "areainfeet": {"850"}, "balcony": {"1"},
		},
		"image_urls": images, "posted_at": "2026-01-09T12:00:00Z",
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return advert{id: id, body: body}
}

// rescrape is the real mix: the adverts again, six hours later, n times over, from round first on; in each round one in
// twenty has another price.
func rescrape(adverts []advert, first, n int) []advert {
	var out []advert
	for round := first; round < first+n; round++ {
		at := time.Date(2026, 1, 10, 12+6*round, 0, 0, 0, time.UTC)
		for i, a := range adverts {
			// Its price changes every twenty rounds and stays in between.
			raise := 100 * ((round + 19 - i%20) / 20)
			next := makeAdvert(a.id, raise, at)
			next.again = true
			out = append(out, next)
		}
	}
	return out
}
