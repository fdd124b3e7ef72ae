package main

import (
	"cmp"
	"context"
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
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
	"github.com/mtlrent/conveyor/domain/picture"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/sim/demosite"
)

const extractionName = "extraction"

// An Extraction is how well and how fast products are read off real pages.
type Extraction struct {
	Missing    string       `json:"missing,omitempty"`  // where the pages should be; then nothing was measured
	LeftOut    string       `json:"left_out,omitempty"` // the weight that extraction went without; "" = none
	Without    []Without    `json:"without,omitempty"`  // F1 without each weight, where that was asked for
	Pages      int          `json:"pages"`
	Fields     []FieldGrade `json:"fields"`
	Aside      []FieldGrade `json:"fields_aside"` // of the pages of which nothing but the scores was looked at
	Calibrated []Decile     `json:"calibrated,omitempty"`
	PerCPU     float64      `json:"pages_per_cpu_second"`
	MegabytesS float64      `json:"megabytes_per_cpu_second"`
	SlowMillis float64      `json:"slowest_page_ms"`
	Confined   []Confined   `json:"confined,omitempty"`
	Misses     []string     `json:"-"` // quote the pages, which are others'
}

// A Decile is what became of the values whose confidence is in one tenth, each judged by the other shops.
type Decile struct {
	From     float64 `json:"from"`
	Readings int     `json:"readings"`
	Claimed  float64 `json:"claimed"`
	Right    float64 `json:"right"`
}

