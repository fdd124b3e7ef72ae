package contact_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// file is a file as an import would leave it: read in chunks, and counted.
type file struct {
	plan      contact.Plan
	chunks    []contact.Chunk
	rows      []contact.Row
	valid     int
	invalid   int
	duplicate int
	end       contact.Position
}

// importFile reads a file as the workflow does: sniffed, split, each chunk parsed by itself from its own bytes; and
// checks that nothing is missing.
func importFile(t testing.TB, data []byte, o contact.Options) file {
	t.Helper()
	f, err := tryImport(t, data, o)
	require.NoError(t, err)
	storedPlan(t, f.plan)
	return f
}

func tryImport(t testing.TB, data []byte, o contact.Options) (f file, err error) {
	t.Helper()
	if o.Region == "" {
		o.Region = "CA"
	}
	src, size := bytes.NewReader(data), int64(len(data))
	if f.plan, err = contact.Sniff(src, size, o); err != nil {
		return f, err
	}
	text, err := f.plan.Open(src, size)
	if err != nil {
		return f, err
	}
	var kept bytes.Buffer
	if f.end, err = f.plan.Split(io.TeeReader(text, &kept), contact.Position{}, func(c contact.Chunk) error {
		f.chunks = append(f.chunks, c)
		return nil
	}); err != nil {
		return f, err
	}
	if !f.plan.Copied() && !bytes.Equal(kept.Bytes(), data) {
		t.Error("the text is not the file, though the plan says so")
	}
	seen := map[string]bool{}
	for _, c := range f.chunks {
		part := kept.Bytes()[c.Offset : c.Offset+c.Length]
		if err := f.plan.Parse(bytes.NewReader(part), c, func(r contact.Row) error {
			f.rows = append(f.rows, r)
			switch {
			case !r.Valid():
				f.invalid++
			case seen[r.Contact.Key]:
				f.duplicate++
			default:
				f.valid++
			}
			seen[r.Contact.Key] = r.Valid()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range f.rows {
		require.Equal(t, int64(i+1), r.Number, i+1)
	}
	if read := f.end.Row - 1; read != int64(f.valid+f.invalid+f.duplicate) || read != int64(len(f.rows)) {
		t.Fatalf("read %d, valid %d, invalid %d, duplicate %d", read, f.valid, f.invalid, f.duplicate)
	}
	return f, nil
}

// contacts are the valid rows as "phone email name", and the others as "line:field code".
func (f file) String() string {
	var b strings.Builder
	for i, r := range f.rows {
		if i > 0 {
			b.WriteString("\n")
		}
		if r.Valid() {
			b.WriteString(strings.Join(strings.Fields(r.Contact.Phone+" "+r.Contact.Email+" "+r.Contact.Name), " "))
			continue
		}
		fmt.Fprintf(&b, "line %d:", r.Line)
		for _, p := range r.Problems {
			fmt.Fprintf(&b, " %s %s", p.Field, p.Code)
		}
	}
	return b.String()
}

// refused checks that an error is final and says so much.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	for _, w := range words {
		assert.Contains(t, err.Error(), w)
	}
}

var errOften = errors.New("connection reset")

func TestKey(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, phone, email, want string }{
		{"canada", "+15145550123", "a@b.ca", "+15145550123"},
		{"brazil, mobile without the ninth digit", "+551187654321", "", "+5511987654321"},
		{"brazil, mobile with it", "+5511987654321", "", "+5511987654321"},
		{"brazil, landline", "+551133334444", "", "+551133334444"},
		{"brazil, landline that begins with 5", "+552155554444", "", "+552155554444"},
		{"mexico, with 1", "+5215512345678", "", "+525512345678"},
		{"mexico, without", "+525512345678", "", "+525512345678"},
		{"mexico, without, area code with 1", "+521234567890", "", "+521234567890"},
		{"argentina, with 9", "+5491123456789", "", "+541123456789"},
		{"argentina, without", "+541123456789", "", "+541123456789"},
		{"address only", "", "Zoe@Example.com", "mailto:zoe@example.com"},
		{"neither", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := contact.Key(tt.phone, tt.email); got != tt.want {
				t.Errorf("Key(%q, %q) = %q, want %q", tt.phone, tt.email, got, tt.want)
			}
		})
	}
	a, b := contact.Digest("acme", "+15145550123"), contact.Digest("other", "+15145550123")
	if a == b || a != contact.Digest("acme", "+15145550123") {
		t.Error("a digest is of tenant and key")
	}
	mac := hmac.New(sha256.New, []byte("a key"))
	mac.Write(a[:])
	require.Equal(t, mac.Sum(nil), contact.NewPads([]byte("a key")).Keyed(a[:]), "the keyed digest")
	if got := (contact.Pads{}).Keyed(a[:]); got != nil {
		t.Errorf("without a key a digest is %x", got)
	}
	if got := fmt.Sprintf("%x", a); got != "9272e2cd5f207f51c4286f8515df4952" { // as sha256sum has it
		t.Errorf("digest %s", got)
	}
}

