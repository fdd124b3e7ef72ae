// Package domain_test holds what all parsers of strangers' files must be: bounded, whatever the file says.
package domain_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/dump"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/sitemap"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

const (
	mostMemory = 256 << 20        // bytes of the process, beside the file
	mostTime   = 10 * time.Second // of CPU: what it takes by the clock is for the machine to say
)

// quick are the bounds of zips and workbooks that are met at once: the gate looks at them too.
var quick = []string{
	"workbook: depth", "workbook: sheets", "workbook: names", "workbook: relations", "workbook: styles",
	"workbook: the last row", "workbook: encodings", "zip: files", "zip: files that it does not tell",
	"zip: files that it tells",
}

// TestHostileFiles has every parser of strangers' files read one that was made to hurt it. A file is refused or read,
// within so much memory and time. The parsers of pages that take more run in internal/confine.
func TestHostileFiles(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			if !slices.Contains(quick, tt.name) {
				servicetest.Slow(t, servicetest.TestSlow)
			}
			file := tt.file()
			took, most := measured(func() { tt.read(t, file) })
			t.Logf("| %s | %s | %.2f | %d |", tt.name, size(file.size), took.Seconds(), most>>20)
			require.Less(t, most, uint64(mostMemory), "bytes held")
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

// A file of so many bytes.
type file struct {
	io.ReaderAt
	size int64
}

func of(b []byte) file       { return file{bytes.NewReader(b), int64(len(b))} }
func text(s ...string) file  { return of([]byte(strings.Join(s, ""))) }
func (f file) bytes() []byte { return must(io.ReadAll(io.NewSectionReader(f, 0, f.size))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// endless is a text of which every block repeats the unit; none of it is held.
type endless struct{ unit string }

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], e.unit[(at+int64(n))%int64(len(e.unit)):])
	}
	return len(p), nil
}

// packed writes a part of an archive: its beginning, so many bytes of the unit, and what does not pack, so that the part
// is no more than 150 times as large as it is packed.
func packed(w io.Writer, head, unit string, bytes int64, noise func(string) string) {
	_ = must(io.WriteString(w, head))
	r, raw := rand.New(rand.NewPCG(1, 2)), make([]byte, 24<<10)
	block := strings.Repeat(unit, (4<<20)/len(unit))
	for n := int64(0); n < bytes; n += int64(len(block)) {
		_ = must(io.WriteString(w, block))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		if noise != nil {
			_ = must(io.WriteString(w, noise(base64.StdEncoding.EncodeToString(raw))))
		}
	}
}

func comment(s string) string { return "<!--" + s + "-->" }
func plain(s string) string   { return s }

const (
	bookXML = `<workbook xmlns:r="r"><sheets><sheet name="a" r:id="1"/></sheets></workbook>`
	relsXML = `<Relationships><Relationship Id="1" Type="x/worksheet" Target="s.xml"/><Relationship Id="2" Type="x/sharedStrings" ` +
		`Target="t.xml"/><Relationship Id="3" Type="x/styles" Target="u.xml"/></Relationships>`
	sheetXML = `<worksheet><sheetData><row r="1"><c><v>1</v></c></row></sheetData></worksheet>`
)

// workbook is one of which a part is made to hurt.
func workbook(part string, write func(w io.Writer)) func() file {
	return func() file {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for _, p := range [][2]string{{"xl/workbook.xml", bookXML}, {"xl/_rels/workbook.xml.rels", relsXML}, {"xl/s.xml", sheetXML},
			{"xl/t.xml", "<sst/>"}, {"xl/u.xml", "<styleSheet/>"}} {
			w := must(z.Create(p[0]))
			if p[0] == part {
				write(w)
			} else {
				_ = must(io.WriteString(w, p[1]))
			}
		}
		if err := z.Close(); err != nil {
			panic(err)
		}
		return of(out.Bytes())
	}
}

