package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mtlrent/conveyor/domain/listing"
)

// A reading is what the tables have of a language model's answer on a listing.
type reading struct {
	PlatformID string
	Text       string
	Facts      []listing.Fact
	Read       bool // there is an answer
}

const sqlReadings = `
SELECT l.platform_id, l.title || ' ' || l.description, coalesce(e.model_facts, '[]'), e.model_facts IS NOT NULL
FROM listings l LEFT JOIN listing_enrichments e ON e.listing_id = l.id`

// The truth is what a liar says at times: its words are in every advert of the flow.
var truth = listing.Fact{Field: "for", Value: "students", From: "model", Text: "près du métro"}

// A liar is a language model that lies, stalls, breaks off and answers nonsense. It fails a question once; what it says
// then is a lie with a grain of truth in it.
type liar struct {
	url string

	mu       sync.Mutex
	dice     *rand.Rand
	asked    map[string]int // by question
	lies     int
	nonsense int
	stalls   int
}

func newLiar(t *testing.T) *liar {
	l := &liar{dice: rand.New(rand.NewPCG(*seed, 13)), asked: map[string]int{}}
	l.url = serveAt(t, "127.0.0.1")(l).URL + "/v1"
	return l
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct{ Messages []struct{ Content string } }
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &q) != nil || len(q.Messages) != 2 { // its sender was killed
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	question := q.Messages[1].Content
	l.mu.Lock()
	first, p := l.asked[question] == 0, l.dice.IntN(100)
	l.asked[question]++
	switch {
	case !first || p >= 30:
		l.lies++
	case p < 5:
		l.stalls++
	default:
		l.nonsense++
	}
	l.mu.Unlock()
	say := func(content string) {
		answer, _ := json.Marshal(content) // never fails
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s}}]}`, answer)
	}
	switch {
	case !first || p >= 30:
		say(`{"fields":[{"field":"heating","value":"oil","quote":"chauffage au mazout"},
			{"field":"for","value":"students","quote":"Près du métro"},
			{"field":"year_built","value":2019,"quote":"métro"},{"field":"view","value":"water","quote":""}]}`)
	case p < 5:
		<-r.Context().Done() // until the sender has had enough, or is killed
	case p < 10:
		say("I cannot help with that.")
	case p < 15:
		say(`{"fields":[{"field":"heating"`)
	case p < 20:
		w.WriteHeader(http.StatusInternalServerError)
	case p < 25:
		_, _ = io.WriteString(w, strings.Repeat("<html>", 100_000))
	default:
		panic(http.ErrAbortHandler)
	}
}

// lies adds how the model was asked.
func (l *Ledger) lies(m *liar) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, times := range m.asked {
		n += times
	}
	l.row("questions to the language model", n, "on %d texts: %d lies, %d times nonsense, %d stalls", len(m.asked), m.lies,
		m.nonsense, m.stalls)
}

// readings looks for what a language model said and the text does not.
func (l *Ledger) readings(list []reading) {
	var lies []string
	read := 0
	for _, r := range list {
		if r.Read {
			read++
		}
		for _, f := range r.Facts {
			if !strings.Contains(strings.ToLower(r.Text), strings.ToLower(f.Text)) || f.Value != truth.Value {
				lies = append(lies, fmt.Sprintf("%s: %+v", r.PlatformID, f))
			}
		}
		if r.Read && !slices.ContainsFunc(r.Facts, func(f listing.Fact) bool { return f.Field == truth.Field }) {
			lies = append(lies, r.PlatformID+": what is in its text is left out")
		}
	}
	l.row("listings that the language model has read", read, "of %d; the others stand without", len(list))
	l.none("lies of the language model", lies)
}
