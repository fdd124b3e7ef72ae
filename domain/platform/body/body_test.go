package body_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/web"
)

func TestHTML(t *testing.T) {
	t.Parallel()
	if _, err := body.HTML(web.Page{Body: []byte("<html><p>x</p></HTML>\n")}); err != nil {
		t.Error(err)
	}
	_, err := body.HTML(web.Page{Body: []byte("<html><p>x")})
	if shape := (*web.ShapeError)(nil); !errors.As(err, &shape) {
		t.Errorf("a page that was cut off: %v; want a ShapeError", err)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		` {"a":1}`: `{"a":1}`, "\ufeff[1]": "[1]", `<html><body><pre style="x">{"a":"&lt;p&gt;"}</pre></body></html>`: `{"a":"<p>"}`,
		"<html><pre>text</pre></html>": "", "<html>{}</html>": "", "": "", "null": "",
	} {
		if got := body.JSON([]byte(in)); string(got) != want {
			t.Errorf("JSON(%q) = %q; want %q", in, got, want)
		}
	}
}

func TestAssigned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script, want string
		wrong              bool
	}{
		{"a value", `f(() => { App.store = {"a": "};"}; App.other = 1; })`, `{"a": "};"}`, false},
		{"used before", `g(App.store); if (App.store == 1) {} App.store = [1], x`, "[1]", false},
		{"another name", `App.stores = {"a": 1};`, "", false},
		{"none", `g(App.store)`, "", false},
		{"cut off", `App.store = {"a": `, "", true},
		{"no JSON", `App.store = new Store();`, "", true},
	} {
		doc, err := body.Fragment([]byte("<script>1</script><script>" + tt.script + "</script>"))
		require.NoError(t, err)
		got, err := body.Assigned(doc, "App.store")
		if string(got) != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	p := web.Page{URL: "https://example.org/a/b"}
	got := body.Images(p, "1.jpg?", "/2.jpg", "1.jpg", "", "data:image/gif;base64,x", "https://cdn.example.org/3.jpg#x")
	want := []string{"https://example.org/a/1.jpg", "https://example.org/2.jpg", "https://cdn.example.org/3.jpg"}
	require.Equal(t, want, got)
}

func TestDegrees(t *testing.T) {
	t.Parallel()
	if lat, lon := body.Degrees("45.5", " -73.6"); lat == nil || lon == nil || *lat != 45.5 || *lon != -73.6 {
		t.Errorf("Degrees = %v, %v", lat, lon)
	}
	for _, no := range []string{"", "x", "NaN", "nan", "Inf", "-Infinity", "1e999", "1e300"} {
		if lat, lon := body.Degrees(no, "1"); lat != nil || lon != nil {
			t.Errorf("Degrees(%q, 1) = %v, %v", no, lat, lon)
		}
		if lat, lon := body.Degrees("1", no); lat != nil || lon != nil {
			t.Errorf("Degrees(1, %q) = %v, %v", no, lat, lon)
		}
	}
}

func TestLinkedData(t *testing.T) {
	t.Parallel()
	doc, err := body.Fragment([]byte(`<script type="application/ld+json">{"a":1}</script><script type="application/ld+json">{</script>` +
		`<script>{"b":1}</script>`))
	require.NoError(t, err)
	if got := body.LinkedData(doc); len(got) != 1 || string(got[0]) != `{"a":1}` {
		t.Errorf("LinkedData = %q", got)
	}
}
