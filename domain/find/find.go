// Package find takes apart what a person types to find one thing among all that there is.
package find

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/web"
)

// A Query is what was typed, by what it may mean. Several of its fields may be set: a number is also a word.
type Query struct {
	Text     string      // without the spaces around and between words that say nothing
	IDs      []uuid.UUID // it is a UUID, or has one at the end of a workflow's ID
	Adverts  []uuid.UUID // that adverts would have whose ID on a platform is in it
	Number   int64       // it is one, or has one at the end of a workflow's ID; 0 = neither
	URL      string      // it is an http or https address, as typed
	Key      string      // that address in canonical form; "" = it has none
	Workflow string      // it may be a workflow's ID
	Words    bool        // it may be words, or the beginning of a name or street address
}

// maxNames is how many parts of an address are taken for an advert's ID.
const maxNames = 12

var (
	number   = regexp.MustCompile(`^#?\d{1,18}$`)
	workflow = regexp.MustCompile(`^(?:listing|image|draft|replay|crawl-run|import|campaign|scrape)/\S+$`)
)

// Parse takes a text apart. The platforms are those whose adverts it may name.
func Parse(text string, platforms []string) Query {
	q := Query{Text: strings.Join(strings.Fields(text), " ")}
	switch a, err := web.Canonical(q.Text); {
	case q.Text == "":
		return q
	case strings.HasPrefix(strings.ToLower(q.Text), "http://"), strings.HasPrefix(strings.ToLower(q.Text), "https://"):
		q.URL = q.Text
		if err == nil {
			q.Key = a.URL
		}
		q.Adverts = adverts(platforms, names(q.URL)...)
	case workflow.MatchString(q.Text):
		q.Workflow = q.Text
		kind, rest, _ := strings.Cut(q.Text, "/")
		last := rest[strings.LastIndex(rest, "/")+1:]
		if platform, name, ok := strings.Cut(rest, "/"); ok && kind == "listing" {
			q.Adverts = adverts([]string{platform}, name)
		}
		if id, err := uuid.Parse(last); err == nil && kind != "listing" {
			q.IDs = []uuid.UUID{id}
		}
		if n, err := strconv.ParseInt(last, 10, 64); err == nil && kind == "crawl-run" {
			q.Number = n
		}
		q.Words = kind == "scrape"
		if q.Words {
			q.Text = last
		}
	default:
		if id, err := uuid.Parse(q.Text); err == nil {
			q.IDs = []uuid.UUID{id}
			return q
		}
		if number.MatchString(q.Text) {
			q.Number, _ = strconv.ParseInt(strings.TrimPrefix(q.Text, "#"), 10, 64) // it has at most 18 digits
		}
		if !strings.Contains(q.Text, " ") {
			q.Adverts = adverts(platforms, q.Text)
		}
		q.Words = true
	}
	return q
}

// adverts are the IDs of adverts by the names that they may have on platforms.
func adverts(platforms []string, names ...string) (out []uuid.UUID) {
	for _, platform := range platforms {
		for _, name := range names {
			out = append(out, listing.Ref{Platform: platform, PlatformID: name}.ID())
		}
	}
	return out
}

// names are the parts of an address that may be an advert's ID: those of its path, and numbers in them, the last first.
func names(address string) (out []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	parts := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	slices.Reverse(parts)
	for _, part := range parts {
		digits := strings.FieldsFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		for _, name := range append([]string{part}, digits...) {
			if !slices.Contains(out, name) && len(out) < maxNames {
				out = append(out, name)
			}
		}
	}
	return out
}
