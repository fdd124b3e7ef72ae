package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/rowtest"
)

// A handler's context ends in time, and its faults are problems.
func TestServe(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	d := &Door{Options: Options{Log: slog.New(slog.DiscardHandler)}, API: humagin.New(r, huma.DefaultConfig("", ""))}
	type left struct{ Body time.Duration }
	remaining := func(ctx context.Context, _ *struct{}) (*left, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			return &left{}, nil
		}
		return &left{time.Until(deadline)}, nil
	}
	at := func(path string, metadata map[string]any) huma.Operation {
		return huma.Operation{OperationID: path, Method: http.MethodGet, Path: path, Metadata: metadata}
	}
	Serve(d, at("/usual", nil), remaining)
	Serve(d, at("/long", map[string]any{TimeoutKey: time.Hour}), remaining)
	Stream(d, at("/stream", nil), remaining)
	for path, err := range map[string]error{
		"/gone": fault.Newf(fault.Gone, "there is none"), "/away": errors.New("dial tcp 10.0.0.7: refused"),
	} {
		Serve(d, at(path, nil), func(context.Context, *struct{}) (*left, error) { return nil, err })
	}
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	for path, want := range map[string]time.Duration{"/usual": RequestTimeout, "/long": time.Hour, "/stream": 0} {
		synctest.Test(t, func(t *testing.T) {
			status, body := get(path)
			require.Equal(t, http.StatusOK, status, path)
			var got time.Duration
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			require.Equal(t, want, got, path)
		})
	}
	status, body := get("/gone")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "there is none")
	status, body = get("/away")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, body, "10.0.0.7")
}

// What cannot be written as JSON is a 500, and no success that breaks off.
func TestServeWhatJSONCannotTell(t *testing.T) {
	t.Parallel()
	r := gin.New()
	r.Use(recovered(slog.New(slog.DiscardHandler)))
	d := &Door{Options: Options{Log: slog.New(slog.DiscardHandler)}, API: humagin.New(r, document(Options{}))}
	type late struct{ Body []time.Time }
	Serve(d, huma.Operation{OperationID: "late", Method: http.MethodGet, Path: "/late"},
		func(context.Context, *struct{}) (*late, error) {
			return &late{[]time.Time{time.Now(), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}}, nil
		})
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/late", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.True(t, json.Valid(w.Body.Bytes()), w.Body)

	Serve(d, huma.Operation{OperationID: "refuse", Method: http.MethodGet, Path: "/refuse"},
		func(context.Context, *struct{}) (*late, error) {
			return nil, huma.Error422UnprocessableEntity("no", &huma.ErrorDetail{Message: "is none", Value: math.NaN()})
		})
	w = httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/refuse", nil))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "is none")
	require.True(t, json.Valid(w.Body.Bytes()), w.Body)
}

