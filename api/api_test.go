package api_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestUnknownRoute(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	for _, path := range []string{"/nothing", "/listings/a/b/c", "/%00", "/..%2f"} {
		r := d.Get(t, path)
		if r.Status == http.StatusMovedPermanently { // to the path with its slash
			r = d.Get(t, r.Header.Get("Location"))
		}
		require.NotContains(t, r.Body, "goroutine")
		apitest.Refused(t, r, http.StatusNotFound)
	}
	require.Equal(t, "there is no GET /nothing; see /docs", apitest.Refused(t, d.Get(t, "/nothing"), 404).Detail)
}

func TestWrongMethod(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	for _, tt := range []struct{ method, path, allow string }{
		{http.MethodPost, "/listings", "GET"},
		{http.MethodDelete, "/listings/6f1d1a0e-9c58-5c7e-8d7c-0b5a7f3f2c11", "GET"},
		{http.MethodGet, "/listings/kijiji/1/process", "POST"},
		{http.MethodPut, "/health", "GET"},
		{http.MethodPost, "/images/a.jpg", "GET"},
	} {
		r := d.Ask(t, tt.method, tt.path, "")
		p := apitest.Refused(t, r, http.StatusMethodNotAllowed)
		require.Equal(t, tt.allow, r.Header.Get("Allow"), tt.path)
		require.Equal(t, tt.path+" allows "+tt.allow, p.Detail)
	}
}

// A change refuses parameters that it does not know: with a misspelt dry_run the real thing would be done. Only what
// programs of others send to addresses that we gave them is not read so closely.
func TestUnknownParametersOfChanges(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(d.Get(t, "/openapi.json").Body), &doc))
	theirs := []string{"receive-whatsapp-webhook", "confirm-subscription", "unsubscribe"}
	seen := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if method == "get" || slices.Contains(theirs, o.OperationID) {
				continue
			}
			seen++
			at := regexp.MustCompile(`{\w+}`).ReplaceAllString(path, "1") + "?dry-run=true"
			p := apitest.Refused(t, d.Ask(t, strings.ToUpper(method), at, "{}"), http.StatusUnprocessableEntity)
			require.Equal(t, []string{"query.dry-run"}, p.Fields(), o.OperationID)
		}
	}
	require.Greater(t, seen, 50)
}

func TestHead(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	for path, status := range map[string]int{"/health": 200, "/docs": 200, "/openapi.json": 200, "/nothing": 404} {
		r := d.Ask(t, http.MethodHead, path, "")
		require.Equal(t, status, r.Status, path)
		require.Empty(t, r.Body, path)
		require.Equal(t, d.Get(t, path).Header.Get("Content-Type"), r.Header.Get("Content-Type"), path)
	}
}

// HEAD of an export reads no row: here there is nothing to read them from.
func TestHeadOfAnExport(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	r := d.Ask(t, http.MethodHead, "/listings/export", "", "Accept-Encoding", "gzip")
	require.Equal(t, http.StatusOK, r.Status)
	require.Equal(t, []string{"text/csv; charset=utf-8; header=present", `attachment; filename="listings.csv"`, "gzip"},
		[]string{r.Header.Get("Content-Type"), r.Header.Get("Content-Disposition"), r.Header.Get("Content-Encoding")})
	require.Equal(t, http.StatusUnprocessableEntity, d.Ask(t, http.MethodHead, "/listings/export?format=xls", "").Status)
}

// A panic is a 500 whose body does not reveal the cause; the next request is answered.
func TestPanic(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t, func(p *apitest.Parts) { p.Listings.Store = nil })
	p := apitest.Refused(t, d.Get(t, "/listings"), http.StatusInternalServerError)
	require.NotContains(t, p.Detail, "nil")
	require.Equal(t, http.StatusOK, d.Get(t, "/health").Status)
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	doc := apitest.Read[struct {
		OpenAPI string
		Info    struct{ Title, Version string }
	}](t, apitest.Reply{
		Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: d.Get(t, "/openapi.json").Body,
	}, 200)
	require.Equal(t, "3.1.0", doc.OpenAPI)
	require.Equal(t, "1.2.3", doc.Info.Version)

	const golden = "testdata/openapi.golden.yaml"
	got := d.Get(t, "/openapi.yaml").Body
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "the document is generated: go generate ./api")
}

// The page works without the internet: everything it loads is ours.
func TestDocs(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	r := d.Get(t, "/")
	require.Equal(t, http.StatusFound, r.Status)
	require.Equal(t, "/ui/", d.Ask(t, "GET", "/", "", "Accept", "text/html,*/*;q=0.8").Header.Get("Location"))
	page := d.Get(t, r.Header.Get("Location"))
	require.Equal(t, http.StatusOK, page.Status)
	require.Contains(t, page.Header.Get("Content-Type"), "text/html")
	require.Contains(t, page.Body, `"swaggerJsonUrl":"/openapi.json"`)
	require.Regexp(t, `validatorUrl:\s*null`, page.Body) // or swagger.io would be asked

	assets := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body, -1)
	require.GreaterOrEqual(t, len(assets), 4)
	for _, a := range assets {
		require.Truef(t, strings.HasPrefix(a[1], "/docs/"), "%s is not ours", a[1])
		asset := d.Get(t, a[1])
		require.Equal(t, http.StatusOK, asset.Status, a[1])
		require.Greater(t, len(asset.Body), 100, a[1])
		require.NotContains(t, asset.Header.Get("Content-Type"), "text/plain", a[1])
		if strings.HasSuffix(a[1], ".css") {
			require.NotRegexp(t, `(?:url\(|@import\s*)["']?(?:https?:)?//`, asset.Body, a[1])
		}
	}
}

// A parameter that is given twice is refused: of two dry_run, or two limits, all but the first would be ignored.
func TestRepeatedParameters(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	for _, at := range []string{
		"DELETE /listings/kijiji/1?dry_run=false&dry_run=true", "POST /searches?tenant=acme&tenant=rival",
		"DELETE /pages?url=https://a.example/&url=https://b.example/", "POST /contacts/search?tenant=acme&tenant=rival",
		"POST /uploads?tenant=acme&known=skip&known=update&list=x&list=y", "PUT /campaigns/1?tenant=acme&tenant=acme",
		"GET /crawl-runs/compare?a=1&b=2&b=3", "GET /crawl-runs/1/graph?limit=5&limit=500", "GET /segments?tenant=acme&tenant=b",
		"GET /listings?sort=price&sort=price", "GET /crawl-runs/1/urls?status=FAILED&status=NOT_FOUND&limit=1&limit=2",
	} {
		method, path, _ := strings.Cut(at, " ")
		p := apitest.Refused(t, d.Ask(t, method, path, "{}"), http.StatusUnprocessableEntity)
		require.Len(t, p.Errors, 1, at)
		require.Equal(t, "is given more than once", p.Errors[0].Message)
	}
}
