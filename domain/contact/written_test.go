package contact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// A cell that only stands for an empty one refuses no row that has a number or an address besides.
func TestFillers(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"N/A", "n/a", "-", "--", "none", "NULL", `\N`, "aucun", "s/o", "?", "(blank)", "NaN", "Néant"} {
		for text, want := range map[string]string{
			"Name,Phone,Email\nAnn,|,ann@example.com\n":               "ann@example.com Ann",
			"Name,Phone,Email\nAnn,5145550123,|\n":                    "+15145550123 Ann",
			"Name,Phone,Email\nAnn,|,|\n":                             "line 2: phone missing",
			"Name,Mobile,Phone\nAnn,|,5145550123\nBob,4385550199,|\n": "+15145550123 Ann\n+14385550199 Bob",
			"Email,Email 2\n|,ann@example.com\nbob@example.com,|\n":   "ann@example.com\nbob@example.com",
			"Phone,Langue\n5145550123,|\n4385550199,fr\n":             "+15145550123\n+14385550199",
			"Phone,Name\n5145550123,Ann\n|,\n":                        "+15145550123 Ann\nline 3: phone missing",
		} {
			text = strings.ReplaceAll(text, "|", filler)
			f := importFile(t, []byte(text), contact.Options{Header: ptr(true)})
			require.Equal(t, want, f.String(), text)
		}
	}
	f := importFile(t, []byte("Phone,Langue\n5145550123,so\n4385550199,sin\n"), contact.Options{})
	require.Equal(t, "so", f.rows[0].Contact.Locale)
	require.Equal(t, "si", f.rows[1].Contact.Locale)
}

// Languages as people shorten them, and the official ones of Canada by their first letters.
func TestLanguagesShortened(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"ANG": "en", "Angl.": "en", "AN": "en", "Fr.": "fr", "Fran.": "fr", "ESP": "es", "fr_CA.UTF-8": "fr-CA", "French - Canada": "fr-CA",
		"Canadian French": "fr-CA", "Français (QC)": "fr", "All.": "de", "F": "fr", "E": "en", "A": "en", "f": "fr",
	} {
		f := importFile(t, []byte("Phone,Langue\n5145550123,"+cell+"\n"), contact.Options{})
		require.Equal(t, want, f.rows[0].Contact.Locale, cell)
	}
	f := importFile(t, []byte("Phone,Langue\n+33612345678,E\n"), contact.Options{Region: "FR"})
	require.Equal(t, contact.CodeLocale, f.rows[0].Problems[0].Code)
}

// A local part that needs quotes keeps them; an apostrophe that has lost its pair is none of the address.
func TestEmailsInQuotes(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		`"ann lee"@example.com`: `"ann lee"@example.com`, `Ann <"a@b"@Example.com>`: `"a@b"@example.com`, `"ann"@example.com`: "ann@example.com",
		"'ann@example.com": "ann@example.com", "ann@example.com’": "ann@example.com", "o'neil@example.com": "o'neil@example.com",
		"ａｎｎ＠example.com": "ann@example.com", "ann@example.com (work)": "ann@example.com", "josé@example.com": "josé@example.com",
	} {
		got, wrong := contact.ReadEmail(cell)
		require.Nil(t, wrong, cell)
		require.Equal(t, want, got, cell)
		again, wrong := contact.ReadEmail(got)
		require.Nil(t, wrong, cell)
		require.Equal(t, got, again, cell)
	}
}

// A number of the region with a + before it, and no country code, is none abroad.
func TestPlusWithoutCountryCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ cell, region, want string }{
		{"+514 234-5678", "CA", ""}, {"+514-234-5678", "US", ""}, {"+(514) 234-5678", "CA", ""}, {"+612 34 56 78", "ES", ""},
		{"+51 42 345678", "CA", "+5142345678"}, {"+5142345678", "CA", "+5142345678"}, {"+514 234-5678", "PE", "+5142345678"},
		{"+514 234-5678", "", "+5142345678"}, {"+501 622-1234", "CA", "+5016221234"}, {"+1 514 234-5678", "CA", "+15142345678"},
		{"+33 6 12 34 56 78", "FR", "+33612345678"},
	} {
		phone, _, wrong := contact.ReadPhone(tt.cell, tt.region)
		require.Equal(t, tt.want, phone, "%s in %s", tt.cell, tt.region)
		require.Equal(t, tt.want == "", wrong != nil, "%s in %s", tt.cell, tt.region)
	}
}