// What a body says is read as it was written, or refused: bytes that are no text are not replaced. Of the forms that
// JSON and its schema have for one thing each is read.
func TestServeReadsBodies(t *testing.T) {
	t.Parallel()
	r := gin.New()
	d := &Door{Options: Options{Log: slog.New(slog.DiscardHandler)}, API: humagin.New(r, document(Options{}))}
	type said struct {
		Name string   `json:"name,omitempty"`
		N    int64    `json:"n,omitempty"`
		Many []int    `json:"many,omitempty"`
		F    *float64 `json:"f,omitempty"`
	}
	zeros := strings.Repeat("0", 500)
	type in struct{ Body said }
	Serve(d, huma.Operation{OperationID: "say", Method: http.MethodPost, Path: "/say"},
		func(_ context.Context, in *in) (*Body[said], error) { return BodyOf(in.Body), nil })
	for body, want := range map[string]string{
		`{"name":"é 🏠"}`:                  `{"name":"é 🏠"}`,
		"\ufeff{\"n\":1}":                 `{"n":1}`,
		`{"n":5.0,"many":[1e1,-0]}`:       `{"n":5,"many":[10,0]}`,
		`{"n":1.25e5,"name":"5.0 \"6.0"}`: `{"name":"5.0 \"6.0","n":125000}`,
		`{"n":2e0,"f":0.5}`:               `{"n":2,"f":0.5}`,
		"{\"name\":\"Montr\xe9al\"}":      "is not UTF-8",
		"\x1f\x8b\x08\x00":                "is not UTF-8",
		`{"n":-3.0e2,"many":[0.0,0e5,-0.0,1200e-2,0.05E+2,10.50e1]}`: `{"n":-300,"many":[0,0,0,12,5,105]}`,
		`{"n":9.007199254740993e15,"many":[1.0]}`:                    `{"n":9007199254740993,"many":[1]}`,
		`{"n":1e-400}`:                  "n is a number 1e-400, expected int64",
		`{"n":1e-99999999999999999999}`: "n is a number 1e-99999999999999999999, expected int64",
		`{"n":5.0000000000000000001}`:   "n is a number 5.0000000000000000001, expected int64",
		`{"n":0.5}`:                     "expected integer",
		`{"n":92233720368547758080}`:    "n is a number 92233720368547758080, expected int64",
		`{"n":"a","n":1,"n":"b"}`:       "expected integer",
		`{"n":1}{}`:                     "after top-level value",
		`{"n":1` + zeros + `}`:          "a value is a number " + ("1" + zeros)[:53] + "…, expected float64",
		`{"n":7e2147483647}`:            "a value is a number 7e2147483647, expected float64",
		`{"n":5.` + zeros + `1}`:        "n is a number " + ("5." + zeros)[:53] + "…, expected int64",
	} {
		w := httptest.NewRecorder()
		ask := httptest.NewRequest(http.MethodPost, "/say", strings.NewReader(body))
		r.ServeHTTP(w, ask)
		require.Contains(t, w.Body.String(), want, body)
		require.NotContains(t, w.Body.String(), "Go ", body)
		require.Equal(t, want[0] == '{', w.Code == http.StatusOK, body)
	}
}

// What is checked is what is read: no name comes twice in an object, and none in another case.
func TestServeReadsNamesOnce(t *testing.T) {
	t.Parallel()
	r := gin.New()
	d := &Door{Options: Options{Log: slog.New(slog.DiscardHandler)}, API: humagin.New(r, document(Options{}))}
	type part struct {
		N int `json:"n,omitempty" maximum:"9"`
		M int `json:"m,omitempty"`
	}
	type said struct {
		Name string            `json:"name,omitempty" maxLength:"5"`
		Part *part             `json:"part,omitempty"`
		Many []part            `json:"many,omitempty"`
		Free map[string]string `json:"free,omitempty"`
	}
	type in struct{ Body said }
	Serve(d, huma.Operation{OperationID: "say", Method: http.MethodPost, Path: "/say"},
		func(_ context.Context, in *in) (*Body[said], error) { return BodyOf(in.Body), nil })
	for body, want := range map[string]string{
		`{"many":[{"n":1},{"n":2}],"name":"name","part":{"n":3}}`: `{"name":"name","part":{"n":3},"many":[{"n":1},{"n":2}]}`,
		`{"free":{"a":"a","A":"a"}}`:                              `{"free":{"A":"a","a":"a"}}`,
		`{"part":{"n":9999},"part":{"m":1}}`:                      "part is given more than once",
		`{"many":[{"n":1,"m":9}],"many":[{"n":2}]}`:               "many is given more than once",
		`{"many":[{"n":1,"n":2}]}`:                                "n is given more than once",
		`{"name":"a","n\u0061me":"b"}`:                            "name is given more than once",
		`{"free":{"` + strings.Repeat("k", 900) + `":"1","` + strings.Repeat("k", 900) + `":"2"}}`: "kkk… is given more than once",
		`{"name":"a","NAME":"longer than five"}`:                                                   "unexpected property",
		`{"Name":"a"}`:                                                                             "unexpected property",
	} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/say", strings.NewReader(body)))
		require.Contains(t, w.Body.String(), want, body)
		require.Equal(t, want[0] == '{', w.Code == http.StatusOK, body)
	}
}

