package drafttest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	z := gzip.NewWriter(&page)
	if _, err := z.Write([]byte("<h1>Lamp</h1>")); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, z.Close())
	folder := fstest.MapFS{
		"ground-truth.json": {Data: []byte(`{"b": {"url": "https://b.example/", "price": ["9.90"]},
			"a": {"url": "https://a.example/", "sku": ["1", "2"]}}`)},
		"html/a.html.gz": {Data: page.Bytes()},
		"html/b.html.gz": {Data: page.Bytes()},
	}
	all, err := drafttest.Samples(folder)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d samples, %v", len(all), err)
	}
	a, b := all[0], all[1]
	if a.ID != "a" || a.URL != "https://a.example/" || string(a.HTML) != "<h1>Lamp</h1>" || len(a.Truth["sku"]) != 2 ||
		b.ID != "b" || b.Truth["price"][0] != "9.90" {
		t.Errorf("%+v", all)
	}
	if _, err := drafttest.Samples(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestScore(t *testing.T) {
	t.Parallel()
	price := func(s string) draft.Draft { return draft.Draft{Price: &draft.Found[string]{Value: s}} }
	truth := drafttest.Truth{"price": {" 12.50 ", "13"}}
	for _, tt := range []struct {
		name  string
		draft draft.Draft
		truth drafttest.Truth
		want  drafttest.Grade
	}{
		{"as a number", price("12.5"), truth, drafttest.Grade{Right: 1}},
		{"one of several", price("13.00"), truth, drafttest.Grade{Right: 1}},
		{"another", price("14"), truth, drafttest.Grade{Wrong: 1, Missed: 1}},
		{"none found", draft.Draft{}, truth, drafttest.Grade{Missed: 1}},
		{"none there", price("14"), nil, drafttest.Grade{Wrong: 1}},
		{"neither", draft.Draft{}, nil, drafttest.Grade{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, drafttest.Score(tt.draft, tt.truth, "price"))
		})
	}
}
