// Package hostilefile has files of strangers that are made to hurt their readers, each to be read within bounds.
package hostilefile

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// A File of so many bytes.
type File struct {
	io.ReaderAt
	Size int64
}

// A Case is a file by its name, made when it is needed: those of other cases are not held.
type Case struct {
	Name string
	Make func() File
}

// Kind is what the file is, by the word that its name begins with.
func (c Case) Kind() string {
	kind, _, _ := strings.Cut(c.Name, ":")
	return kind
}

func of(b []byte) File { return File{bytes.NewReader(b), int64(len(b))} }

func text(s ...string) File { return of([]byte(strings.Join(s, ""))) }

// Bytes are all of the file.
func (f File) Bytes() []byte { return must(io.ReadAll(io.NewSectionReader(f, 0, f.Size))) }

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

// packed writes a part of an archive: its beginning, so many bytes of the unit, and what does not pack, so that the
// part is no more than 150 times as large as it is packed.
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

func plain(s string) string { return s }

const (
	bookXML = `<workbook xmlns:r="r"><sheets><sheet name="a" r:id="1"/></sheets></workbook>`
	relsXML = `<Relationships><Relationship Id="1" Type="x/worksheet" Target="s.xml"/><Relationship Id="2" Type="x/sharedStrings" ` +
		`Target="t.xml"/><Relationship Id="3" Type="x/styles" Target="u.xml"/></Relationships>`
	sheetXML = `<worksheet><sheetData><row r="1"><c><v>1</v></c></row></sheetData></worksheet>`
)

