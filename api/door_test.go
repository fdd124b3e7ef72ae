package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A handler's context ends in time, and its faults are problems.
func TestServe(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	d := &door{Options: Options{Log: slog.New(slog.DiscardHandler)}, api: humagin.New(r, huma.DefaultConfig("", ""))}
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
	serve(d, at("/usual", nil), remaining)
	serve(d, at("/long", map[string]any{timeoutKey: time.Hour}), remaining)
	stream(d, at("/stream", nil), remaining)
	for path, err := range map[string]error{
		"/gone": fault.Newf(fault.Gone, "there is none"), "/away": errors.New("dial tcp 10.0.0.7: refused"),
	} {
		serve(d, at(path, nil), func(context.Context, *struct{}) (*left, error) { return nil, err })
	}
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	for path, want := range map[string]time.Duration{"/usual": requestTimeout, "/long": time.Hour, "/stream": 0} {
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

// Every field of an answer is filled from its row: none is forgotten where they are copied one by one.
func TestRowsAreShownWhole(t *testing.T) {
	t.Parallel()
	d := &door{}
	whole(t, showListing(filled[dblistings.ListingSummary](t)))
	whole(t, showAdvert(uuid.New(), filled[dblistings.ListingDetail](t), WorkflowLink{"id", "url"},
		DeadLetters{door: d}.item, access.Read))
	whole(t, showLetterGroup(filled[db.LetterGroup](t)))
	whole(t, showPastCycle(filled[dblistings.PlatformCycle](t)))
	whole(t, showFeedRow(filled[db.FeedRow](t)))
	whole(t, Replays{door: d}.show(filled[dblistings.Replay](t)))
	centris := filled[dblistings.Platform](t)
	centris.Name = "centris" // of which something is unproven
	whole(t, Platforms{door: d}.show(centris))
	whole(t, DeadLetters{door: d}.item(filled[db.LetterSummary](t)))
	whole(t, showCrawlURL(filled[dbcrawl.CrawlURL](t)))
	whole(t, showCrawlPage(filled[dbcrawl.CrawlPage](t)))
	whole(t, showCrawlBrokenLink(filled[dbcrawl.CrawlBrokenLink](t)))
	whole(t, showCrawlDifference(filled[dbcrawl.CrawlDifference](t)))
	whole(t, showCrawlRate(filled[dbcrawl.CrawlRate](t), time.Second))
	whole(t, showDraft(filled[dbdrafts.DraftSummary](t)))
	whole(t, showKey(filled[db.Key](t)))
	whole(t, Tenants{door: d}.show(t.Context(), filled[db.Tenant](t)))
	whole(t, showSender(filled[dboutreach.Sender](t)))
	whole(t, showAttempt(filled[dboutreach.Attempt](t)))
	whole(t, showAuditRow(filled[db.AuditRow](t)))
	whole(t, NewReport(filled[backlog.Report](t)))
}

// filled is a T without a zero field.
func filled[T any](t *testing.T) (v T) {
	t.Helper()

	fill(t, reflect.ValueOf(&v).Elem())
	return v
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()

	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		require.Fail(t, "cannot fill", v.Type().String())
	}
}

// whole checks that neither v nor a struct in it has a zero field.
func whole(t *testing.T, v any) {
	t.Helper()

	check(t, reflect.ValueOf(v), reflect.TypeOf(v).String())
}

func check(t *testing.T, v reflect.Value, path string) {
	t.Helper()

	require.False(t, v.IsZero(), path)
	switch v.Kind() {
	case reflect.Pointer:
		check(t, v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				check(t, v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Slice:
		require.NotZero(t, v.Len(), path)
		check(t, v.Index(0), path)
	}
}
