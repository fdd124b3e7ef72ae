package opensearch

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mtlrent/conveyor/domain/search"
)

// An answer is what OpenSearch says to a search.
type answer struct {
	TimedOut        bool `json:"timed_out"`
	TerminatedEarly bool `json:"terminated_early"`
	Shards          struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits struct {
		Total struct {
			Value    int    `json:"value"`
			Relation string `json:"relation"`
		} `json:"total"`
		Hits []hit `json:"hits"`
	} `json:"hits"`
	Aggregations map[string]aggregation `json:"aggregations"`
	Suggest      struct {
		Words []struct {
			Text    string `json:"text"`
			Options []struct {
				Text string `json:"text"`
			} `json:"options"`
		} `json:"words"`
	} `json:"suggest"`
}

type aggregation struct {
	Value   int `json:"value"`
	Buckets []struct {
		Key      string      `json:"key"`
		DocCount int         `json:"doc_count"`
		Answers  aggregation `json:"answers"`
	} `json:"buckets"`
}

type hit struct {
	Score  *float64 `json:"_score"`
	Source struct {
		ID        int64     `json:"id"`
		URL       string    `json:"url"`
		Site      string    `json:"site"`
		Language  string    `json:"language"`
		Type      string    `json:"type"`
		CrawledAt time.Time `json:"crawled_at"`
		Lead      string    `json:"lead"`
		Tail      string    `json:"tail"`
		En        shown     `json:"en"`
		Fr        shown     `json:"fr"`
		Other     shown     `json:"other"`
	} `json:"_source"`
	Highlight map[string][]string `json:"highlight"`
	InnerHits struct {
		Duplicates struct {
			Hits struct {
				Total struct {
					Value int `json:"value"`
				} `json:"total"`
			} `json:"hits"`
		} `json:"duplicates"`
	} `json:"inner_hits"`
}

// shown is what an answer has of a document's part in one language.
type shown struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// total is how many answers there are, duplicates collapsed.
func (s *request) total(a answer) int { return a.Aggregations["answers"].Value }

// corrections are the nearest words that are indexed, by the words that are not.
func (a answer) corrections() map[string]string {
	out := map[string]string{}
	for _, w := range a.Suggest.Words {
		for _, o := range w.Options {
			if n := search.Typos(w.Text); search.Edits(w.Text, o.Text, n) <= n {
				out[w.Text] = o.Text
				break
			}
		}
	}
	return out
}

// results reads an answer.
func (s *request) results(a answer, relaxed bool) search.Results {
	out := search.Results{
		Total: s.total(a), AtLeast: a.TimedOut || a.TerminatedEarly || a.Shards.Failed > 0, Facets: noFacets(s.query.Facets),
	}
	if s.query.Facets {
		f := out.Facets
		for i, list := range []*[]search.Count{&f.Sites, &f.Languages, &f.Types, &f.Months} {
			*list = counts(a.Aggregations[facetFields[i]])
		}
	}
	for i, h := range a.Hits.Hits {
		if i == s.query.Limit {
			last := out.Hits[i-1]
			if at := s.from + i; at+s.query.Limit <= window {
				out.Next = &search.Position{All: last.All, Score: last.Score, ID: last.ID, Rank: at}
			}
			break
		}
		out.Hits = append(out.Hits, h.hit(relaxed))
	}
	return out
}

func noFacets(asked bool) *search.Facets {
	if asked {
		return &search.Facets{}
	}
	return nil
}

func counts(a aggregation) []search.Count {
	var out []search.Count
	for _, b := range a.Buckets {
		out = append(out, search.Count{Value: b.Key, Pages: max(b.Answers.Value, 1)})
	}
	slices.SortStableFunc(out, func(a, b search.Count) int { return b.Pages - a.Pages })
	return out
}

// hit is one answer as it is shown.
func (h hit) hit(relaxed bool) search.Hit {
	src := h.Source
	part, text := other, src.Other
	switch src.Language {
	case "en":
		part, text = "en", src.En
	case "fr":
		part, text = "fr", src.Fr
	}
	out := search.Hit{
		ID: src.ID, URL: src.URL, Site: src.Site, Title: text.Title, Language: src.Language, Type: src.Type,
		CrawledAt: src.CrawledAt.UTC(), All: true, Duplicates: max(0, h.InnerHits.Duplicates.Hits.Total.Value-1),
	}
	if h.Score != nil {
		score := *h.Score
		if relaxed {
			if out.All = score >= tier; out.All {
				score -= tier
			}
		}
		out.Score = float32(score)
	}
	if marked := h.Highlight[part+".title"]; len(marked) > 0 {
		_, out.Marks = marks(marked[0])
	}
	out.Snippet = h.snippet(part)
	return out
}

// snippet is the best part of the text, or of the description where only that has words of the query.
func (h hit) snippet(part string) search.Snippet {
	best := func(field string) (string, []search.Range) {
		if list := h.Highlight[part+field]; len(list) > 0 {
			return plain(list[0])
		}
		return "", nil
	}
	text, ranges := best(".body")
	if len(ranges) == 0 {
		if description, more := best(".description"); description != "" && (len(more) > 0 || text == "") {
			return search.Snippet{Text: description, Marks: more}
		}
	}
	if text == "" {
		return search.Snippet{}
	}
	if lead := h.Source.Lead; lead != "" && !strings.HasPrefix(lead, cutRunes(text, 20)) {
		text = "… " + text
		for i := range ranges {
			ranges[i].Start, ranges[i].End = ranges[i].Start+2, ranges[i].End+2
		}
	}
	if tail := h.Source.Tail; tail != "" && !strings.HasSuffix(strings.TrimSpace(text), tail) &&
		!strings.HasSuffix(tail, strings.TrimPrefix(text, "… ")) {
		text += " …"
	}
	return search.Snippet{Text: text, Marks: ranges}
}

// marks takes the marked words out of a text: their ranges in code points.
func marks(s string) (string, []search.Range) {
	var out strings.Builder
	var ranges []search.Range
	n, start := 0, -1
	for _, r := range s {
		switch r {
		case markStart:
			start = n
		case markEnd:
			if start >= 0 && n > start {
				ranges = append(ranges, search.Range{Start: start, End: n})
			}
			start = -1
		default:
			out.WriteRune(r)
			n++
		}
	}
	return out.String(), ranges
}

// plain is a marked text on one line, with single spaces, and the ranges of its marked words.
func plain(s string) (string, []search.Range) {
	var out strings.Builder
	space := false
	for _, r := range strings.TrimSpace(s) {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return marks(out.String())
}
