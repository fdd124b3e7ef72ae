package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mtlrent/conveyor/internal/cranfield"
)

// relevanceName is the scenario that grades the order of answers. It needs no services; with a Postgres at
// DATABASE_URL it grades ts_rank, too.
const relevanceName = "search: relevance"

// Relevance is how well one ranking answers the questions of a collection, from 0 to 1.
type Relevance struct {
	Ranking    string  `json:"ranking"`
	Collection string  `json:"collection"`
	NDCG       float64 `json:"ndcg_10"`
	MAP        float64 `json:"map"`
	Odd        float64 `json:"ndcg_10_odd"`  // of the questions that its parts were chosen by
	Even       float64 `json:"ndcg_10_even"` // of the others
	Millis     float64 `json:"ms"`           // a question, CPU time of this process
}

// A ranking gives the numbers of the documents that answer a question, the best first.
type ranking func(ctx context.Context, question string) ([]int, error)

// grade asks a ranking all questions.
func grade(ctx context.Context, name string, c cranfield.Collection, rank ranking) (Relevance, error) {
	r := Relevance{Ranking: name, Collection: "Cranfield"}
	var halves [2]struct{ n, ndcg float64 }
	start := cpuTime()
	for _, q := range c.Questions {
		docs, err := rank(ctx, q.Text)
		if err != nil {
			return r, fmt.Errorf("answer question %d: %w", q.Number, err)
		}
		ndcg := q.NDCG(docs)
		half := &halves[q.Number%2]
		half.n++
		half.ndcg += ndcg
		r.NDCG += ndcg / float64(len(c.Questions))
		r.MAP += q.AveragePrecision(docs) / float64(len(c.Questions))
	}
	r.Even, r.Odd = halves[0].ndcg/halves[0].n, halves[1].ndcg/halves[1].n
	r.Millis = float64(cpuTime()-start) / float64(time.Millisecond) / float64(len(c.Questions))
	return r, nil
}

func (r Report) printRelevance(w io.Writer) {
	table(w, "\nrelevance; questions with an odd number were looked at while the ranking was made, the others were not:",
		"nDCG@10\tMAP\todd\teven\tCPU-ms\t", r.Relevance, func(t io.Writer, v Relevance) {
			fmt.Fprintf(t, "%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t  %s, %s\n", v.NDCG, v.MAP, v.Odd, v.Even, v.Millis, v.Ranking,
				v.Collection)
		})
}
