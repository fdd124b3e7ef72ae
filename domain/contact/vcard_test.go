package contact_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// Cards as telephones and address books export them.
func TestCards(t *testing.T) {
	t.Parallel()
	crlf := func(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }
	photo := strings.Repeat("  /9j/4AAQSkZJRgABAQAAAQABAAD\n", 4000)
	for _, tt := range []struct {
		name string
		file []byte
		want string // name|given|family|phone|email|tags|locale a contact
	}{
		{"iPhone, 3.0", crlf("BEGIN:VCARD\nVERSION:3.0\nPRODID:-//Apple Inc.//iPhone OS 17.0//EN\nN:Tremblay;Zoé;;;\nFN:Zoé Tremblay\n" +
			"ORG:Ville\\, Montréal;Parcs\nEMAIL;type=INTERNET;type=HOME;type=pref:zoe@example.org\nitem1.EMAIL:b@example.org\n" +
			"TEL;type=HOME;type=VOICE:(514) 555-0111\nitem2.TEL;type=CELL;type=VOICE;type=pref:+1 (514) 555-0123\n" +
			"item2.X-ABLabel:_$!<Mobile>!$_\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ\n" + photo + "CATEGORIES:VIP,myContacts\nEND:VCARD\n"),
			"Zoé Tremblay|Zoé|Tremblay|+15145550123|zoe@example.org|VIP|"},
		{"Android, 2.1", crlf("BEGIN:VCARD\nVERSION:2.1\n" +
			"N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=89loi;Ren=C3=A9;;;\n" +
			"FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Ren=C3=A9 =\n=C3=89loi\nTEL;CELL:514-555-0123\nTEL;HOME;VOICE:514-555-0111\nEND:VCARD\n"),
			"René Éloi|René|Éloi|+15145550123|||"},
		{"an old encoding", []byte("BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:C=F4t=E9;Ana\nTEL;PREF;CELL:5145550123\nEND:VCARD\n"),
			"Ana Côté|Ana|Côté|+15145550123|||"},
		{"4.0", crlf("BEGIN:VCARD\nVERSION:4.0\nFN:Ann Lee\nTEL;VALUE=uri;PREF=1;TYPE=\"voice,home\":tel:+1-514-555-0123;ext=5\n" +
			"TEL;VALUE=uri;TYPE=cell:tel:+1-514-555-0199\nEMAIL:mailto:ann@example.org\nLANG;PREF=1:fr\nEND:VCARD\n"),
			"Ann Lee|||+15145550199|ann@example.org||fr"},
		{"a fold within a name", crlf("BEGIN:VCARD\nVERSION:3.0\nFN:Jean-Bap\n tiste Roy\nTEL;TYPE=\n CELL:5145550123\nEND:VCARD\n"),
			"Jean-Baptiste Roy|||+15145550123|||"},
		{"a fax only counts for nothing", crlf("BEGIN:VCARD\nFN:Bob\nTEL;TYPE=FAX,WORK:5145550199\nTEL;TYPE=WORK:5145550123\nEND:VCARD\n"),
			"Bob|||+15145550123|||"},
		{"lower case, no end, a group", []byte("begin:vcard\nfn:Bob\ntel:5145550123\nbegin:vcard\nkind:group\nfn:All\nend:vcard\nbegin:vcard\nfn:Eve\n" +
			"note:a\\nb\ntel:5145550124\n"), "Bob|||+15145550123|||\nEve|||+15145550124|||"},
		{"a card within", []byte("BEGIN:VCARD\nFN:Bob\nAGENT:\nBEGIN:VCARD\nFN:Mia\nTEL:5145550199\nEND:VCARD\nTEL:5145550123\nEND:VCARD\n"),
			"Bob|||+15145550123|||"},
		{"by the country of the card", []byte("BEGIN:VCARD\nFN:Luc\nADR;TYPE=HOME:;;1 rue X;Lyon;;69001;France\nTEL;TYPE=CELL:06 12 34 56 78\nEND:VCARD\n"),
			"Luc|||+33612345678|||"},
		{"with a byte order mark", []byte("\uFEFFBEGIN:VCARD\nFN:Zoé\nTEL:5145550123\nEND:VCARD\nBEGIN:VCARD\nFN:Bob\nTEL:5145550124\nEND:VCARD\n"),
			"Zoé|||+15145550123|||\nBob|||+15145550124|||"},
		{"beyond what is kept of a property, nothing is another one", []byte("BEGIN:VCARD\nFN:Bob\nX-LONG;ENCODING=QUOTED-PRINTABLE:" +
			strings.Repeat("abc=\n", 6000) + "TEL:5145550199\nTEL:5145550123\nEND:VCARD\n"), "Bob|||+15145550123|||"},
		{"in a gzip", gzipped([]byte("BEGIN:VCARD\nFN:Bob, the \"big\"\nTEL:5145550123\nEND:VCARD\n")), "Bob, the \"big\"|||+15145550123|||"},
		{"in a zip", zipped("c.vcf", "BEGIN:VCARD\nFN:Bob\nTEL:5145550123\nEND:VCARD\n"), "Bob|||+15145550123|||"},
	} {
		f := importFile(t, tt.file, contact.Options{Region: "CA"})
		var got []string
		for _, row := range f.rows {
			require.Empty(t, row.Problems, tt.name)
			c := row.Contact
			got = append(got, strings.Join([]string{c.Name, c.GivenName, c.FamilyName, c.Phone, c.Email, strings.Join(c.Tags, ","), c.Locale}, "|"))
		}
		require.Equal(t, tt.want, strings.Join(got, "\n"), tt.name)
	}
	f := importFile(t, []byte("BEGIN:VCARD\nFN:Bob\nTEL:5145550123\nEND:VCARD\nBEGIN:VCARD\nFN:Eve\nEND:VCARD\n"), contact.Options{})
	require.Equal(t, int64(3), f.rows[1].Line, "the number of the card and one more")
	require.Equal(t, "missing", f.rows[1].Problems[0].Code)
}

