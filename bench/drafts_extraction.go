package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/mtlrent/conveyor/domain/draft"
)

const extractionName = "extraction"

// An Extraction is how well and how fast products are read off real pages.
type Extraction struct {
	Missing    string       `json:"missing,omitempty"` // where the pages should be; then nothing was measured
	Pages      int          `json:"pages"`
	Fields     []FieldGrade `json:"fields"`
	PerCPU     float64      `json:"pages_per_cpu_second"`
	MegabytesS float64      `json:"megabytes_per_cpu_second"`
	SlowMillis float64      `json:"slowest_page_ms"`
	Misses     []string     `json:"-"` // quote the pages, which are others'
}

// A FieldGrade is how well one field is read.
type FieldGrade struct {
	Field     string  `json:"field"`
	Right     int     `json:"right"`
	Wrong     int     `json:"wrong"`
	Missed    int     `json:"missed"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// published are the F1 that the benchmark's authors give, of all of its 140 pages: of two services and of the library
// that reads what pages say to machines.
var (
	publishedBy = []string{"Zyte", "Diffbot", "extruct"}
	published   = map[string][3]float64{
		"price": {.918, .824, .685}, "sku": {.841, .765, .537}, "availability": {.957, .943, .626},
	}
)

// sameCurrency are the codes that the benchmark's signs stand for; it has currencies as pages print them.
var sameCurrency = map[string]string{
	"€": "EUR", "£": "GBP", "₹": "INR", "Lei": "RON", "ر.س": "SAR", "zł": "PLN",
	"$": "ARS AUD CAD CLP COP HKD MXN NZD SGD TWD USD",
}

type realPage struct {
	id, url string
	html    []byte
	truth   draft.Truth
}

// realPages reads the pages of the product extraction benchmark that we have. They may not be published: they lie in
// the folder "shared" beside the repository, or in CONVEYOR_SHARED.
func realPages(dir string) ([]realPage, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "ground-truth.json"))
	if err != nil {
		return nil, err
	}
	var truths map[string]map[string]any
	if err := json.Unmarshal(raw, &truths); err != nil {
		return nil, fmt.Errorf("read ground-truth.json: %w", err)
	}
	var out []realPage
	for id, fields := range truths {
		p := realPage{id: id, truth: draft.Truth{}}
		for name, v := range fields {
			switch v := v.(type) {
			case string:
				p.url = v
			case []any:
				for _, x := range v {
					p.truth[name] = append(p.truth[name], fmt.Sprint(x))
				}
			}
		}
		if p.html, err = gunzip(filepath.Join(dir, "html", id+".html.gz")); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b realPage) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

func gunzip(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return io.ReadAll(z)
}

// extraction reads every page, grades what was found, and takes the time of some rounds more.
func extraction(report *Report) error {
	dir := filepath.Join(cmp.Or(os.Getenv("CONVEYOR_SHARED"), filepath.Join("..", "shared")), "data", "products")
	pages, err := realPages(dir)
	if errors.Is(err, fs.ErrNotExist) {
		report.Extraction = &Extraction{Missing: dir}
		return nil
	}
	if err != nil {
		return err
	}
	e := &Extraction{Pages: len(pages)}
	sum := map[string]draft.Grade{}
	fields := append(slices.Clone(draft.Graded), "currency")
	size := 0
	for _, p := range pages {
		size += len(p.html)
		d, err := draft.Extract(p.html, p.url)
		if err != nil {
			return fmt.Errorf("extract %s: %w", p.url, err)
		}
		for _, field := range fields {
			got, from, g := gradeField(d, p.truth, field)
			sum[field] = sum[field].Add(g)
			if g.Wrong+g.Missed > 0 {
				e.Misses = append(e.Misses, fmt.Sprintf("%s: %q %s, expected %q: %.100s",
					field, got, from, p.truth[field], p.url))
			}
		}
	}
	for _, field := range fields {
		g := sum[field]
		e.Fields = append(e.Fields, FieldGrade{field, g.Right, g.Wrong, g.Missed, g.Precision(), g.Recall(), g.F1()})
	}
	slices.Sort(e.Misses)
	const rounds = 5
	before := cpuTime()
	for range rounds {
		for _, p := range pages {
			began := time.Now()
			if _, err := draft.Extract(p.html, p.url); err != nil {
				return err
			}
			e.SlowMillis = math.Max(e.SlowMillis, float64(time.Since(began).Microseconds())/1000)
		}
	}
	used := (cpuTime() - before).Seconds()
	e.PerCPU, e.MegabytesS = float64(rounds*len(pages))/used, float64(rounds*size)/1e6/used
	report.Extraction = e
	return nil
}

// gradeField is draft.Score, and the same for the currency.
func gradeField(d draft.Draft, truth draft.Truth, field string) (got, from string, g draft.Grade) {
	if field != "currency" {
		value, source := d.Value(field)
		return value, string(source), draft.Score(d, truth, field)
	}
	if d.Currency != nil {
		got, from = d.Currency.Value, string(d.Currency.Source)
	}
	want := truth[field]
	switch same := slices.ContainsFunc(want, func(w string) bool {
		return got == w || got != "" && strings.Contains(sameCurrency[w], got)
	}); {
	case got == "" && len(want) == 0:
	case same:
		g.Right = 1
	case got == "":
		g.Missed = 1
	case len(want) == 0:
		g.Wrong = 1
	default:
		g.Wrong, g.Missed = 1, 1
	}
	return got, from, g
}

// cpuTime is what this process has used, the collection of garbage included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (e *Extraction) print(w io.Writer) {
	if e.Missing != "" {
		fmt.Fprintf(w, "\nextraction: %s is not there (CONVEYOR_SHARED names the folder that data lies in): precision, "+
			"recall and F1 of %s and currency, and pages a second, go unmeasured\n", e.Missing, strings.Join(draft.Graded, ", "))
		return
	}
	fmt.Fprintf(w, "\nextraction from %d saved pages of real shops, 40 of which the rules were written with; the F1 of "+
		"others are published, on all 140 pages:\n", e.Pages)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "field\tF1\tprecision\trecall\tright\twrong\tmissed\t%s\t\n", strings.Join(publishedBy, "\t"))
	for _, f := range e.Fields {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%d\t%d\t%d\t", f.Field, f.F1, f.Precision, f.Recall, f.Right, f.Wrong, f.Missed)
		for i := range publishedBy {
			if p, ok := published[f.Field]; ok {
				fmt.Fprintf(t, "%.3f", p[i])
			} else {
				fmt.Fprint(t, "–")
			}
			fmt.Fprint(t, "\t")
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // to a terminal
	fmt.Fprintf(w, "%.0f pages a CPU-second, %.0f MB; the slowest took %.0f ms\n", e.PerCPU, e.MegabytesS, e.SlowMillis)
	for _, m := range e.Misses {
		fmt.Fprintln(w, "  "+m)
	}
}