func gz(head, unit string, n int64, noise func(string) string) func() file {
	return func() file {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		packed(z, head, unit, n, noise)
		if err := z.Close(); err != nil {
			panic(err)
		}
		return of(out.Bytes())
	}
}

// directory is a zip of so many empty files, of which the end says that there are told.
func directory(files int, told uint64) []byte {
	local := append([]byte("PK\x03\x04"), make([]byte, 26)...)
	out := bytes.NewBuffer(local)
	entry := append([]byte("PK\x01\x02"), make([]byte, 42)...)
	entry[28] = 1 // byte of its name
	for range files {
		out.Write(append(entry, 'a'))
	}
	at, size := len(local), out.Len()-len(local)
	big := append([]byte("PK\x06\x06"), make([]byte, 52)...)
	binary.LittleEndian.PutUint64(big[4:], 44)
	binary.LittleEndian.PutUint64(big[24:], told)
	binary.LittleEndian.PutUint64(big[32:], told)
	binary.LittleEndian.PutUint64(big[40:], uint64(size))
	binary.LittleEndian.PutUint64(big[48:], uint64(at))
	locator := append([]byte("PK\x06\x07"), make([]byte, 16)...)
	binary.LittleEndian.PutUint64(locator[8:], uint64(out.Len()))
	locator[16] = 1
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	for i := 8; i < 20; i++ {
		end[i] = 0xff
	}
	out.Write(big)
	out.Write(locator)
	out.Write(end)
	return out.Bytes()
}

// padded is a file with zeros before it, which are not held.
func padded(b []byte, size int64) file {
	return file{zeros{b, size - int64(len(b))}, size}
}

type zeros struct {
	end []byte
	at  int64
}

func (z zeros) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at == 0 {
		copy(p, "PK\x03\x04")
	}
	for i := range p {
		if n := at + int64(i) - z.at; n >= 0 && n < int64(len(z.end)) {
			p[i] = z.end[n]
		}
	}
	return len(p), nil
}

// contacts reads a file as its preview and its import do.
func contacts(t *testing.T, f file) {
	plan, err := contact.Sniff(f, f.size, contact.Options{Region: "CA"})
	if err != nil {
		refused(t, err)
		plan.Format.Container = contact.XLSX // as if it had been looked at before
		if r, err := plan.Open(f, f.size); err == nil {
			_, err = io.Copy(io.Discard, r)
			t.Log(err)
		}
		return
	}
	if _, err := plan.Preview(f, f.size, 20); err != nil {
		refused(t, err)
	}
	r, err := plan.Open(f, f.size)
	if err == nil {
		_, err = plan.Split(r, contact.Position{}, func(contact.Chunk) error { return nil })
	}
	if err != nil {
		refused(t, err)
	}
}

func refused(t *testing.T, err error) {
	t.Helper()
	t.Log(err)
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class, "%v", err)
}

func sitemaps(t *testing.T, f file) {
	s, err := sitemap.Parse(f.bytes(), "https://a.example/sitemap.xml")
	if err != nil {
		refused(t, err)
	}
	require.LessOrEqual(t, len(s.URLs)+len(s.Sitemaps), sitemap.MaxEntries)
}

func robotsTxt(_ *testing.T, f file) {
	r := robots.Parse(f.bytes())
	for range 100 {
		r.Allowed("Conveyor", "/"+strings.Repeat("a", 4000))
	}
}

func links(xml bool) func(*testing.T, file) {
	return func(_ *testing.T, f file) {
		page.Read(f.bytes(), page.ReadOptions{XML: xml, Text: true, LinkRel: true})
	}
}

func dumped(t *testing.T, f file) {
	for row, err := range dump.Rows(io.NewSectionReader(f, 0, f.size), "listings") {
		if err != nil && row.Number == 0 {
			t.Log(err)
		}
	}
}

func answer(_ *testing.T, f file) {
	_, _, _ = listing.AskFacts(listing.Listing{}).ReadAnswer(string(f.bytes()))
}

func again(unit string, n int) string { return strings.Repeat(unit, n/len(unit)) }