// workbook is one of which a part is made to hurt.
func workbook(part string, write func(w io.Writer)) func() File {
	return func() File {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for _, p := range [][2]string{{"xl/workbook.xml", bookXML}, {"xl/_rels/workbook.xml.rels", relsXML},
			{"xl/s.xml", sheetXML},
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

func gz(head, unit string, n int64, noise func(string) string) func() File {
	return func() File {
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
func padded(b []byte, size int64) File {
	return File{zeros{b, size - int64(len(b))}, size}
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

func again(unit string, n int) string { return strings.Repeat(unit, n/len(unit)) }

// times is again, made when it is needed: the files of other cases are not held.
func times(unit string, n int) func() string { return func() string { return again(unit, n) } }

func made(parts ...any) func() File {
	return func() File {
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

// event begins an event of WhatsApp with the value of a change, and eventEnd ends it.
const (
	event    = `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{`
	eventEnd = `}}]}]}`

	eventMost = 199_900 // members of an event that is not refused for their number
)

// Files are made to hurt their readers. The word before the colon is what they are.
var Files = []Case{
	{"workbook: a cell", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1"><c r="A1"><v>`, "A", 300<<20, plain)
	})},
	{"workbook: a comment", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><!--`, "<a> ", 100<<20, plain)
	})},
	{"workbook: attributes", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet`, ` a=""`, 100<<20, func(s string) string { return ` b="` + s + `"` })
	})},
	{"workbook: depth", workbook("xl/workbook.xml", func(w io.Writer) { packed(w, "", "<a>", 60<<20, comment) })},
	{"workbook: sheets", workbook("xl/workbook.xml", func(w io.Writer) {
		packed(w, "<workbook><sheets>", "<sheet/>", 60<<20, comment)
	})},
	{"workbook: names", workbook("xl/workbook.xml", func(w io.Writer) {
		packed(w, "<workbook><sheets>", `<sheet name="`+again("n", 60<<10)+`"/>`, 60<<20, comment)
	})},
	{"workbook: relations", workbook("xl/_rels/workbook.xml.rels", func(w io.Writer) {
		packed(w, "<Relationships>", "<Relationship/>", 60<<20, comment)
	})},
	{"workbook: styles", workbook("xl/u.xml", func(w io.Writer) {
		packed(w, "<styleSheet><cellXfs>", "<xf/>", 60<<20, comment)
	})},
	{"workbook: empty strings", workbook("xl/t.xml", func(w io.Writer) { packed(w, "<sst>", "<si/>", 200<<20, comment) })},
	{"workbook: strings", workbook("xl/t.xml", func(w io.Writer) {
		packed(w, "<sst>", "<si><t>"+again("s", 100<<10)+"</t></si>", 200<<20, comment)
	})},
	{"workbook: a string of runs", workbook("xl/t.xml", func(w io.Writer) {
		packed(w, "<sst><si>", "<r><t>some text</t></r>", 200<<20, comment)
	})},
	{"workbook: empty cells", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1"><c><v>1</v></c></row><row r="2">`, "<c/>", 300<<20, comment)
	})},
	{"workbook: cells of the longest", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1">`, `<c t="str"><v>`+again("x", 120<<10)+`</v></c>`, 100<<20, comment)
	})},
	{"workbook: the last row", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, `<worksheet><sheetData><row r="1048576"><c><v>1</v></c></row>`, " ", 1, nil)
	})},
	{"workbook: encodings", workbook("xl/s.xml", func(w io.Writer) {
		packed(w, "", `<?xml version="1.0" encoding="windows-1252"?>`, 60<<20, comment)
	})},
	{"zip: files", func() File { return of(directory(1_000_000, 1_000_000)) }},
	{"zip: files that it does not tell", func() File { return of(directory(65536*10, 0)) }},
	{"zip: files that it tells", func() File { return padded(directory(1, 33<<20), 1<<30) }},
	{"cards: parameters", made("BEGIN:VCARD\nTEL:5145550123\n", times("X"+strings.Repeat(";", 8000)+":x\n", 100<<20))},
	{"cards: a folded line", made("BEGIN:VCARD\nNOTE:x\n", times(" y\n", 64<<20))},
	{"cards: soft breaks", made("BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:a", times("=\n", 64<<20))},
	{"cards: cards in cards", made(times("BEGIN:VCARD\nTEL:5145550123\n", 64<<20))},
	{"cards: a photo", made("BEGIN:VCARD\nTEL:5145550123\nPHOTO;ENCODING=b:", times("QUFB", 64<<20), "\nEND:VCARD\n")},
	{"zip: zips in zips", func() File {
		inner := []byte("phone\n5145550123\n")
		for n := range 64 {
			var out bytes.Buffer
			z := zip.NewWriter(&out)
			_ = must(must(z.Create(fmt.Sprintf("%d.zip", n))).Write(inner))
			if err := z.Close(); err != nil {
				panic(err)
			}
			inner = out.Bytes()
		}
		return of(inner)
	}},
	{"gzip: a line", gz("Name,Phone\n", "A", 300<<20, plain)},
	{"text: a line", func() File { return File{endless{"A"}, 1 << 30} }},
	{"text: delimiters", func() File { return File{endless{","}, 1 << 30} }},
	{"text: quotes", func() File { return File{endless{"\"a,\n"}, 64 << 20} }},
	{"text: apostrophes", func() File { return File{endless{"'a',\"b\n'"}, 64 << 20} }},
	{"text: columns", made(times("a,b,", 900<<10), "\n", times(again("1,", 900<<10)+"\n", 20<<20))},
	{"text: digits", made("phone,name\n", times(again("1", 30<<10)+",x\n", 20<<20))},
	{"text: numbers in a cell", made("phone,name\n", times(again("+1 (514) 555-0123 ext. ", 30<<10)+",x\n", 20<<20))},
	{"text: addresses in a cell", made("email,name\n", times(again("a@b.", 30<<10)+",x\n", 20<<20))},
	{"text: marks in a name", made("phone,name\n", times("5145550123,"+again("e\u0301\u200d", 30<<10)+"\n", 20<<20))},

	{"sitemap: entities", made(`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">`, func() string {
		var b strings.Builder
		for c := 'b'; c <= 'z'; c++ {
			fmt.Fprintf(&b, `<!ENTITY %c "%s">`, c, again(fmt.Sprintf("&%c;", c-1), 30))
		}
		return b.String()
	}, "]><urlset><url><loc>/&z;</loc></url></urlset>")},
	{"sitemap: numbers of characters", made("<urlset><url><loc>/", times("&#x110000;&#99999999999999999999;", 50<<20))},
	{"sitemap: attributes", gz("<urlset", " a", 52<<20, nil)},
	{"sitemap: depth", gz("<urlset>", "<url>", 52<<20, nil)},
	{"sitemap: text", gz("<urlset><url><loc>", "a", 52<<20, nil)},
	{"sitemap: encodings", gz("", `<?xml version="1.0" encoding="latin1"?>`, 52<<20, nil)},
	{"sitemap: addresses", func() File {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "<url><loc>/%d%s</loc></url>", i, again("é", 800))
		}
		return text("<urlset>", b.String())
	}},
	{"sitemap: lines", func() File {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "https://a.example/%d%s\n", i, again("é", 800))
		}
		return text(b.String())
	}},
	{"sitemap: one line", made("https://a.example/", times("a", 50<<20))},
	{"sitemap: UTF-16", made("\xff\xfe", times("<\x00a\x00 \x00", 50<<20))},
	{"feed: items", made("<rss><channel>", times("<item><link>/x</link><a b='c'/></item>", 50<<20))},
	{"feed: CDATA", made("<rss><channel><item><link><![CDATA[", times("< ", 50<<20))},

	{"robots: stars", made("User-agent: *\n", times("Disallow: /"+again("a*", 2000)+"b$\n", 500<<10))},
	{"robots: a delay", made("User-agent: *\nCrawl-delay: ", times("9", 500<<10), "\nDisallow: /", times("%25", 500<<10))},
	{"robots: groups", made(times("User-agent: a\nDisallow: /\n", 500<<10))},

	{"HTML: links", func() File {
		var b strings.Builder
		for i := range 600_000 {
			fmt.Fprintf(&b, "<a href=/%d>", i)
		}
		return text(b.String())
	}},
	{"HTML: open tags", made(times("<", 10<<20))},
	{"HTML: attributes", made("<a", times(" a", 10<<20))},
	{"HTML: templates", made(times("<template>", 10<<20))},
	{"HTML: headings", made(times("<h1>a", 10<<20))},
	{"HTML: comments", made(times("<!-- <!", 10<<20))},
	{"HTML: entities", made("<p>", times("&amp&#1114112;&notit", 10<<20))},
	{"HTML: a long base", made("<base href='/", times("a/", 1<<20), "'>", times("<a href=b>", 5<<20))},
	{"HTML: data", made("<script type=application/ld+json>", times(`{"@graph":[`, 5<<20), "</script>")},
	{"HTML: tables", made(times("<table><tr><td>x", 10<<20))},
	{"XHTML: entities", made(times("&#x26;#x26;", 10<<20))},
	{"XHTML: namespaces", made(times("<a xmlns='x'>", 10<<20))},
	{"XHTML: prefixes", made("<a", times(" xmlns:a='x'", 10<<20), ">")},
	{"XHTML: CDATA", made(times("<![CDATA[", 10<<20))},
	{"XHTML: one name", made(times("<a xmlns='x'></a><a/>", 10<<20))},

	{"dump: a row of JSON", made(`{"a":`, times("[", 3<<20), "\n")},
	{"dump: members", func() File {
		var b strings.Builder
		for i := range 400_000 {
			fmt.Fprintf(&b, `"%d":1,`, i)
		}
		return text("{", b.String(), `"x":1}`+"\n")
	}},
	{"dump: columns of CSV", made(times("a,", 4<<20-100), "\n", times(",", 4<<20-100), "\n")},
	{"dump: an open quote", made("a,b\n\"", times("x\n", 64<<20))},
	{"dump: columns of SQL", made("COPY listings (", times("a, ", 3<<20), "b) FROM stdin;\n",
		times("\t", 4<<20-100), "\n")},
	{"dump: tables", made("--\n", times("COPY a (b) FROM stdin;\n", 64<<20))},

	{"answer: depth", made(times(`{"fields":[`, listing.MaxAnswer))},
	{"answer: facts", made(`{"fields":[`, times(`{},`, listing.MaxAnswer-100), `{}]}`)},
	{"answer: numbers", made(`{"fields":[{"name":"rent","value":`, times("9", listing.MaxAnswer-100), `e999999999}]}`)},

	{"event: parts", made(event, `"statuses":[`, times(`{},`, whatsapp.MaxEvent-1000), `{}]`, eventEnd)},
	{"event: persons", made(event, `"contacts":[`, times(`{},`, whatsapp.MaxEvent-1000), `{}]`, eventEnd)},
	{"event: errors", made(event, `"statuses":[{"id":"a","status":"failed","errors":[`,
		times(`{},`, whatsapp.MaxEvent-1000), `{}]}]`, eventEnd)},
	{"event: persons that are read", made(event, `"contacts":[`, times(`{},`, 3*eventMost), `{}]`, eventEnd)},
	{"event: errors that are read", made(event, `"statuses":[{"id":"a","status":"failed","errors":[`, times(`{},`, 3*eventMost),
		`{}]}]`, eventEnd)},
	{"event: changes that are read", made(`{"object":"whatsapp_business_account","entry":[{"changes":[`,
		times(`{},`, 3*eventMost), `{}]}]}`)},
	{"event: depth", made(event, `"messages":`, times(`[`, whatsapp.MaxEvent-1000))},
	{"event: in standby", made(event, times(`"standby":{`, whatsapp.MaxEvent-1000))},
	{"event: changes", made(`{"object":"whatsapp_business_account","entry":[{"changes":[`,
		times(`{},`, whatsapp.MaxEvent-1000), `{}]}]}`)},
	{"event: numbers", made(event, `"statuses":[{"id":"a","status":"sent","timestamp":`,
		times("9", whatsapp.MaxEvent-1000), `}]`, eventEnd)},
	{"answer: long", made("{", times(" ", 64<<20), "}")},
}
