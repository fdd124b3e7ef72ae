package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// allWeights asks for each weight of extraction to be left out in turn.
const allWeights = "all"

// weighed are the fields whose F1 is printed with a weight left out.
var weighed = []string{"price", "availability", "sku", "brand"}

// A Without is how well extraction does with one weight left out.
type Without struct {
	Weight string             `json:"weight"`
	Value  float64            `json:"value"` // of the weight, when it is not left out
	F1     map[string]float64 `json:"f1"`    // by field
}

// leaveOut extracts all pages once for each weight, with that weight left out, and once with all weights, which is the
// first of the result and has no name.
func leaveOut(pages []drafttest.Sample) ([]Without, error) {
	weights := append([]draft.Weight{{}}, draft.Weights()...)
	out := make([]Without, len(weights))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n, weight := range weights {
		g.Go(func() error {
			extract := draft.Extract
			if weight.Name != "" {
				extract = func(page []byte, address string) (draft.Draft, error) {
					return draft.ExtractWithout(weight.Name, page, address)
				}
			}
			sum := map[string]drafttest.Grade{}
			for _, p := range pages {
				d, err := extract(p.HTML, p.URL)
				if err != nil {
					return fmt.Errorf("extract %s without %q: %w", p.URL, weight.Name, err)
				}
				for _, field := range weighed {
					sum[field] = sum[field].Add(drafttest.Score(d, p.Truth, field))
				}
			}
			out[n] = Without{Weight: weight.Name, Value: weight.Value, F1: map[string]float64{}}
			for field, grade := range sum {
				out[n].F1[field] = grade.F1()
			}
			return nil
		})
	}
	return out, g.Wait()
}

// printWithout prints F1 with all weights and with each left out in turn: first those that cost most, then those whose
// loss would be a gain, and the names of the rest, which change none of these fields on these pages.
func (e *Extraction) printWithout(w io.Writer) {
	whole, rest := e.Without[0], slices.Clone(e.Without[1:])
	lost := func(x Without) (sum float64) {
		for _, field := range weighed {
			sum += whole.F1[field] - x.F1[field]
		}
		return sum
	}
	changes := func(x Without) bool {
		return slices.ContainsFunc(weighed, func(f string) bool { return x.F1[f] != whole.F1[f] })
	}
	slices.SortStableFunc(rest, func(a, b Without) int { return cmp.Compare(lost(b), lost(a)) })
	fmt.Fprintln(w, "\nF1 with each weight left out in turn:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "left out\tits value\t")
	for _, field := range weighed {
		fmt.Fprintf(t, "%s\t\t", field)
	}
	fmt.Fprint(t, "\nnone\t\t")
	for _, field := range weighed {
		fmt.Fprintf(t, "%.3f\t\t", whole.F1[field])
	}
	fmt.Fprintln(t)
	var same []string
	for _, x := range rest {
		if !changes(x) {
			same = append(same, x.Weight)
			continue
		}
		fmt.Fprintf(t, "%s\t%g\t", x.Weight, x.Value)
		for _, field := range weighed {
			if d := x.F1[field] - whole.F1[field]; math.Abs(d) >= .0005 {
				fmt.Fprintf(t, "%.3f\t%+.3f\t", x.F1[field], d)
			} else {
				fmt.Fprint(t, "=\t\t")
			}
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // to a terminal
	slices.Sort(same)
	fmt.Fprintf(w, "%d weights change none of these fields on these pages: %s\n", len(same), strings.Join(same, ", "))
}