// A note beyond what a cell has room for is cut, and the card is read.
func TestCardsWithLongNotes(t *testing.T) {
	t.Parallel()
	for name, note := range map[string]string{
		"as long as may be": ":" + strings.Repeat("é", contact.MaxField),
		"longer":            ":" + strings.Repeat("é", contact.MaxField+1),
		"of many bytes":     ":" + strings.Repeat("🏠", 9000),
		"quoted-printable":  ";CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:" + strings.Repeat("=C3=A9=\n", 9000),
		"an odd number":     ";CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:a" + strings.Repeat("=C3=A9=\n", 9000),
	} {
		f := importFile(t, []byte("BEGIN:VCARD\nFN:Bob\nTEL:5145550123\nNOTE"+note+"\nEND:VCARD\n"), contact.Options{})
		require.Len(t, f.rows, 1, name)
		require.Empty(t, f.rows[0].Problems, name)
		c := f.rows[0].Contact
		require.Equal(t, "+15145550123", c.Phone, name)
		require.Regexp(t, "^a?(é+|🏠+)…?$", c.Fields["note"], name)
		require.Equal(t, contact.MaxField, utf8.RuneCountInString(c.Fields["note"]), name)
		require.Equal(t, name != "as long as may be", strings.HasSuffix(c.Fields["note"], "…"), name)
	}
}

// What a card says takes no more memory than its bounds, and nothing in it ends the reading.
func TestHostileCards(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("AGENT:\nBEGIN:VCARD\n", 50_000)
	for _, text := range []string{
		"BEGIN:VCARD\nFN:" + strings.Repeat("a", 3<<20) + "\nTEL:5145550123\nEND:VCARD\n",
		"BEGIN:VCARD\nTEL:5145550123\nNOTE;ENCODING=QUOTED-PRINTABLE:" + strings.Repeat("=41=\n", 300_000) + "\nEND:VCARD\n",
		"BEGIN:VCARD\nTEL:5145550123\nNOTE:" + strings.Repeat("b\n ", 300_000) + "\nEND:VCARD\n",
		"BEGIN:VCARD\n" + strings.Repeat("TEL:5145550123\nEMAIL:a@example.org\nFN:x\n", 100_000) + "END:VCARD\n",
		"BEGIN:VCARD\nTEL:5145550123\n" + deep + strings.Repeat("END:VCARD\n", 50_001),
		"BEGIN:VCARD\nTEL:5145550123\n" + strings.Repeat("FN"+strings.Repeat(";", 16000)+":x\n", 50) + "END:VCARD\n",
		"BEGIN:VCARD\nTEL:5145550123\nN:" + strings.Repeat(";", 2<<20) + "\nX;" + strings.Repeat("A=\"", 2<<20) + ":\nEND:VCARD\n",
	} {
		plan, err := contact.Sniff(strings.NewReader(text), int64(len(text)), contact.Options{Region: "CA"})
		require.NoError(t, err)
		r, err := plan.Open(strings.NewReader(text), int64(len(text)))
		require.NoError(t, err)
		table, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Less(t, len(table), 64<<10)
		require.Equal(t, 2, bytes.Count(table, []byte("\n")))
	}
}

func FuzzCards(f *testing.F) {
	f.Add([]byte("BEGIN:VCARD\nFN;ENCODING=QUOTED-PRINTABLE:=C3=\n=89\nTEL;CELL:1\nADR:;;;a;b;c;d\nN:a\\;b;c\n d\nEND:VCARD"), uint64(1))
	f.Fuzz(func(t *testing.T, card []byte, seed uint64) {
		text := append([]byte("BEGIN:VCARD\n"), card...)
		plan, err := contact.Sniff(bytes.NewReader(text), int64(len(text)), contact.Options{})
		if err != nil || !plan.Format.Cards {
			return
		}
		r, err := plan.Open(bytes.NewReader(text), int64(len(text)))
		require.NoError(t, err)
		whole, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, len(plan.Format.Columns), 10+2*6+3)
		rest, err := plan.Open(readerAt{bytes.NewReader(text), rand.New(rand.NewPCG(seed, 0))}, int64(len(text)))
		require.NoError(t, err)
		again, err := io.ReadAll(rest)
		require.NoError(t, err)
		require.Equal(t, whole, again, "read in other pieces")
	})
}

// readerAt gives no more than some bytes at a time.
type readerAt struct {
	io.ReaderAt
	random *rand.Rand
}

func (r readerAt) ReadAt(p []byte, offset int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p[:min(len(p), 1+r.random.IntN(9))], offset)
	return n, err
}
