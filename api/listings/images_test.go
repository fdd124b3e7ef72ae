package listings_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/internal/blob"
)

func TestImage(t *testing.T) {
	t.Parallel()
	d, key := apitest.Gallery(t)
	thumb := blob.ThumbnailKey(key)
	whole := d.Get(t, "/images/"+key)
	for _, tt := range []struct {
		name, path string
		headers    []string
		status     int
		body       string
		mime       string
	}{
		{"a picture", key, nil, 200, "0123456789", "image/png"},
		{"a picture without its folder", strings.TrimPrefix(key, "images/"), nil, 200, "0123456789", "image/png"},
		{"with escaped slashes", strings.ReplaceAll(key, "/", "%2F"), nil, 200, "0123456789", "image/png"},
		{"a thumbnail", thumb, nil, 200, "small", "image/jpeg"},
		{"a range", key, []string{"Range", "bytes=2-4"}, 206, "234", "image/png"},
		{"the end", key, []string{"Range", "bytes=-2"}, 206, "89", "image/png"},
		{"known", key, []string{"If-None-Match", whole.Header.Get("ETag")}, 304, "", ""},
		{"another is known", key, []string{"If-None-Match", `"x"`}, 200, "0123456789", "image/png"},
		{"not newer", key, []string{"If-Modified-Since", whole.Header.Get("Last-Modified")}, 304, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := d.Get(t, "/images/"+tt.path, tt.headers...)
			require.Equal(t, tt.status, r.Status)
			require.Equal(t, tt.body, r.Body)
			require.Equal(t, tt.mime, r.Header.Get("Content-Type"))
			require.Contains(t, r.Header.Get("Cache-Control"), "immutable")
			require.NotEmpty(t, r.Header.Get("ETag"))
		})
	}
	t.Run("head", func(t *testing.T) {
		t.Parallel()
		r := d.Ask(t, http.MethodHead, "/images/"+key, "")
		require.Equal(t, http.StatusOK, r.Status)
		require.Equal(t, "10", r.Header.Get("Content-Length"))
	})
	t.Run("a range that is not there", func(t *testing.T) {
		t.Parallel()
		r := d.Get(t, "/images/"+key, "Range", "bytes=50-60")
		require.Equal(t, http.StatusRequestedRangeNotSatisfiable, r.Status)
	})
}

func TestImageIsNotThere(t *testing.T) {
	t.Parallel()
	d, key := apitest.Gallery(t)
	for name, path := range map[string]string{
		"unknown":           "images/ab/ab/" + strings.Repeat("ab", 32) + ".jpg",
		"another extension": strings.TrimSuffix(key, "png") + "jpg",
		"no key":            "",
		"a folder":          "images/",
		"up":                "../secret.jpg",
		"up, escaped":       "%2e%2e%2fsecret.jpg",
		"up, twice escaped": "%252e%252e%252fsecret.jpg",
		"up, from within":   "images/../../secret.jpg",
		"backslashes":       `..%5csecret.jpg`,
		"absolute":          "/etc/passwd",
		"NUL":               "a%00.jpg",
		"not UTF-8":         "%ff",
		"without end":       strings.Repeat("a", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apitest.Refused(t, d.Get(t, "/images/"+path), http.StatusNotFound)
			require.Contains(t, p.Detail, "there is no picture")
			require.Less(t, len(p.Detail), 600, "a few words, and nothing of the folders behind it")
			require.NotContains(t, p.Detail, "store")
		})
	}
}

func TestImagesAreAway(t *testing.T) {
	t.Parallel()
	d, key := apitest.Gallery(t)
	require.NoError(t, d.Images.Blobs.Close())
	r := d.Get(t, "/images/"+key)
	apitest.Refused(t, r, http.StatusServiceUnavailable)
	require.Equal(t, "5", r.Header.Get("Retry-After"))
}
