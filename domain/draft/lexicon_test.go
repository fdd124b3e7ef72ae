package draft_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

// TestLexicon looks for words together as each of them would be looked for alone.
func TestLexicon(t *testing.T) {
	t.Parallel()
	cues := []string{"sold out", "sold", "fee", "*preis", "größe*", "売", "épuisé", "4x"}
	for _, tt := range []struct{ text, found, first string }{
		{"it is sold out", "sold out", "sold out"},
		{"sold, not sold out", "sold", "sold out"},
		{"soldiers", "", ""},
		{"unsold", "", ""},
		{"sold outs", "sold out", "sold out"},
		{"a fee or fees", "fee", "fee"},
		{"fees", "fee", "fee"},
		{"feels", "", ""},
		{"coffee", "", ""},
		{"coffee, fee", "fee", "fee"},
		{"klubpreis", "preis", "preis"},
		{"klubpreise", "", ""},
		{"größentabelle", "größe", "größe"},
		{"übergröße", "", ""},
		{"完売です", "売", "売"},
		{"épuisée", "", ""},
		{"14x", "", ""},
		{"4x 10", "4x", "4x"},
		{"s", "", ""},
		{"", "", ""},
		{"\xc3", "", ""},
	} {
		found, first := draft.InCues(cues, tt.text)
		require.Equal(t, [2]string{tt.found, tt.first}, [2]string{found, first}, tt.text)
	}
}
