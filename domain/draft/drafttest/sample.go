package drafttest

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
)

// A Sample is a page of the product extraction benchmark and its right values.
type Sample struct {
	ID, URL string
	HTML    []byte
	Truth   Truth
}

// A Part of the samples says what the rules owe to them. Only the last one tells how rules do on unknown shops.
type Part string

// The parts. Later pages are of other shops than the first 40; a seeded draw of shops parted them before any was looked
// at.
const (
	First Part = "first" // 40 pages that the rules were written with
	Open  Part = "open"  // 16 later pages, whose misses were looked at to mend rules
	Aside Part = "aside" // 18 later pages, of which nothing but the scores was looked at
)

// Parts are all parts.
var Parts = []Part{First, Open, Aside}

// laterShops are the shops of later pages, without www and the like.
var laterShops = map[string]Part{
	"craigslist.org": Open, "market.yandex.ru": Open, "vmzona.com": Open, "alibaba.com": Open, "eklinika.hr": Open,
	"getit.co.il": Open, "k-rauta.ee": Open, "laendleanzeiger.at": Open, "vsezaoci.si": Open,
	"mediamarkt.pt": Aside, "argos.co.uk": Aside, "currys.ie": Aside, "elkor.lv": Aside, "jumbo.ch": Aside,
	"lafeltrinelli.it": Aside, "olx.com.pk": Aside, "pcstore.com.tw": Aside, "tmon.co.kr": Aside,
}

// Shop names the shop that a sample is of: its host, without what stands before a later shop's name.
func (s Sample) Shop() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL
	}
	host := u.Hostname()
	for shop := range laterShops {
		if host == shop || strings.HasSuffix(host, "."+shop) {
			return shop
		}
	}
	return host
}

// Part is the part that a sample belongs to.
func (s Sample) Part() Part {
	if p, ok := laterShops[s.Shop()]; ok {
		return p
	}
	return First
}

// Samples reads the pages of the product extraction benchmark from its folder: ground-truth.json and
// html/<id>.html.gz. They are ordered by their IDs. Where there is no ground-truth.json, the error is fs.ErrNotExist.
func Samples(folder fs.FS) ([]Sample, error) {
	raw, err := fs.ReadFile(folder, "ground-truth.json")
	if err != nil {
		return nil, err
	}
	var truths map[string]map[string]any
	if err := json.Unmarshal(raw, &truths); err != nil {
		return nil, fmt.Errorf("read ground-truth.json: %w", err)
	}
	var out []Sample
	for id, fields := range truths {
		s := Sample{ID: id, Truth: Truth{}}
		for name, v := range fields {
			switch v := v.(type) {
			case string:
				s.URL = v
			case []any:
				for _, x := range v {
					s.Truth[name] = append(s.Truth[name], fmt.Sprint(x))
				}
			}
		}
		if s.HTML, err = gunzip(folder, "html/"+id+".html.gz"); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Sample) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func gunzip(folder fs.FS, name string) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return io.ReadAll(z)
}
