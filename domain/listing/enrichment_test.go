package listing_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
)

func TestJoinFacts(t *testing.T) {
	t.Parallel()
	fact := func(field, value, from string) listing.Fact {
		return listing.Fact{Field: field, Value: value, From: from, Text: "x"}
	}
	rules := []listing.Fact{fact("heating", "gas", "title"), fact("amenity", "rooftop", "title")}
	model := []listing.Fact{
		fact("heating", "oil", "model"), fact("amenity", "freezer", "model"), fact("amenity", "rooftop", "model"),
		fact("unknown", "x", "model"),
	}
	want := []listing.Fact{
		fact("amenity", "freezer", "model"), fact("amenity", "rooftop", "title"), fact("heating", "gas", "title"),
	}
	require.Equal(t, want, listing.JoinFacts(rules, model))
	require.Equal(t, want, listing.Enrichment{Facts: rules, Model: model}.All())
	require.False(t, listing.Enrichment{Facts: rules}.Says(listing.Enrichment{Facts: rules, Model: model}))
	require.True(t, listing.Enrichment{Facts: rules}.Says(listing.Enrichment{Facts: rules, Question: []byte("x")}))
}

func TestFactValid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		field, value, text string
		want               bool
	}{
		{"heating", "gas", "chauffage au gaz", true},
		{"heating", "coal", "chauffage au charbon", false},
		{"heating", "gas", "  ", false},
		{"year_built", "2012", "2012", true},
		{"year_built", "02012", "2012", false},
		{"year_built", "1699", "1699", false},
		{"year_built", "2012.0", "2012", false},
		{"rent", "900", "900 $", false},
	} {
		require.Equal(t, tt.want, listing.Fact{Field: tt.field, Value: tt.value, Text: tt.text}.Valid(), "%+v", tt)
	}
}

func TestCompareRent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rent, median int64
		want         int
	}{
		{110_000, 100_000, 10}, {90_000, 100_000, -10}, {100_000, 100_000, 0}, {100_450, 100_000, 0},
		{100_500, 100_000, 1}, {99_400, 100_000, -1}, {100_000, 0, 0},
	} {
		got := listing.RentComparison{MedianCents: tt.median}.CompareRent(tt.rent)
		require.Equal(t, tt.want, got.Percent, "%d of %d", tt.rent, tt.median)
	}
}

func TestAskFacts(t *testing.T) {
	t.Parallel()
	l := listing.Listing{
		Title: "4½ à louer", Description: "Chauffé au gaz.\nTextez le 514 555-0123 ou moi@example.org " +
			strings.Repeat("é", listing.MaxQuestion),
	}
	q := listing.AskFacts(l)
	require.Contains(t, q.Text, "4½ à louer\n\nChauffé au gaz.\nTextez le [phone] ou [email]")
	require.LessOrEqual(t, len([]rune(q.Text)), listing.MaxQuestion)
	require.Contains(t, q.Instructions, "heating (how it is heated): electric, gas")
	require.Contains(t, q.Instructions, "a whole number, 1700 to 2100")

	l.RentCents = 90_000
	require.Equal(t, q.Hash("small"), listing.AskFacts(l).Hash("small"), "a new price is no new question")
	require.NotEqual(t, q.Hash("small"), q.Hash("large"))
	l.Title = "3½ à louer"
	require.NotEqual(t, q.Hash("small"), listing.AskFacts(l).Hash("small"))
}

// A model that lies is believed in nothing that its words do not show.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	q := listing.AskFacts(listing.Listing{
		Title: "Beau 4½", Description: "Chauffage  au gaz,\nconstruit en 2012, tél. 514 555-0123. Toit-terrasse.",
	})
	for _, tt := range []struct {
		name, answer, want string // field=value, by spaces
		dropped            int
		err                bool
	}{
		{"its words are in the text", `{"fields": [{"field": "heating", "value": "gas", "quote": "chauffage au gaz"}]}`,
			"heating=gas", 0, false},
		{"a number", `{"fields": [{"field": "year_built", "value": 2012, "quote": "construit en 2012"}]}`,
			"year_built=2012", 0, false},
		{"a fence around it", "```json\n{\"fields\": [{\"field\": \"amenity\", \"value\": \"rooftop\", \"quote\": " +
			"\"Toit-terrasse\"}]}\n```", "amenity=rooftop", 0, false},
		{"words that are not in the text", `{"fields": [{"field": "heating", "value": "oil", "quote": "chauffage au mazout"},
			{"field": "amenity", "value": "rooftop", "quote": "toit-terrasse"}]}`, "amenity=rooftop", 1, false},
		{"no words", `{"fields": [{"field": "heating", "value": "gas", "quote": ""}]}`, "", 1, false},
		{"hardly any words", `{"fields": [{"field": "heating", "value": "gas", "quote": "g"}]}`, "", 1, false},
		{"another number than its words", `{"fields": [{"field": "year_built", "value": "2019", "quote": "construit en 2012"}]}`,
			"", 1, false},
		{"an unknown field", `{"fields": [{"field": "owner", "value": "x", "quote": "gaz"}]}`, "", 1, false},
		{"an unknown value", `{"fields": [{"field": "heating", "value": "none", "quote": "gaz"}]}`, "", 1, false},
		{"a value of the wrong type", `{"fields": [{"field": "heating", "value": {"a": 1}, "quote": "gaz"}]}`, "", 1, false},
		{"one thing twice", `{"fields": [{"field": "heating", "value": "gas", "quote": "gaz"},
			{"field": "heating", "value": "oil", "quote": "Chauffage"}]}`, "heating=gas", 0, false},
		{"nothing stated", `{"fields": []}`, "", 0, false},
		{"words instead", `I cannot help with that.`, "", 0, true},
		{"another object", `{"error": "overloaded"}`, "", 0, true},
		{"half an object", `{"fields": [{"field": "heating"`, "", 0, true},
		{"a list of texts", `{"fields": ["gas"]}`, "", 0, true},
		{"too much", `{"fields": []` + strings.Repeat(" ", listing.MaxAnswer) + `}`, "", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts, dropped, err := q.ReadAnswer(tt.answer)
			require.Equal(t, tt.err, err != nil, "%v", err)
			var got []string
			for _, f := range facts {
				require.Equal(t, "model", f.From)
				got = append(got, f.Field+"="+f.Value)
			}
			require.Equal(t, tt.want, strings.Join(got, " "))
			require.Equal(t, tt.dropped, dropped)
		})
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(`{"fields": [{"field": "heating", "value": "gas", "quote": "gaz"}]}`, "chauffage au gaz")
	f.Add(`{}}{`, "")
	f.Fuzz(func(t *testing.T, answer, text string) {
		q := listing.Question{Text: text}
		facts, _, _ := q.ReadAnswer(answer)
		for _, fact := range facts {
			if !fact.Valid() {
				t.Errorf("%q: %+v", answer, fact)
			}
		}
	})
}