func TestReadPhone(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, cell, region, want, code string }{
		{"e.164", "+15145550123", "", "+15145550123 CA", ""},
		{"national", "(514) 555-0123", "CA", "+15145550123 CA", ""},
		{"dots", "514.555.0123", "CA", "+15145550123 CA", ""},
		{"trunk 1", "1-514-555-0123", "CA", "+15145550123 CA", ""},
		{"a region of the same plan", "+1 212 736 5000", "CA", "+12127365000 US", ""},
		{"france, from canada", "+33 6 12 34 56 78", "CA", "+33612345678 FR", ""},
		{"france, national", "06 12 34 56 78", "FR", "+33612345678 FR", ""},
		{"france, 00", "0033 6 12 34 56 78", "CA", "+33612345678 FR", ""},
		{"france, (0)", "+33 (0)6 12 34 56 78", "CA", "+33612345678 FR", ""},
		{"the + is lost", "33612345678", "CA", "+33612345678 FR", ""},
		{"the + is lost, no region", "33612345678", "", "+33612345678 FR", ""},
		{"germany, a mobile without the +", "4917612345678", "DE", "+4917612345678 DE", ""},
		{"germany, a mobile of ten digits without the +", "491712345678", "DE", "+491712345678 DE", ""},
		{"germany, another mobile without the +", "49 151 12345678", "DE", "+4915112345678 DE", ""},
		{"germany, a landline whose area code begins with 49", "04917 612345", "DE", "+494917612345 DE", ""},
		{"indonesia, a mobile without the +", "6281234567890", "ID", "+6281234567890 ID", ""},
		{"whatsapp's id, mexico", "5215512345678", "MX", "+5215512345678 MX", ""},
		{"mexico with 1", "+521 55 1234 5678", "CA", "+5215512345678 MX", ""},
		{"mexico", "+52 55 1234 5678", "CA", "+525512345678 MX", ""},
		{"brazil without the ninth digit", "+55 11 8765-4321", "BR", "+551187654321 BR", ""},
		{"brazil with it", "+55 11 98765-4321", "BR", "+5511987654321 BR", ""},
		{"brazil, landline", "(11) 3333-4444", "BR", "+551133334444 BR", ""},
		{"argentina with 9", "+54 9 11 2345-6789", "AR", "+5491123456789 AR", ""},
		{"bidi controls", "\u202a+1 514-555-0123\u202c", "CA", "+15145550123 CA", ""},
		{"no-break spaces and long dashes", "+1\u00a0514\u2011555–0123", "CA", "+15145550123 CA", ""},
		{"full width", "＋１５１４５５５０１２３", "CA", "+15145550123 CA", ""},
		{"arabic digits", "+٣٣٦١٢٣٤٥٦٧٨", "CA", "+33612345678 FR", ""},
		{"apostrophe of excel", "'5145550123", "CA", "+15145550123 CA", ""},
		{"text formula of excel", `="5145550123"`, "CA", "+15145550123 CA", ""},
		{"decimal of pandas", "15145550123.0", "CA", "+15145550123 CA", ""},
		{"tel:", "tel:+1-514-555-0123", "CA", "+15145550123 CA", ""},
		{"whatsapp:", "WhatsApp:+15145550123", "CA", "+15145550123 CA", ""},
		{"meta's p:", "p:+15145550123", "CA", "+15145550123 CA", ""},
		{"wa.me", "https://wa.me/15145550123?text=hi", "FR", "+15145550123 CA", ""},
		{"google's several", "+1 514-555-0123 ::: +1 438-555-0199", "CA", "+15145550123 CA", ""},
		{"google's several, the first bad", "123 ::: +1 438-555-0199", "CA", "+14385550199 CA", ""},
		{"barbados, seven digits decide", "+1 246 521 0123", "CA", "+12465210123 BB", ""},

		{"scientific", "5.14555E+09", "CA", "", contact.CodeScientific},
		{"scientific, french", "5,14555E+09", "CA", "", contact.CodeScientific},
		{"scientific, no fraction", "5E+09", "CA", "", contact.CodeScientific},
		{"vanity", "1-800-FLOWERS", "CA", "", contact.CodeLetters},
		{"words", "call me", "CA", "", contact.CodeLetters},
		{"label", "Cell: 514-555-0123", "CA", "+15145550123 CA", ""},
		{"label of another person", "Mom: 514-555-0123", "CA", "", contact.CodeLetters},
		{"extension", "514-555-0123 ext. 45", "CA", "", contact.CodeExtension},
		{"extension, french", "514 555-0123 poste 45", "CA", "", contact.CodeExtension},
		{"extension, x", "514-555-0123x45", "CA", "", contact.CodeExtension},
		{"extension, #", "514-555-0123 #45", "CA", "", contact.CodeExtension},
		{"extension, rfc 3966", "tel:+1-514-555-0123;ext=45", "CA", "", contact.CodeExtension},
		{"two", "514-555-0123 / 438-555-0199", "CA", "", contact.CodeSeveral},
		{"two, or", "514-555-0123 ou 438-555-0199", "CA", "", contact.CodeSeveral},
		{"no country", "514-555-0123", "", "", contact.CodeCountry},
		{"too short", "555-0123", "CA", "", contact.CodePhone},
		{"too long", "514-555-0123-99", "CA", "", contact.CodePhone},
		{"no such number", "+1 514 155 0123", "CA", "", contact.CodePhone},
		{"a year", "2024", "CA", "", contact.CodePhone},
		{"no such country", "+999 123 456 789", "CA", "", contact.CodePhone},
		{"zeros", "0000000000", "CA", "", contact.CodePhone},
		{"a plus", "+", "CA", "", contact.CodePhone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			phone, country, p := contact.ReadPhone(tt.cell, tt.region)
			got, code := strings.TrimSpace(phone+" "+country), ""
			if p != nil {
				code = p.Code
				if len(p.Message) < 20 || !strings.Contains(p.Message, " ") {
					t.Errorf("message %q", p.Message)
				}
			}
			if got != tt.want || code != tt.code {
				t.Errorf("ReadPhone(%q, %q) = %q, %q (%v); want %q, %q", tt.cell, tt.region, got, code, p, tt.want, tt.code)
			}
		})
	}
}