// Names that come twice are looked for in what is JSON, with little work: anybody may send a megabyte to POST /session.
func TestRepeatedNamesCostLittle(t *testing.T) { // not beside others: it counts allocations
	const size = 1 << 18
	for body, valid := range map[string]bool{
		strings.Repeat(`{"":`, size): false, strings.Repeat("[", size): false,
		"[" + strings.Repeat("0,", size) + "0]": true, `["` + strings.Repeat(`","`, size) + `"]`: true,
		`{"` + strings.Repeat(`\"`, size) + `":"` + strings.Repeat(" ", size) + `"}`: true,
	} {
		into := &json.RawMessage{}
		require.Equal(t, valid, wholeJSON.Unmarshal([]byte(body), into) == nil, "%.20s", body)
		require.Less(t, testing.AllocsPerRun(1, func() { _ = wholeJSON.Unmarshal([]byte(body), into) }), 50.0, "%.20s", body)
	}
}

// A time whose offset begins with a bare plus is that time, and media types have no case. All else stays as it is.
func TestAsMeant(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"since=2026-01-01T00:00:00+02:00&q=a+b":   "since=2026-01-01T00:00:00%2B02:00&q=a+b",
		"a=2026-01-01T00%3A00%3A00.5+00%3A00&b=1": "a=2026-01-01T00%3A00%3A00.5%2B00%3A00&b=1",
		"since=2026-01-01T00:00:00%2B02:00":       "since=2026-01-01T00:00:00%2B02:00",
		"q=2026-01-01+12:00":                      "q=2026-01-01+12:00",
		"since=2026-01-01T00:00Z&until=2026-01-02T00:00:00+02:00&to=2026-01-02T00:00:00+02%3A00": "" +
			"since=2026-01-01T00:00Z&until=2026-01-02T00:00:00%2B02:00&to=2026-01-02T00:00:00%2B02%3A00",
		"q=%zz+":                               "q=%zz+",
		"q=2026-01-01T10:00+12:30":             "q=2026-01-01T10:00+12:30",
		"text=2026-01-01T10:00+12:30":          "text=2026-01-01T10:00+12:30",
		"name=le+2026-01-01T10:00+11:00":       "name=le+2026-01-01T10:00+11:00",
		"name=2026-01-01T10:00+11:00+ou+12:00": "name=2026-01-01T10:00+11:00+ou+12:00",
	} {
		r := httptest.NewRequest(http.MethodGet, "/audit", nil)
		r.URL.RawQuery = query
		asMeant(r)
		require.Equal(t, want, r.URL.RawQuery)
	}
	for kind, want := range map[string]string{
		"": "", "Application/JSON; Charset=UTF-8": "application/json; Charset=UTF-8",
		"Multipart/Form-Data; boundary=aB": "multipart/form-data; boundary=aB", "application/json": "application/json",
	} {
		r := httptest.NewRequest(http.MethodPost, "/searches", nil)
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		asMeant(r)
		require.Equal(t, want, r.Header.Get("Content-Type"))
	}
}

func TestRowsAreShownWhole(t *testing.T) {
	t.Parallel()
	d := &Door{}
	rowtest.Whole(t, showLetterGroup(rowtest.Filled[db.LetterGroup](t)))
	rowtest.Whole(t, showFeedRow(rowtest.Filled[db.FeedRow](t)))
	rowtest.Whole(t, d.Letter(rowtest.Filled[db.LetterSummary](t)))
	rowtest.Whole(t, ShowKey(rowtest.Filled[db.Key](t)))
	rowtest.Whole(t, showAuditRow(rowtest.Filled[db.AuditRow](t)))
}
