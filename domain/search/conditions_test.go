package search_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// found is what another index tells of a page.
func found(p search.Page, languages []string) search.Found {
	const gap = 10
	d := search.Found{Languages: languages}
	terms := map[string]*search.FoundTerm{}
	base := int32(0)
	read := func(text string, length *int, at func(*search.FoundTerm) *[]int32) {
		last := int32(-1)
		search.Terms(text, languages, func(term string, position int32) bool {
			if terms[term] == nil {
				terms[term] = &search.FoundTerm{Text: term}
			}
			list := at(terms[term])
			*list = append(*list, base+position)
			last = position
			return true
		})
		*length = int(last) + 1
		base += last + 1 + gap
	}
	read(p.Title, &d.Title, func(t *search.FoundTerm) *[]int32 { return &t.Title })
	read(p.Text, &d.Body, func(t *search.FoundTerm) *[]int32 { return &t.Body })
	for _, t := range terms {
		d.Terms = append(d.Terms, *t)
	}
	return d
}

// TestScoreIsRanks holds the scores of documents that another index finds to those of this one.
func TestScoreIsRanks(t *testing.T) {
	t.Parallel()

	page := func(id int64, language, title, text string) search.Page {
		return search.Page{ID: id, Document: search.Document{Title: title, Text: text, Language: language, CrawledAt: day(1)}}
	}
	pages := []search.Page{
		page(1, "fr", "Appartement à louer, Plateau", "bel appartement rénové, balcon, appartements voisins tranquilles"),
		page(2, "fr", "4½ rénové", "grand appartement avec deux balcons près du métro et du parc"),
		page(3, "en", "Apartment with balconies", "two balconies, heated; près du métro; the balcony looks on the park"),
		page(4, "fr", "Condo", "condo neuf, appartement témoin, métro à deux pas, chauffé"),
		page(5, "", "Loft", "appartement balcon"),
		page(6, "fr", "Appartements", "un balcon et un appartement tout neuf"),
	}
	x := newIndex(t)
	x.add(pages...)
	snapshot := x.snapshot()
	lengths := snapshot.Lengths()
	mean := func(f int) float32 { return float32(float64(lengths[f]) / float64(snapshot.Docs())) }
	for _, text := range []string{
		"appartement", "appartements balcon", "balcony", "metro appartement balcons", `"près du métro"`, "4½",
		"intitle:appartement balcon", "balc* metro", "condos", "appartement -condo",
	} {
		ask, err := search.Parse(text)
		require.NoError(t, err)
		conditions := search.NewPlan(ask, search.Query{}).Conditions()
		require.Len(t, conditions, len(ask.Clauses))
		ranking := x.rank(ask, search.Query{})
		scale := search.Scale{Title: mean(0), Address: mean(2), Body: mean(3)}
		for i := range conditions {
			df, n := float64(ranking.Found(i)), float64(len(pages))
			scale.Weights = append(scale.Weights, float32(math.Log1p((n-df+0.5)/(df+0.5))))
		}
		hits, _ := ranking.Hits(nil, 10)
		hits = slices.DeleteFunc(hits, func(h search.Ranked) bool { return !h.All })
		require.NotEmpty(t, hits, text)
		for _, h := range hits {
			p := pages[h.ID-1]
			var languages []string
			if p.Language != "" {
				languages = []string{p.Language}
			}
			d := found(p, languages)
			require.InDelta(t, h.Score, scale.Score(conditions, &d), 1e-4, "%s in %d", text, h.ID)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]search.Condition{
		"les appartements de": {{Terms: []search.Term{
			{Text: "appartements", Exact: true}, {Text: "en:appart"}, {Text: "appart", Language: "en"},
			{Text: "fr:appart"}, {Text: "appart", Language: "fr"},
		}}},
		"it 7 with us": {{Terms: []search.Term{{Text: "7", Exact: true}}}},
		"de":           {{Terms: []search.Term{{Text: "de", Exact: true}, {Text: "en:de"}, {Text: "fr:de"}}}},
		`-"a b"`:       {{Terms: []search.Term{{Text: "a", Exact: true}, {Text: "b", Exact: true}}, Phrase: true, Not: true}},
		`"saint" saint -"ste"`: {
			{Terms: []search.Term{{Text: "saint", Exact: true}}},
			{Terms: []search.Term{{Text: "saint", Exact: true}, {Text: "st", Exact: true}, {Text: "en:saint"}, {Text: "fr:saint"}}},
			{Terms: []search.Term{{Text: "ste", Exact: true}}, Not: true},
		},
		"intitle:7 lou*": {
			{Terms: []search.Term{{Text: "7", Exact: true}}, Title: true},
			{Terms: []search.Term{{Text: "lou", Exact: true}}, Prefix: true},
		},
	} {
		ask, err := search.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, search.NewPlan(ask, search.Query{}, search.AdvertLanguages...).Conditions(), text)
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{"fr"}, search.Languages("un bel appartement dans le Plateau, près du métro, pour vous"))
	require.Equal(t, []string{"en"}, search.Languages("this is a beautiful apartment in the heart of the city"))
	require.Equal(t, []string{"en", "fr"}, search.Languages("Loft"))
	require.Empty(t, search.Languages("der Hund und die Katze sind nicht auf dem Tisch mit den Tellern"))
}