func TestReadEmail(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		cell, want string
	}{
		{"zoe@example.com", "zoe@example.com"},
		{"Zoe.Cote+x@Example.COM", "Zoe.Cote+x@example.com"},
		{"  mailto:zoe@example.com ", "zoe@example.com"},
		{"Zoé Côté <zoe@example.com>", "zoe@example.com"},
		{"zoe@montréal.example", "zoe@xn--montral-fya.example"},
		{"a@example.com ::: b@example.com", "a@example.com"},
		{"o'brien@example.com", "o'brien@example.com"},
		{"zoe@example.com\u200b", "zoe@example.com"},
		{"zoe", ""},
		{"zoe@", ""},
		{"@example.com", ""},
		{"zoe@localhost", ""},
		{"zoe@127.0.0.1", ""},
		{"zoe@exam_ple.com", ""},
		{"zoe@-example.com", ""},
		{"zoe@example..com", ""},
		{".zoe@example.com", ""},
		{"a@b.ca, c@d.ca", ""},
		{"zoe at example.com", ""},
		{strings.Repeat("z", 65) + "@example.com", ""},
	} {
		got, p := contact.ReadEmail(tt.cell)
		if got != tt.want || (p == nil) != (tt.want != "") {
			t.Errorf("ReadEmail(%q) = %q, %v; want %q", tt.cell, got, p, tt.want)
		}
	}
}

// A person of a request is read as a row of a file is, but for tags, which are a list already.
func TestGiven(t *testing.T) {
	t.Parallel()

	c, problems := contact.Given(contact.Contact{
		Phone: "514 555-0123", Email: "A@EXAMPLE.org", GivenName: " Zo\u0065\u0308 ", Locale: "French",
		Tags: []string{"a, b", " a,  b", "", "c"}, Fields: map[string]string{"city": " Laval ", "floor": ""},
	}, "CA")
	require.Empty(t, problems)
	require.Equal(t, contact.Contact{
		Key: "+15145550123", Phone: "+15145550123", Country: "CA", Email: "A@example.org", Name: "Zoë", GivenName: "Zoë",
		Locale: "fr", Tags: []string{"a, b", "c"}, Fields: map[string]string{"city": "Laval"},
	}, c)
	many := make([]string, contact.MaxTags+1)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for code, given := range map[string]contact.Contact{
		contact.CodeMissing: {Name: "Zoë"}, contact.CodePhone: {Phone: "1"}, contact.CodeLocale: {Email: "a@b.ca", Locale: "N/A"}, contact.CodeNUL: {Email: "a@b.ca", Name: "a\x00"},
		contact.CodeTags: {Email: "a@b.ca", Tags: many}, contact.CodeTooLong: {Email: "a@b.ca", Tags: []string{strings.Repeat("x", 65)}},
		contact.CodeControl: {Email: "a@b.ca", Fields: map[string]string{"a": "\x01"}},
	} {
		_, problems := contact.Given(given, "CA")
		require.Len(t, problems, 1, code)
		require.Equal(t, code, problems[0].Code)
	}
	for name, want := range map[string]bool{"city": true, "a_1": true, "": false, "A": false, "a b": false, "a.b": false} {
		require.Equal(t, want, contact.IsCustom(name), name)
	}
}
