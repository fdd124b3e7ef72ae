package apitest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// Page stores and indexes a page.
func (d *Door) Page(t *testing.T, url, site, title, text string) search.Page {
	t.Helper()
	doc := search.Document{
		URL: url, Site: site, Title: title, Description: "about", Headings: []string{"One", "Two"}, Text: text,
		Language: "en", Type: "html", CrawledAt: Now,
	}
	pages := []search.Incoming{{Document: doc, StatusCode: 200}}
	kept, err := d.Search.Store.Store(t.Context(), pages, Now.Add(time.Second))
	require.NoError(t, err)
	p := search.Page{ID: kept[0].ID, Revision: kept[0].Revision, Document: doc}
	require.NoError(t, d.Search.Engines[search.EnginePostgres].Index(t.Context(), []search.Page{p}))
	return p
}
