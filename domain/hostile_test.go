// Package domain_test holds what all parsers of strangers' files must be: bounded, whatever the file says.
package domain_test

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/dump"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/domain/sitemap"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/hostilefile"
)

const (
	mostMemory = 256 << 20        // bytes of the process, beside the file
	mostTime   = 10 * time.Second // of CPU: what it takes by the clock is for the machine to say
)

// quick are the bounds of zips and workbooks that are met at once: the gate looks at them too.
var quick = []string{
	"workbook: depth", "workbook: sheets", "workbook: names", "workbook: relations", "workbook: styles",
	"workbook: the last row", "workbook: encodings", "zip: files", "zip: files that it does not tell",
	"zip: files that it tells", "zip: zips in zips", "event: persons", "event: errors", "event: changes",
}

// readers are those of TestHostileFiles, by the kind of the file.
var readers = map[string]func(*testing.T, hostilefile.File){
	"workbook": contacts, "zip": contacts, "cards": contacts, "gzip": contacts, "text": contacts,
	"sitemap": sitemaps, "feed": sitemaps, "robots": robotsTxt, "HTML": links(false), "XHTML": links(true), "dump": dumped,
	"answer": answer, "event": event,
}

// TestHostileFiles has every parser of strangers' files read one that was made to hurt it. A file is refused or read,
// within so much memory and time. The parsers of pages that take more run in internal/confine.
func TestHostileFiles(t *testing.T) {
	for _, tt := range hostilefile.Files {
		t.Run(tt.Name, func(t *testing.T) {
			if !slices.Contains(quick, tt.Name) {
				servicetest.Slow(t, servicetest.TestSlow)
			}
			file := tt.Make()
			took, most := measured(func() { readers[tt.Kind()](t, file) })
			t.Logf("| %s | %s | %.2f | %d |", tt.Name, size(file.Size), took.Seconds(), most>>20)
			require.Less(t, most, uint64(mostMemory), "bytes held")
			require.Less(t, took, mostTime)
		})
	}
}

// TestHostileAdverts has the searches of twenty tenants compared with an advert, where both are made to take long.
func TestHostileAdverts(t *testing.T) {
	const searches = 4000
	for name, tt := range map[string]struct{ text, word string }{
		"a phrase of a word that stands everywhere": {`"` + strings.Repeat("a ", 31) + `b"`, "a "},
		"what no word begins with": {
			"-qa* -qb* -qc* -qd* -qe* -qf* -qg* -qh* -qi* -qj* -qk* -ql* -qm* -qn* -qo* -qp* -qq* -qr* -qs* -qt* -qu* -qv* -qw* " +
				"-qx* -qy* -qz* -za* -zb* -zc* -zd* -ze* -zf*", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := saved.NewIndex()
			for i := range searches {
				f := saved.Criteria{Text: tt.text, MinPrice: int64(i % 7)}
				require.NoError(t, f.Check())
				x.Put(saved.Search{ID: uuid.New(), Filter: f, State: saved.Active})
			}
			var b strings.Builder
			for i := 0; b.Len() < listing.MaxDescription-10; i++ {
				if b.WriteString(tt.word); tt.word == "" {
					fmt.Fprintf(&b, "%03x ", i)
				}
			}
			l := saved.Listing{RentCents: 100_000, Description: b.String() + "c b"}
			looked := 0
			took, _ := measured(func() { looked = x.Meet(&l, nil, func(*saved.Search, bool) {}) })
			require.Equal(t, searches, looked)
			require.Less(t, took, mostTime)
		})
	}
}

// measured is how much CPU read takes, of all threads and the collector of garbage, and how much more memory than before
// this process holds meanwhile: nothing, where the runtime gives back more than read takes.
func measured(read func()) (took time.Duration, most uint64) {
	debug.FreeOSMemory()
	before := held()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most, tick := before, time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, held())
			case <-stop:
				peak <- max(most, held())
				return
			}
		}
	}()
	began := cpu()
	read()
	took = cpu() - began
	close(stop)
	return took, <-peak - before
}

// cpu is what this process has used of it.
func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// size is a number of bytes as people say it.
func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%d MB", (bytes+1<<19)>>20)
}

func held() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// contacts reads a file as its preview and its import do.
func contacts(t *testing.T, f hostilefile.File) {
	plan, err := contact.Sniff(f, f.Size, contact.Options{Region: "CA"})
	if err != nil {
		refused(t, err)
		plan.Format.Container = contact.XLSX // as if it had been looked at before
		if r, err := plan.Open(f, f.Size); err == nil {
			_, err = io.Copy(io.Discard, r)
			t.Log(err)
		}
		return
	}
	if _, err := plan.Preview(f, f.Size, 20); err != nil {
		refused(t, err)
	}
	var chunks []contact.Chunk
	r, err := plan.Open(f, f.Size)
	if err == nil {
		_, err = plan.Split(r, contact.Position{}, func(c contact.Chunk) error {
			if len(chunks) < 2 { // those after them are read in the same way
				chunks = append(chunks, c)
			}
			return nil
		})
	}
	if err != nil {
		refused(t, err)
	}
	for _, c := range chunks {
		r, err := plan.Open(f, f.Size)
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, r, c.Offset)
		require.NoError(t, err)
		var w contact.RowsWriter
		err = plan.Parse(io.LimitReader(r, c.Length), c, func(r contact.Row) error {
			w.Add(r)
			if w.Len() > rowsMost {
				return errTooMany
			}
			return nil
		})
		if err != nil && !errors.Is(err, errTooMany) {
			refused(t, err)
		}
	}
}

// rowsMost is how many bytes the rows of a chunk may have where they are kept.
const rowsMost = 64 << 20

var errTooMany = errors.New("the rows of a chunk have too many bytes")

func refused(t *testing.T, err error) {
	t.Helper()
	t.Log(err)
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class, "%v", err)
}

func sitemaps(t *testing.T, f hostilefile.File) {
	s, err := sitemap.Parse(f.Bytes(), "https://a.example/sitemap.xml")
	if err != nil {
		refused(t, err)
	}
	require.LessOrEqual(t, len(s.URLs)+len(s.Sitemaps), sitemap.MaxEntries)
}

func robotsTxt(_ *testing.T, f hostilefile.File) {
	r := robots.Parse(f.Bytes())
	for range 100 {
		r.Allowed("Conveyor", "/"+strings.Repeat("a", 4000))
	}
}

func links(xml bool) func(*testing.T, hostilefile.File) {
	return func(_ *testing.T, f hostilefile.File) {
		page.Read(f.Bytes(), page.ReadOptions{XML: xml, Text: true, LinkRel: true})
	}
}

func dumped(t *testing.T, f hostilefile.File) {
	for row, err := range dump.Rows(io.NewSectionReader(f, 0, f.Size), "listings") {
		if err != nil && row.Number == 0 {
			t.Log(err)
		}
	}
}

func event(t *testing.T, f hostilefile.File) {
	e, err := whatsapp.ReadEvent(f.Bytes())
	if err != nil {
		refused(t, err)
	}
	e.Reports(time.Now())
	e.Inbounds(time.Now())
}

func answer(_ *testing.T, f hostilefile.File) {
	_, _, _ = listing.AskFacts(listing.Listing{}).ReadAnswer(string(f.Bytes()))
}
