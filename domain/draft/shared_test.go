package draft_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// TestExtractShared reads pages of which thousands of items, or amounts, share what takes long to read: each took
// seconds to minutes. The limit, lower for small pages, is for a machine that is busy with other tests.
func TestExtractShared(t *testing.T) {
	t.Parallel()
	graph := func(items ...string) string {
		return `<h1>Lamp</h1><script type="application/ld+json">{"@graph":[` + strings.Join(items, ",") + `]}</script>`
	}
	refs := func(id string, n int) string { return "[" + strings.Repeat(`{"@id":"#`+id+`"},`, n) + "{}]" }
	words := "[" + strings.Repeat(`"a",`, 1_000_000) + `"a"]`
	text := strings.Repeat("lamp  of brass ", 8_000)
	amounts := strings.Repeat("<b class=price>1</b>,", 3_000)
	sized := `{"@type":"Product","name":"Lamp","hasVariant":{"@id":"#v"}}`
	for name, page := range map[string]string{
		"breadcrumbs of one long name": graph(`{"@type":"BreadcrumbList","itemListElement":`+refs("n", 19_000)+`}`,
			`{"@id":"#n","name":"`+text+`"}`),
		"facts of one long name": graph(`{"@type":"Product","name":"Lamp","additionalProperty":`+refs("n", 19_000)+`}`,
			`{"@id":"#n","name":"`+text+`"}`),
		"an offer whose offers are words": graph(`{"@type":"Product","name":"Lamp","offers":`+refs("o", 15_000)+`}`,
			`{"@id":"#o","@type":"Offer","offers":`+words+`}`),
		"variants whose offers are words": graph(`{"@type":"Product","name":"Lamp","hasVariant":`+refs("v", 15_000)+`}`,
			`{"@id":"#v","@type":"Product","offers":`+words+`}`),
		"variants whose images are words": graph(`{"@type":"Product","name":"Lamp","hasVariant":`+refs("v", 15_000)+`}`,
			`{"@id":"#v","@type":"Product","image":`+words+`}`),
		"sizes of one long number": graph(strings.Repeat(sized+",", 100)+"{}",
			`{"@id":"#v","sku":"`+text+`&amp;<b>","offers":`+refs("o", 4_900)+`}`, `{"@id":"#o","@type":"Offer","name":"x"}`),
		"names that are blank": graph(`{"@type":"Product","name":`+refs("n", 15_000)+`}`,
			`{"@id":"#n","name":`+strings.ReplaceAll(words, "a", "")+`}`),
		"a list of amounts":   "<h1>Lamp</h1><p>" + amounts,
		"a range without end": "<h1>Lamp</h1><p>" + strings.ReplaceAll(amounts, ",", "-"),
	} {
		t.Run(name, func(t *testing.T) {
			limit := 10 * time.Second
			if len(page) < 100_000 {
				limit = time.Second / 2
			}
			var err error
			took := servicetest.CPU(func() { _, err = draft.Extract([]byte(page), shop) })
			require.NoError(t, err)
			t.Logf("%d bytes took %v", len(page), took)
			if took > limit {
				t.Errorf("took more than %v", limit)
			}
		})
	}
}