// Confined is what it costs to read in a child process instead of here, in CPU time of all processes.
type Confined struct {
	What        string  `json:"what"`
	HereMillis  float64 `json:"here_ms_each"`
	ChildMillis float64 `json:"child_ms_each"`
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
// that reads the data that pages hold for machines.
var (
	publishedBy = []string{"Zyte", "Diffbot", "extruct"}
	published   = map[string][3]float64{
		"price": {.918, .824, .685}, "sku": {.841, .765, .537}, "availability": {.957, .943, .626},
	}
)

// sameCurrency are the codes that the benchmark's signs stand for; it has currencies as pages print them.
var sameCurrency = map[string]string{
	"€": "EUR", "£": "GBP", "₽": "RUB", "Kn": "HRK", "₹": "INR", "Lei": "RON", "ر.س": "SAR", "zł": "PLN",
	"$": "ARS AUD CAD CLP COP HKD MXN NZD SGD TWD USD",
}

// productsDir is where the pages of the product extraction benchmark lie. They may not be published, so that is the
// folder "shared" beside the repository, or CONVEYOR_SHARED.
func productsDir() string {
	return filepath.Join(cmp.Or(os.Getenv("CONVEYOR_SHARED"), filepath.Join("..", "shared")), "data", "products")
}

// extraction reads every page, grades what was found, and takes the time of some rounds more. without names a weight
// that is left out, "" none, and allWeights each in turn.
func extraction(report *Report, without string) error {
	dir := productsDir()
	pages, err := drafttest.Samples(os.DirFS(dir))
	if errors.Is(err, fs.ErrNotExist) {
		report.Extraction = &Extraction{Missing: dir}
		return nil
	}
	if err != nil {
		return err
	}
	e := &Extraction{Pages: len(pages)}
	extract := draft.Extract
	switch without {
	case "":
	case allWeights:
		if e.Without, err = leaveOut(pages); err != nil {
			return err
		}
	default:
		e.LeftOut = without
		extract = func(page []byte, address string) (draft.Draft, error) {
			return draft.ExtractWithout(without, page, address)
		}
	}
	if err := e.grade(pages, extract); err != nil {
		return err
	}
	size := 0
	for _, p := range pages {
		size += len(p.HTML)
	}
	const rounds = 5
	before := cpuTime()
	for range rounds {
		for _, p := range pages {
			began := time.Now()
			if _, err := extract(p.HTML, p.URL); err != nil {
				return err
			}
			e.SlowMillis = math.Max(e.SlowMillis, float64(time.Since(began).Microseconds())/1000)
		}
	}
	used := (cpuTime() - before).Seconds()
	e.PerCPU, e.MegabytesS = float64(rounds*len(pages))/used, float64(rounds*size)/1e6/used
	report.Extraction = e
	if without != "" {
		return nil
	}
	readings, err := drafttest.Readings(pages)
	if err != nil {
		return err
	}
	for _, d := range drafttest.LeaveOneShopOut(readings) {
		e.Calibrated = append(e.Calibrated, Decile{d.From, d.Count, d.Claimed, d.Right})
	}
	e.Confined, err = confined(pages)
	return err
}

// confined reads pages and a picture here and in a child process.
func confined(pages []drafttest.Sample) ([]Confined, error) {
	const times = 100
	ctx, photo := context.Background(), demosite.Photo("1", 1)
	all := func(n int, read func(i int) error) (float64, error) {
		before := cpuTime() + childrenTime()
		for i := range n {
			if err := read(i); err != nil {
				return 0, err
			}
		}
		return float64((cpuTime() + childrenTime() - before).Microseconds()) / 1000 / float64(n), nil
	}
	// The CPU time of a child counts once it has ended, so that the time to start it is a part.
	child := func(n int, read func(p *confine.Pool, i int) error) (each float64, err error) {
		return all(1, func(int) (err error) {
			p := confine.New(confine.Options{})
			defer p.Close()
			for i := range n {
				if err := read(p, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	page, photoCost := Confined{What: "page"}, Confined{What: "picture of 800 x 600 px"}
	var errs [4]error
	page.HereMillis, errs[0] = all(len(pages), func(i int) error {
		_, err := draft.Read(pages[i].HTML, pages[i].URL)
		return err
	})
	page.ChildMillis, errs[1] = child(len(pages), func(p *confine.Pool, i int) error {
		_, err := p.Extract(ctx, pages[i].HTML, pages[i].URL)
		return err
	})
	photoCost.HereMillis, errs[2] = all(times, func(int) error {
		_, err := picture.Read(photo)
		return err
	})
	photoCost.ChildMillis, errs[3] = child(times, func(p *confine.Pool, _ int) error {
		_, err := p.Picture(ctx, photo)
		return err
	})
	page.ChildMillis /= float64(len(pages))
	photoCost.ChildMillis /= times
	return []Confined{page, photoCost}, errors.Join(errs[:]...)
}

// grade fills in the fields and the misses.
func (e *Extraction) grade(pages []drafttest.Sample, extract extractor) error {
	sum, aside := map[string]drafttest.Grade{}, map[string]drafttest.Grade{}
	for _, p := range pages {
		d, err := extract(p.HTML, p.URL)
		if err != nil {
			return fmt.Errorf("extract %s: %w", p.URL, err)
		}
		for _, field := range gradedFields() {
			got, from, g := gradeField(d, p.Truth, field)
			sum[field] = sum[field].Add(g)
			if p.Part() == drafttest.Aside {
				aside[field] = aside[field].Add(g)
			} else if g.Wrong+g.Missed > 0 {
				e.Misses = append(e.Misses, fmt.Sprintf("%s: %q %s, expected %q: %.100s",
					field, got, from, p.Truth[field], p.URL))
			}
		}
	}
	for _, field := range gradedFields() {
		e.Fields = append(e.Fields, fieldGrade(field, sum[field]))
		e.Aside = append(e.Aside, fieldGrade(field, aside[field]))
	}
	slices.Sort(e.Misses)
	return nil
}

func fieldGrade(field string, g drafttest.Grade) FieldGrade {
	return FieldGrade{field, g.Right, g.Wrong, g.Missed, g.Precision(), g.Recall(), g.F1()}
}

// An extractor is draft.Extract, or the same with other weights.
type extractor = func(page []byte, address string) (draft.Draft, error)

func gradedFields() []string { return append(slices.Clone(drafttest.Graded), "currency") }

// gradeField is drafttest.Score, and the same for the currency.
func gradeField(d draft.Draft, truth drafttest.Truth, field string) (got, from string, g drafttest.Grade) {
	if field != "currency" {
		value, source := drafttest.Value(d, field)
		return value, string(source), drafttest.Score(d, truth, field)
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

// cpuTime returns the CPU time that this process has used, the collection of garbage included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// childrenTime returns the CPU time of the processes that this one has started and that have ended.
func childrenTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (e *Extraction) print(w io.Writer) {
	if e.Missing != "" {
		fmt.Fprintf(w, "\nextraction: %s is missing (CONVEYOR_SHARED may name another folder): precision, "+
			"recall and F1 of %s and currency, and pages a second, are not measured\n", e.Missing, strings.Join(drafttest.Graded, ", "))
		return
	}
	fmt.Fprintf(w, "\nextraction from %d saved pages of real shops, 56 of which the rules were written with; aside is the F1 "+
		"on the others; that of other services is published, on all 140 pages:\n", e.Pages)
	if e.LeftOut != "" {
		fmt.Fprintf(w, "without the weight %s:\n", e.LeftOut)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "field\taside\tF1\tprecision\trecall\tright\twrong\tmissed\t%s\t\n", strings.Join(publishedBy, "\t"))
	for n, f := range e.Fields {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t%d\t", f.Field, e.Aside[n].F1, f.F1, f.Precision, f.Recall, f.Right, f.Wrong, f.Missed)
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
	for _, d := range e.Calibrated {
		fmt.Fprintf(w, "confidence from %.1f, by the other shops: %d values, claimed %.3f, right %.3f\n",
			d.From, d.Readings, d.Claimed, d.Right)
	}
	for _, c := range e.Confined {
		fmt.Fprintf(w, "a %s: %.1f ms of CPU time, in a child process %.1f\n", c.What, c.HereMillis, c.ChildMillis)
	}
	if len(e.Without) > 0 {
		e.printWithout(w)
		return
	}
	for _, m := range e.Misses {
		fmt.Fprintln(w, "  "+m)
	}
}