// times is again, made when it is needed: the files of other cases are not held.
func times(unit string, n int) func() string { return func() string { return again(unit, n) } }

func made(parts ...any) func() file {
	return func() file {
		var all []string
		for _, p := range parts {
			if later, ok := p.(func() string); ok {
				p = later()
			}
			all = append(all, p.(string))
		}
		return text(all...)
	}
}

var hostile = []struct {
	name string
	file func() file
	read func(*testing.T, file)
}{
	{"workbook: a cell", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1"><c r="A1"><v>`, "A", 300<<20, plain)
	}), contacts},
	{"workbook: a comment", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><!--`, "<a> ", 100<<20, plain)
	}), contacts},
	{"workbook: attributes", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet`, ` a=""`, 100<<20, func(s string) string { return ` b="` + s + `"` })
	}), contacts},
	{"workbook: depth", workbook("xl/workbook.xml", func(w io.Writer) { packed(w, "", "<a>", 60<<20, comment) }), contacts},
	{"workbook: sheets", workbook("xl/workbook.xml", func(w io.Writer) {
		packed(w, "<workbook><sheets>", "<sheet/>", 60<<20, comment)
	}), contacts},
	{"workbook: names", workbook("xl/workbook.xml", func(w io.Writer) {
		packed(w, "<workbook><sheets>", `<sheet name="`+again("n", 60<<10)+`"/>`, 60<<20, comment)
	}), contacts},
	{"workbook: relations", workbook("xl/_rels/workbook.xml.rels", func(w io.Writer) {
		packed(w, "<Relationships>", "<Relationship/>", 60<<20, comment)
	}), contacts},
	{"workbook: styles", workbook("xl/u.xml", func(w io.Writer) {
		packed(w, "<styleSheet><cellXfs>", "<xf/>", 60<<20, comment)
	}), contacts},
	{"workbook: empty strings", workbook("xl/t.xml", func(w io.Writer) { packed(w, "<sst>", "<si/>", 200<<20, comment) }), contacts},
	{"workbook: strings", workbook("xl/t.xml", func(w io.Writer) {
		packed(w, "<sst>", "<si><t>"+again("s", 100<<10)+"</t></si>", 200<<20, comment)
	}), contacts},
	{"workbook: a string of runs", workbook("xl/t.xml", func(w io.Writer) {
		packed(w, "<sst><si>", "<r><t>some text</t></r>", 200<<20, comment)
	}), contacts},
	{"workbook: empty cells", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1"><c><v>1</v></c></row><row r="2">`, "<c/>", 300<<20, comment)
	}), contacts},
	{"workbook: cells of the longest", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1">`, `<c t="str"><v>`+again("x", 120<<10)+`</v></c>`, 100<<20, comment)
	}), contacts},
	{"workbook: the last row", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1048576"><c><v>1</v></c></row>`, " ", 1, nil)
	}), contacts},
	{"workbook: encodings", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, "", `<?xml version="1.0" encoding="windows-1252"?>`, 60<<20, comment)
	}), contacts},
	{"zip: files", func() file { return of(directory(1_000_000, 1_000_000)) }, contacts},
	{"zip: files that it does not tell", func() file { return of(directory(65536*10, 0)) }, contacts},
	{"zip: files that it tells", func() file { return padded(directory(1, 33<<20), 1<<30) }, contacts},
	{"cards: parameters", made("BEGIN:VCARD\nTEL:5145550123\n", times("X"+strings.Repeat(";", 8000)+":x\n", 100<<20)), contacts},
	{"gzip: a line", gz("Name,Phone\n", "A", 300<<20, plain), contacts},
	{"text: a line", func() file { return file{endless{"A"}, 1 << 30} }, contacts},
	{"text: delimiters", func() file { return file{endless{","}, 1 << 30} }, contacts},
	{"text: quotes", func() file { return file{endless{"\"a,\n"}, 64 << 20} }, contacts},
	{"text: apostrophes", func() file { return file{endless{"'a',\"b\n'"}, 64 << 20} }, contacts},
	{"text: columns", made(times("a,b,", 900<<10), "\n", times(again("1,", 900<<10)+"\n", 20<<20)), contacts},

	{"sitemap: attributes", gz("<urlset", " a", 52<<20, nil), sitemaps},
	{"sitemap: depth", gz("<urlset>", "<url>", 52<<20, nil), sitemaps},
	{"sitemap: text", gz("<urlset><url><loc>", "a", 52<<20, nil), sitemaps},
	{"sitemap: encodings", gz("", `<?xml version="1.0" encoding="latin1"?>`, 52<<20, nil), sitemaps},
	{"sitemap: addresses", func() file {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "<url><loc>/%d%s</loc></url>", i, again("é", 800))
		}
		return text("<urlset>", b.String())
	}, sitemaps},
	{"sitemap: lines", func() file {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "https://a.example/%d%s\n", i, again("é", 800))
		}
		return text(b.String())
	}, sitemaps},
	{"sitemap: one line", made("https://a.example/", times("a", 50<<20)), sitemaps},
	{"sitemap: UTF-16", made("\xff\xfe", times("<\x00a\x00 \x00", 50<<20)), sitemaps},
	{"feed: items", made("<rss><channel>", times("<item><link>/x</link><a b='c'/></item>", 50<<20)), sitemaps},
	{"feed: CDATA", made("<rss><channel><item><link><![CDATA[", times("< ", 50<<20)), sitemaps},

	{"robots: stars", made("User-agent: *\n", times("Disallow: /"+again("a*", 2000)+"b$\n", 500<<10)), robotsTxt},
	{"robots: groups", made(times("User-agent: a\nDisallow: /\n", 500<<10)), robotsTxt},

	{"HTML: links", func() file {
		var b strings.Builder
		for i := range 600_000 {
			fmt.Fprintf(&b, "<a href=/%d>", i)
		}
		return text(b.String())
	}, links(false)},
	{"HTML: open tags", made(times("<", 10<<20)), links(false)},
	{"HTML: attributes", made("<a", times(" a", 10<<20)), links(false)},
	{"HTML: templates", made(times("<template>", 10<<20)), links(false)},
	{"HTML: headings", made(times("<h1>a", 10<<20)), links(false)},
	{"XHTML: namespaces", made(times("<a xmlns='x'>", 10<<20)), links(true)},
	{"XHTML: prefixes", made("<a", times(" xmlns:a='x'", 10<<20), ">"), links(true)},
	{"XHTML: CDATA", made(times("<![CDATA[", 10<<20)), links(true)},
	{"XHTML: one name", made(times("<a xmlns='x'></a><a/>", 10<<20)), links(true)},

	{"dump: a row of JSON", made(`{"a":`, times("[", 3<<20), "\n"), dumped},
	{"dump: members", func() file {
		var b strings.Builder
		for i := range 400_000 {
			fmt.Fprintf(&b, `"%d":1,`, i)
		}
		return text("{", b.String(), `"x":1}`+"\n")
	}, dumped},
	{"dump: columns of CSV", made(times("a,", 4<<20-100), "\n", times(",", 4<<20-100), "\n"), dumped},
	{"dump: an open quote", made("a,b\n\"", times("x\n", 64<<20)), dumped},
	{"dump: columns of SQL", made("COPY listings (", times("a, ", 3<<20), "b) FROM stdin;\n", times("\t", 4<<20-100), "\n"), dumped},
	{"dump: tables", made("--\n", times("COPY a (b) FROM stdin;\n", 64<<20)), dumped},

	{"answer: depth", made(times(`{"fields":[`, listing.MaxAnswer)), answer},
	{"answer: facts", made(`{"fields":[`, times(`{},`, listing.MaxAnswer-100), `{}]}`), answer},
	{"answer: long", made("{", times(" ", 64<<20), "}"), answer},
}
