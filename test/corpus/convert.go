//go:build ignore

// Command convert turns the published adverts into scraped.kijiji messages, one a line:
//
//	go run convert.go < example_values.jsonl > quebec-2018.jsonl
//
// Its input is one JSON object a line, as the scraper wrote them. README.md says what is changed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

type published struct {
	ID          int64    `json:"id"`
	Headline    string   `json:"headline"`
	Description string   `json:"description"`
	Price       *int64   `json:"price"` // cents
	Address     string   `json:"address"`
	URL         string   `json:"url"`
	Date        string   `json:"date"`
	NumRooms    *float64 `json:"num_rooms"`
	Furnished   *bool    `json:"is_furnished"`
	Animals     *bool    `json:"allows_animals"`
	Latitude    *float64 `json:"latitude"`
	Longitude   *float64 `json:"longitude"`
}

type price struct {
	AmountCents *int64 `json:"amount_cents"`
	Type        string `json:"type"`
	Text        string `json:"text"`
}

type message struct {
	Platform    string              `json:"platform"`
	PlatformID  string              `json:"platform_id"`
	URL         string              `json:"url"`
	ScrapedAt   time.Time           `json:"scraped_at"`
	Title       string              `json:"title"`
	Description string              `json:"description"`
	Price       price               `json:"price"`
	Address     string              `json:"address"`
	Latitude    *float64            `json:"latitude"`
	Longitude   *float64            `json:"longitude"`
	Attributes  map[string][]string `json:"attributes"`
	ImageURLs   []string            `json:"image_urls"`
	Contact     struct {
		Name  string `json:"name"`
		Phone string `json:"phone"`
	} `json:"contact"`
	PostedAt *time.Time        `json:"posted_at"`
	Raw      map[string]string `json:"raw"`
}

const scrapedAfter = 6 * time.Hour

// last is the date of the advert before: where one has no date, the collector was there at about that time.
var last time.Time

func main() {
	if err := convert(); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func convert() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for n := 0; in.Scan(); n++ {
		var p published
		if err := json.Unmarshal(in.Bytes(), &p); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		m, err := p.message(n)
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		if err := out.Encode(m); err != nil {
			return err
		}
	}
	return in.Err()
}

func (p published) message(n int) (message, error) {
	var posted *time.Time
	if p.Date != "" {
		d, err := time.Parse("2006-01-02T15:04:05", p.Date)
		if err != nil {
			return message{}, err
		}
		posted, last = &d, d
	}
	id := strconv.FormatInt(p.ID, 10)
	m := message{
		Platform: "kijiji", PlatformID: id, URL: p.URL, ScrapedAt: last.Add(scrapedAfter), Title: p.Headline,
		Description: p.Description, Address: p.Address, Latitude: p.Latitude, Longitude: p.Longitude,
		Attributes: map[string][]string{}, ImageURLs: []string{}, PostedAt: posted,
		Raw: map[string]string{"id": id, "slug": path.Base(path.Dir(p.URL))},
	}
	m.Price.Type = "CONTACT"
	if p.Price != nil {
		m.Price = price{AmountCents: p.Price, Type: "FIXED", Text: printed(*p.Price)}
	}
	if p.NumRooms != nil {
		m.Attributes["numrooms"] = []string{strconv.FormatFloat(*p.NumRooms, 'f', -1, 64)}
	}
	if p.Furnished != nil {
		m.Attributes["furnished"] = []string{box(*p.Furnished)}
	}
	if p.Animals != nil {
		m.Attributes["petsallowed"] = []string{box(*p.Animals)}
	}
	if n%10 == 0 {
		for i := 1; i <= 1+n/10%3; i++ {
			m.ImageURLs = append(m.ImageURLs, fmt.Sprintf("http://127.0.0.1:8090/photos/%s/%d.jpg", id, i))
		}
	}
	return m, nil
}

// printed writes cents as the French pages do: "1 250,00 $".
func printed(cents int64) string {
	s := strconv.FormatInt(cents/100, 10)
	if len(s) > 3 {
		s = s[:len(s)-3] + "\u00a0" + s[len(s)-3:]
	}
	return strings.Join([]string{s, fmt.Sprintf("%02d\u00a0$", cents%100)}, ",")
}

func box(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}
