package outreach_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// files are those in a folder, whatever their names.
func files(t *testing.T, folder string) (paths []string) {
	t.Helper()

	require.NoError(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

func TestUpload(t *testing.T) {
	t.Parallel()
	d, folder := apitest.Outreach(t)
	list, err := d.Contacts.Store.CreateList(t.Context(), "acme", "Friends", "test", apitest.Now)
	require.NoError(t, err)
	r := d.Upload(t, "&tag=e%CC%81t%C3%A9", apitest.FormOf(`C:\people\clients.csv`, apitest.People, "known", "skip", "dry_run", "true", "tag", "form",
		"list", list.ID.String(), "options", `{"mapping":{"Nom":"fields.nom"}}`))
	u := apitest.Read[apioutreach.Upload](t, r, http.StatusAccepted)
	require.Equal(t, "/uploads/"+u.ID.String(), r.Header.Get("Location"))
	require.Equal(t, apioutreach.UploadState("received"), u.State)
	require.Equal(t, "clients.csv", u.FileName)
	require.Equal(t, "skip", u.Known)
	require.True(t, u.DryRun)
	require.Equal(t, []string{"\u00e9t\u00e9", "form"}, u.Tags)
	require.Equal(t, []uuid.UUID{list.ID}, u.Lists)
	require.Equal(t, "CA", u.Options.Region, "that of the tenant")
	require.Equal(t, int64(len(apitest.People)), u.Bytes)
	require.Equal(t, []string{fmt.Sprintf("import %s of acme", u.ID)}, d.Started.Calls)
	require.Len(t, files(t, folder), 1)
	kept, err := os.ReadFile(files(t, folder)[0])
	require.NoError(t, err)
	require.Equal(t, apitest.People, string(kept))
	require.Equal(t, u, apitest.Read[apioutreach.Upload](t, d.Get(t, r.Header.Get("Location")+"?tenant=acme"), 200))

	// The row is stored while Temporal is away.
	d.Started.Err = io.ErrClosedPipe
	u = apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("b.csv", apitest.People)), http.StatusAccepted)
	require.NotEmpty(t, u.Warning)
	list2 := apitest.Read[apioutreach.UploadPage](t, d.Get(t, "/uploads?tenant=acme&limit=1&state=received"), 200)
	require.Len(t, list2.Items, 1)
	require.Equal(t, u.ID, list2.Items[0].ID)
	list2 = apitest.Read[apioutreach.UploadPage](t, d.Get(t, "/uploads?tenant=acme&limit=1&cursor="+list2.NextCursor), 200)
	require.Equal(t, "clients.csv", list2.Items[0].FileName)
	require.Empty(t, list2.NextCursor)
}

func TestUploadRefused(t *testing.T) {
	t.Parallel()
	d, folder := apitest.Outreach(t, func(p *apitest.Parts) { p.Uploads.Limits.Bytes = 1000 })
	for name, tt := range map[string]struct {
		query, form string
		headers     []string
		status      int
		says        string
	}{
		"no form":           {"", "phone\n", []string{"Content-Type", "text/csv"}, 415, "curl -F file=@people.csv"},
		"no file":           {"", "--boundary--\r\n", nil, 422, "file: is missing"},
		"an empty file":     {"", apitest.FormOf("a.csv", ""), nil, 422, "file: is empty"},
		"too large":         {"", apitest.FormOf("a.csv", strings.Repeat("x", 1001)), nil, 413, "larger than 1000 bytes"},
		"far too large":     {"", apitest.FormOf("a.csv", strings.Repeat("x", 2<<20)), nil, 413, "larger than 1000 bytes"},
		"an unknown field":  {"", apitest.FormOf("a.csv", apitest.People, "lists", "x"), nil, 422, `unknown field "lists"`},
		"a wrong list":      {"", apitest.FormOf("a.csv", apitest.People, "list", "x"), nil, 422, "list: expected the ID"},
		"an unknown list":   {"", apitest.FormOf("a.csv", apitest.People, "list", uuid.NewString()), nil, 422, "lists: 1 of the 1"},
		"a wrong known":     {"", apitest.FormOf("a.csv", apitest.People, "known", "no"), nil, 422, "known: is"},
		"a wrong dry run":   {"", apitest.FormOf("a.csv", apitest.People, "dry_run", "maybe"), nil, 422, "dry_run: expected true or false"},
		"wrong options":     {"", apitest.FormOf("a.csv", apitest.People, "options", `{"maping":{}}`), nil, 422, "options: "},
		"unknown region":    {"", apitest.FormOf("a.csv", apitest.People, "options", `{"region":"XX"}`), nil, 422, `options: region "XX" is not known`},
		"unknown field":     {"", apitest.FormOf("a.csv", apitest.People, "options", `{"mapping":{"A":"fone"}}`), nil, 422, `mapping: unknown field "fone"`},
		"wrong in query":    {"&known=no", apitest.FormOf("a.csv", apitest.People), nil, 422, ""},
		"a field after it":  {"", strings.Replace(apitest.FormOf("a.csv", apitest.People), "--boundary--", "--boundary\r\nContent-Disposition: form-data; name=\"tag\"\r\n\r\nx\r\n--boundary--", 1), nil, 422, "must be the last field"},
		"cut off":           {"", apitest.FormOf("a.csv", apitest.People)[:150], nil, 400, "ends before the form does"},
		"cut at the end":    {"", strings.TrimSuffix(apitest.FormOf("a.csv", apitest.People), "--boundary--\r\n"), nil, 400, "ends before"},
		"a header too long": {"", "--boundary\r\nContent-Disposition: " + strings.Repeat("x", 100_000) + "\r\n\r\n", nil, 400, "ends before"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, apitest.Refused(t, d.Upload(t, tt.query, tt.form, tt.headers...), tt.status).Detail, tt.says)
			require.Empty(t, files(t, folder))
		})
	}
	require.Empty(t, d.Started.Calls)
	_, err := d.Tenants.Change(t.Context(), "acme", "test", apitest.Now, func(t *db.Tenant) { t.State = db.TenantStopped })
	require.NoError(t, err)
	require.Contains(t, apitest.Refused(t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People)), 409).Detail, "is stopped")
	require.Empty(t, files(t, folder))
}

// A repeated request is one upload; its key cannot be used for another file.
func TestUploadOnce(t *testing.T) {
	t.Parallel()
	d, folder := apitest.Outreach(t)
	var ids []uuid.UUID
	for range 3 {
		u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People), "Idempotency-Key", "k"), http.StatusAccepted)
		ids = append(ids, u.ID)
	}
	require.Equal(t, []uuid.UUID{ids[0], ids[0], ids[0]}, ids)
	require.Contains(t, apitest.Refused(t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People+"x"), "Idempotency-Key", "k"), 409).Detail,
		"another file")
	for _, other := range [][]string{
		{"", "dry_run", "true"}, {"", "hold", "true"}, {"", "known", "skip"}, {"", "tag", "x"}, {"&dry_run=true"},
		{"", "options", `{"mapping":{"Nom":"-"}}`},
	} {
		r := d.Upload(t, other[0], apitest.FormOf("a.csv", apitest.People, other[1:]...), "Idempotency-Key", "k")
		require.Contains(t, apitest.Refused(t, r, 409).Detail, "with other parameters", other)
	}
	require.Len(t, files(t, folder), 1)

	// A dry run is not taken for the import after it, and the tenant's region is none of the parameters.
	dry := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People, "dry_run", "true"), "Idempotency-Key", "dry"), 202)
	require.Contains(t, apitest.Refused(t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People), "Idempotency-Key", "dry"), 409).Detail,
		"with other parameters")
	_, err := d.Tenants.Change(t.Context(), "acme", "test", apitest.Now, func(t *db.Tenant) { t.Region = "FR" })
	require.NoError(t, err)
	again := apitest.Read[apioutreach.Upload](t, d.Upload(t, "&dry_run=true", apitest.FormOf("a.csv", apitest.People), "Idempotency-Key", "dry"), 202)
	require.Equal(t, dry.ID, again.ID)
	require.Equal(t, "CA", again.Options.Region)
	for _, path := range files(t, folder)[1:] {
		require.NoError(t, os.Remove(path))
	}

	// Two at once are one, too: the second file is deleted.
	apitest.Tenant(t, d.Pool, "rival")
	slow, ready := newSlowForm(), make(chan apitest.Reply)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Address+"/uploads?tenant=acme", slow)
		if err == nil {
			r.Header.Set("Content-Type", apitest.FormType)
			r.Header.Set("Idempotency-Key", "slow")
			r.ContentLength = int64(len(apitest.FormOf("a.csv", apitest.People)))
			var answer *http.Response
			if answer, err = http.DefaultClient.Do(r); err == nil {
				body, _ := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				ready <- apitest.Reply{Status: answer.StatusCode, Header: answer.Header, Body: string(body)}
				return
			}
		}
		ready <- apitest.Reply{Body: err.Error()}
	}()
	slow.write(t, apitest.FormOf("a.csv", apitest.People)[:150])
	require.Eventually(t, func() bool { return len(files(t, folder)) == 2 }, servicetest.Patience(), 5*time.Millisecond)
	first := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People), "Idempotency-Key", "slow"), http.StatusAccepted)
	slow.write(t, apitest.FormOf("a.csv", apitest.People)[150:])
	slow.close()
	require.Equal(t, first.ID, apitest.Read[apioutreach.Upload](t, <-ready, http.StatusAccepted).ID)
	require.Len(t, files(t, folder), 2, "one a key")
}

// slowForm is a body that the test writes piece by piece.
type slowForm struct {
	*io.PipeReader
	w *io.PipeWriter
}

func newSlowForm() *slowForm {
	r, w := io.Pipe()
	return &slowForm{r, w}
}

func (s *slowForm) write(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(s.w, text)
	require.NoError(t, err)
}

func (s *slowForm) close() { _ = s.w.Close() }

// A connection that breaks leaves nothing.
func TestUploadBroken(t *testing.T) {
	t.Parallel()
	d, folder := apitest.Outreach(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.Address, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "POST /uploads?tenant=acme HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"+
		"Content-Length: 100000\r\n\r\n%s", apitest.FormType, apitest.FormOf("a.csv", apitest.People)[:150])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(files(t, folder)) == 1 }, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { return len(files(t, folder)) == 0 }, servicetest.Patience(), 5*time.Millisecond)
	require.Empty(t, apitest.Read[apioutreach.UploadPage](t, d.Get(t, "/uploads?tenant=acme"), 200).Items)
}

// A large file is not held in memory, and not in the folder of temporary files.
func TestUploadStreams(t *testing.T) {
	d, folder := apitest.Outreach(t)
	const size = 256 << 20
	head, tail, _ := strings.Cut(apitest.FormOf("a.csv", "FILE"), "FILE")
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader(tail))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Address+"/uploads?tenant=acme&hold=true", body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", apitest.FormType)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	defer answer.Body.Close()
	doc, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	u := apitest.Read[apioutreach.Upload](t, apitest.Reply{Status: answer.StatusCode, Header: answer.Header, Body: string(doc)}, http.StatusAccepted)
	require.Equal(t, int64(size), u.Bytes)
	require.Equal(t, "a6d72ac7690f53be6ae46ba88506bd97302a093f7108472bd9efc3cefda06484", u.SHA256)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	require.Len(t, files(t, folder), 1)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Too much that waits refuses uploads before their body is read, until the low water; what is not an upload goes on.
func TestUploadBackpressure(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	d, folder := apitest.Outreach(t, func(p *apitest.Parts) {
		p.Uploads.Limits = apioutreach.UploadLimits{Bytes: 1 << 20, Share: 10, All: 16, Low: 50}
		p.Registerer = registry
	})
	apitest.Tenant(t, d.Pool, "rival")
	store := dboutreach.NewUploads(d.Pool)
	waiting := func(tenant string, chunks int) dboutreach.Upload {
		u, err := store.Create(t.Context(), dboutreach.Upload{
			ID: uuid.New(), Tenant: tenant, FileName: "a", Blob: "uploads/x", SHA256: []byte{1}, CreatedBy: "test", CreatedAt: apitest.Now,
		})
		require.NoError(t, err)
		require.NoError(t, store.Planned(t.Context(), tenant, u.ID, []byte(`{}`), "", apitest.Now))
		var all []contact.Chunk
		for n := range chunks {
			all = append(all, contact.Chunk{N: n, Rows: 1000})
		}
		require.NoError(t, store.AddChunks(t.Context(), tenant, u.ID, all, apitest.Now))
		return u
	}
	end := func(u dboutreach.Upload) {
		_, err := store.Cancel(t.Context(), u.Tenant, u.ID, "test", apitest.Now)
		require.NoError(t, err)
	}
	try := func(tenant string) (int, apitest.Reply) {
		body := newSlowForm() // nothing comes: an answer means that nothing is read
		defer body.close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Address+"/uploads?tenant="+tenant, body)
		require.NoError(t, err)
		r.Header.Set("Content-Type", apitest.FormType)
		go func() { _, _ = io.WriteString(body.w, apitest.FormOf("a.csv", apitest.People)); body.close() }()
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		doc, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, apitest.Reply{Status: answer.StatusCode, Header: answer.Header, Body: string(doc)}
	}
	accepts := func(tenant string) {
		t.Helper()
		status, r := try(tenant)
		require.Equal(t, http.StatusAccepted, status, r.Body)
		end(dboutreach.Upload{Tenant: tenant, ID: apitest.Read[apioutreach.Upload](t, r, 202).ID})
	}
	refuses := func(tenant, says string) {
		t.Helper()
		status, r := try(tenant)
		require.Equal(t, http.StatusTooManyRequests, status, r.Body)
		require.Equal(t, "60", r.Header.Get("Retry-After"), "nothing is stored: a minute")
		require.Contains(t, r.Body, says)
	}
	accepts("acme")
	a, b := waiting("acme", 6), waiting("acme", 4)
	refuses("acme", "10 chunks of 1,000 rows of the tenant acme wait")
	accepts("rival")
	end(b)
	refuses("acme", "6 chunks") // not yet at the low water
	c := waiting("rival", 9)
	end(a)
	accepts("acme")
	e := waiting("acme", 8)
	refuses("acme", "too many chunks of 1,000 rows of all tenants wait")
	refuses("rival", "too many chunks of 1,000 rows of all tenants wait")
	require.Equal(t, 200, d.Get(t, "/health").Status)
	apitest.Read[apioutreach.UploadPage](t, d.Get(t, "/uploads?tenant=acme"), 200)
	end(c)
	end(e)
	accepts("acme")
	accepts("rival")

	// A file that nothing has looked at is a backlog, too.
	old, err := store.Create(t.Context(), dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "a", Blob: "uploads/x", SHA256: []byte{1}, CreatedBy: "test",
		CreatedAt: apitest.Now.Add(-31 * time.Minute), Bytes: 1,
	})
	require.NoError(t, err)
	refuses("acme", "has waited for 31m0s")
	accepts("rival")
	end(old)

	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP conveyor_uploads_refused_total Files of contacts that were refused before they were read, by reason.
# TYPE conveyor_uploads_refused_total counter
conveyor_uploads_refused_total{reason="backlog"} 2
conveyor_uploads_refused_total{reason="concurrent"} 0
conveyor_uploads_refused_total{reason="disk"} 0
conveyor_uploads_refused_total{reason="tenant_age"} 1
conveyor_uploads_refused_total{reason="tenant_backlog"} 2
conveyor_uploads_refused_total{reason="tenant_bytes"} 0
conveyor_uploads_refused_total{reason="too_large"} 0
`), "conveyor_uploads_refused_total"))
	require.Len(t, files(t, folder), 6, "one an upload that was accepted")
}

// What is on its way into the backlog is a part of it: files that are being received, and held ones that are started.
func TestUploadsComing(t *testing.T) {
	t.Parallel()
	d, folder := apitest.Outreach(t, func(p *apitest.Parts) {
		p.Uploads.Limits = apioutreach.UploadLimits{Bytes: 4 << 20, Share: 10, All: 35, Low: 50}
	})
	apitest.Tenant(t, d.Pool, "rival")
	apitest.Tenant(t, d.Pool, "third")
	small := apitest.FormOf("a.csv", apitest.People)
	try := func(tenant string) apitest.Reply {
		return d.Ask(t, http.MethodPost, "/uploads?tenant="+tenant+"&hold=true", small, "Content-Type", apitest.FormType)
	}
	// comes is a file of which only the beginning is received until it is cut off.
	comes := func(tenant string, length int64) (end func()) {
		before := len(files(t, folder))
		body := newSlowForm()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Address+"/uploads?tenant="+tenant, body)
		require.NoError(t, err)
		r.Header.Set("Content-Type", apitest.FormType)
		r.ContentLength = length
		go func() {
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_ = answer.Body.Close()
			}
		}()
		body.write(t, small[:150])
		require.Eventually(t, func() bool { return len(files(t, folder)) == before+1 }, servicetest.Patience(), 5*time.Millisecond)
		return func() {
			rest := len(files(t, folder)) - 1
			_ = body.w.CloseWithError(io.ErrUnexpectedEOF)
			require.Eventually(t, func() bool { return len(files(t, folder)) == rest }, servicetest.Patience(), 5*time.Millisecond)
		}
	}
	accepts := func(tenant string) apioutreach.Upload {
		t.Helper()
		var r apitest.Reply
		require.Eventually(t, func() bool { // a file is deleted before it is no longer counted
			r = try(tenant)
			return r.Status == http.StatusAccepted
		}, servicetest.Patience(), 5*time.Millisecond)
		return apitest.Read[apioutreach.Upload](t, r, http.StatusAccepted)
	}
	refuses := func(tenant, says string) {
		t.Helper()
		require.Contains(t, apitest.Refused(t, try(tenant), http.StatusTooManyRequests).Detail, says)
	}
	end := comes("acme", 1_900_000)
	refuses("acme", "20 chunks of 1,000 rows of the tenant acme wait")
	held := accepts("rival")
	endOther := comes("rival", 1_900_000)
	refuses("third", "too many chunks of 1,000 rows of all tenants wait")
	endOther()
	end()
	accepts("third")

	end = comes("acme", -1)
	refuses("acme", "42 chunks") // the largest
	accepts("third")
	end()
	accepts("acme")

	// A start is an upload.
	end = comes("rival", 1_900_000)
	start := "/uploads/" + held.ID.String() + "/start?tenant=rival"
	r := d.Ask(t, http.MethodPost, start, "")
	require.Contains(t, apitest.Refused(t, r, http.StatusTooManyRequests).Detail, "20 chunks of 1,000 rows of the tenant rival")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.Equal(t, apioutreach.UploadState("held"), apitest.Read[apioutreach.Upload](t, d.Get(t, "/uploads/"+held.ID.String()+"?tenant=rival"), 200).State)
	end()
	require.Eventually(t, func() bool { return d.Ask(t, http.MethodPost, start, "").Status == 202 }, servicetest.Patience(), 5*time.Millisecond)
}

// A person uploads, looks, corrects and starts.
func TestUploadHeld(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	file := "Name;Ref\n514 555-0123;A1\n+1 514 555 01;B2\n"
	u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "&hold=true", apitest.FormOf("a.csv", file)), http.StatusAccepted)
	require.Equal(t, apioutreach.UploadState("held"), u.State)
	require.Empty(t, d.Started.Calls)
	at := "/uploads/" + u.ID.String()
	p := apitest.Refused(t, d.Get(t, at+"/preview?tenant=acme"), 422)
	require.NotContains(t, p.Detail, "514 555")

	set := func(body string) apitest.Reply { return d.Ask(t, http.MethodPut, at+"/options?tenant=acme", body) }
	apitest.Refused(t, set(`{"mapping":{"Ref":"fone"}}`), 422)
	apitest.Refused(t, set(`{"mapping":{"Tel":"phone"}}`), 422)
	seen := apitest.Read[apioutreach.UploadPreview](t, set(`{"mapping":{"Name":"phone","Ref":"fields.ref"}}`), 200)
	require.Equal(t, ";", seen.Format.Delimiter)
	require.Equal(t, "phone", seen.Columns[0].Field)
	require.Equal(t, "CA", seen.Region)
	require.Len(t, seen.Rows, 2)
	require.Equal(t, "+15145550123", seen.Rows[0].Contact.Phone)
	require.Equal(t, map[string]string{"ref": "A1"}, seen.Rows[0].Contact.Fields)
	require.Equal(t, contact.CodePhone, seen.Rows[1].Problems[0].Code)
	require.Equal(t, []string{"+1 514 555 01", "B2"}, seen.Rows[1].Record)
	require.Equal(t, seen, apitest.Read[apioutreach.UploadPreview](t, d.Get(t, at+"/preview?tenant=acme"), 200))

	for range 2 {
		u = apitest.Read[apioutreach.Upload](t, d.Ask(t, http.MethodPost, at+"/start?tenant=acme", ""), http.StatusAccepted)
		require.Equal(t, apioutreach.UploadState("received"), u.State)
	}
	require.Len(t, d.Started.Calls, 2)
	apitest.Refused(t, set(`{}`), http.StatusConflict)
	u = apitest.Read[apioutreach.Upload](t, d.Ask(t, http.MethodPost, at+"/cancel?tenant=acme", ""), 200)
	require.Equal(t, apioutreach.UploadState("canceled"), u.State)
	require.Equal(t, "canceled by anonymous", u.Error)
	apitest.Refused(t, d.Ask(t, http.MethodPost, at+"/start?tenant=acme", ""), http.StatusConflict)
	done := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("b.csv", apitest.People)), http.StatusAccepted)
	imported(t, d, done)
	done = apitest.Read[apioutreach.Upload](t, d.Ask(t, http.MethodPost, "/uploads/"+done.ID.String()+"/start?tenant=acme", ""), 202)
	require.Equal(t, apioutreach.UploadState("done"), done.State, "it was started before")
	require.Equal(t, "cancel import "+u.ID.String(), d.Started.Calls[2])
	require.NoError(t, d.Uploads.Blobs.DeleteUpload(t.Context(), uploadBlob(t, d, u.ID)))
	require.Contains(t, apitest.Refused(t, d.Get(t, at+"/preview?tenant=acme"), 409).Detail, "no longer kept")
}

func uploadBlob(t *testing.T, d *apitest.Door, id uuid.UUID) string {
	t.Helper()
	u, err := d.Uploads.Store.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	return u.Blob
}

// imported reads a file as an import does, and stores it as the workflow would: all in one chunk.
func imported(t *testing.T, d *apitest.Door, u apioutreach.Upload) apioutreach.Upload {
	t.Helper()

	ctx, store := t.Context(), d.Uploads.Store
	row, err := store.Get(ctx, "acme", u.ID)
	require.NoError(t, err)
	file := d.Uploads.Blobs.ReaderAt(ctx, row.Blob, row.Bytes)
	var options contact.Options
	require.NoError(t, json.Unmarshal(row.Options, &options))
	plan, err := contact.Sniff(file, row.Bytes, options)
	require.NoError(t, err)
	rows, err := plan.Preview(file, row.Bytes, 1000)
	require.NoError(t, err)
	doc, err := json.Marshal(plan)
	require.NoError(t, err)
	require.NoError(t, store.Planned(ctx, "acme", u.ID, doc, "", apitest.Now))
	require.NoError(t, store.AddChunks(ctx, "acme", u.ID, []contact.Chunk{{Rows: len(rows), Length: row.Bytes, FirstRow: 1}}, apitest.Now))
	require.NoError(t, store.Split(ctx, "acme", u.ID, 1))
	require.NoError(t, persist(ctx, store, u.ID, rows))
	_, err = store.Finish(ctx, "acme", u.ID, apitest.Now)
	require.NoError(t, err)
	return apitest.Read[apioutreach.Upload](t, d.Get(t, "/uploads/"+u.ID.String()+"?tenant=acme"), 200)
}

// The rows that were refused can be mended in their file, and it is imported as it is.
func TestUploadErrorsAreMended(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	file := "Tél.,Nom,Note\n514 555-0123,Zoé,ok\n514 555-01,Max,=1+1\n514 555-0124,Léa,\"a,\nb\"\n12,Ali,-x\n514-555-0123,Zoé,twice\n"
	u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("a.csv", file)), http.StatusAccepted)
	at := "/uploads/" + u.ID.String() + "/errors.csv?tenant=acme"
	require.Contains(t, apitest.Refused(t, d.Get(t, at), 409).Detail, "no row of upload")
	u = imported(t, d, u)
	require.Equal(t, apioutreach.UploadRows{Read: 5, Valid: 2, Invalid: 2, Duplicate: 1, New: 2}, u.Rows)
	r := d.Get(t, at, "Accept-Encoding", "identity")
	require.Equal(t, 200, r.Status)
	require.Equal(t, "text/csv; charset=utf-8; header=present", r.Header.Get("Content-Type"))
	require.Contains(t, r.Header.Get("Content-Disposition"), "upload-"+u.ID.String()+"-errors.csv")
	require.Contains(t, r.Body, "514 555-01,Max,'=1+1,3,")
	mended := strings.NewReplacer("514 555-01,", "514 555-0125,", "\n12,", "\n514 555-0126,").Replace(r.Body)
	again := imported(t, d, apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("errors.csv", mended)), http.StatusAccepted))
	require.Equal(t, apioutreach.UploadRows{Read: 2, Valid: 2, New: 2}, again.Rows)
	found := apitest.Read[apioutreach.ContactPage](t, d.Ask(t, "POST", "/contacts/search?tenant=acme", `{"text":"5550125"}`), 200)
	require.Len(t, found.Items, 1)
	require.Equal(t, map[string]string{"note": "=1+1"}, found.Items[0].Fields)

	// They can be looked at without showing a person's data.
	refusals := "/uploads/" + u.ID.String() + "/refusals"
	require.Equal(t, []apioutreach.UploadRefusal{
		{Row: 2, Line: 3, Problems: []apioutreach.UploadProblem{{Field: "phone", Code: "phone_invalid", Value: "51• •••-01"}}},
		{Row: 4, Line: 6, Problems: []apioutreach.UploadProblem{{Field: "phone", Code: "phone_invalid", Value: "••"}}},
	}, apitest.Read[apioutreach.UploadRefusals](t, d.Get(t, refusals+"?tenant=acme"), 200).Items)
	first := apitest.Read[apioutreach.UploadRefusals](t, d.Get(t, refusals+"?tenant=acme&limit=1&code=phone_invalid"), 200)
	require.Len(t, first.Items, 1)
	rest := apitest.Read[apioutreach.UploadRefusals](t, d.Get(t, fmt.Sprint(refusals, "?tenant=acme&after=", first.Next)), 200)
	require.Len(t, rest.Items, 1)
	require.Zero(t, rest.Next)
	require.Empty(t, apitest.Read[apioutreach.UploadRefusals](t, d.Get(t, refusals+"?tenant=acme&code=email_invalid"), 200).Items)
	for _, code := range []string{"%00", "%ff"} {
		require.Equal(t, []string{"query.code"}, apitest.Refused(t, d.Get(t, refusals+"?tenant=acme&code="+code), 422).Fields())
	}
	require.Equal(t, []apioutreach.UploadReason{{Field: "phone", Code: "phone_invalid", Rows: 2}},
		apitest.Read[apioutreach.UploadReasons](t, d.Get(t, refusals+"/reasons?tenant=acme"), 200).Items)

	// After a while they are no longer kept, which is not the same as none.
	d.System(t, "DELETE FROM upload_errors WHERE upload = $1", u.ID)
	d.System(t, "UPDATE uploads SET blob = '' WHERE id = ANY ($1)", []uuid.UUID{u.ID, again.ID})
	preview := "/uploads/" + u.ID.String() + "/preview?tenant=acme"
	for _, path := range []string{at, preview} {
		require.Contains(t, apitest.Refused(t, d.Get(t, path), 409).Detail, "no longer kept")
	}
	require.Equal(t, 200, d.Get(t, "/uploads/"+again.ID.String()+"/errors.csv?tenant=acme").Status, "it had none")
}

// Files that would be more than the tenant's quota, or than the disk has room for, are refused before they are read.
func TestUploadsWithoutRoom(t *testing.T) {
	t.Parallel()
	free := int64(1 << 40)
	d, folder := apitest.Outreach(t, func(p *apitest.Parts) {
		p.Uploads.Limits.Reserve = 1 << 30
		p.Uploads.Free = func(context.Context) (int64, error) { return free, nil }
	})
	limit := func(n *int64) {
		_, err := d.Tenants.Change(t.Context(), "acme", "test", apitest.Now, func(t *db.Tenant) { t.MaxBytes = n })
		require.NoError(t, err)
	}
	send := func() apitest.Reply { return d.Upload(t, "&hold=true", apitest.FormOf("clients.csv", apitest.People)) }
	size := int64(len(apitest.People))
	limit(new(2*size - 1))
	apitest.Read[apioutreach.Upload](t, send(), http.StatusAccepted)
	for range 2 {
		require.Contains(t, apitest.Refused(t, send(), http.StatusRequestEntityTooLarge).Detail, "max_bytes")
		limit(&size)
	}
	limit(nil)
	free = 1<<30 - 1
	r := send()
	require.Contains(t, apitest.Refused(t, r, http.StatusTooManyRequests).Detail, "disk")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.Len(t, files(t, folder), 1)
	free = 1 << 40
	apitest.Read[apioutreach.Upload](t, send(), http.StatusAccepted)
}

// The events of an upload end with it, with the process, or with the caller.
func TestUploadEvents(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	d, _ := apitest.Outreach(t, func(p *apitest.Parts) { p.Stopping = stopping })
	watch := func(id uuid.UUID) (*bufio.Reader, func()) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Address+"/uploads/"+id.String()+"/events?tenant=acme", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
		require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
		return bufio.NewReader(answer.Body), func() { _ = answer.Body.Close() }
	}
	event := func(r *bufio.Reader) (name string, u apioutreach.Upload) {
		t.Helper()
		for {
			line, err := r.ReadString('\n')
			require.NoError(t, err)
			line = strings.TrimSuffix(line, "\n")
			if text, ok := strings.CutPrefix(line, "event: "); ok {
				name = text
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				require.NoError(t, json.Unmarshal([]byte(text), &u))
			}
			if line == "" && name != "" {
				return name, u
			}
		}
	}
	u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("a.csv", apitest.People)), http.StatusAccepted)
	stream, leave := watch(u.ID)
	defer leave()
	name, got := event(stream)
	require.Equal(t, "progress", name)
	require.Equal(t, apioutreach.UploadState("received"), got.State)
	imported(t, d, u)
	for name != "end" {
		name, got = event(stream)
	}
	require.Equal(t, apioutreach.UploadState("done"), got.State)
	require.Equal(t, int64(2), got.Rows.Read)
	_, err := stream.ReadByte()
	require.ErrorIs(t, err, io.EOF)

	u = apitest.Read[apioutreach.Upload](t, d.Upload(t, "&hold=true", apitest.FormOf("b.csv", apitest.People)), http.StatusAccepted)
	d.HeadEnds(t, "/uploads/"+u.ID.String()+"/events?tenant=acme")
	var leaves []func()
	for range 20 {
		s, leave := watch(u.ID)
		event(s)
		stream, leaves = s, append(leaves, leave)
	}
	full := d.Get(t, "/uploads/"+u.ID.String()+"/events?tenant=acme")
	apitest.Refused(t, full, http.StatusTooManyRequests)
	require.NotEmpty(t, full.Header.Get("Retry-After"))
	leaves[0]()
	require.Eventually(t, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Address+"/uploads/"+u.ID.String()+"/events?tenant=acme", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		return answer.StatusCode == 200
	}, servicetest.Patience(), 20*time.Millisecond)
	close(stopping)
	_, err = io.ReadAll(stream)
	require.NoError(t, err)
	for _, leave := range leaves {
		leave()
	}
}

func persist(ctx context.Context, s *dboutreach.Uploads, id uuid.UUID, rows []contact.Row) error {
	return s.Persist(ctx, "acme", id, []contact.ParsedChunk{{N: 0, Rows: rows}}, apitest.Now)
}

// A file that ends each process which looks into it is refused; one that is only looked into, by any number of processes
// at once, or refused for what is in it, is not counted. Previews and imports do not count for each other.
func TestPreviewCountsDeaths(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "&hold=true", apitest.FormOf("clients.csv", apitest.People)), http.StatusAccepted)
	at, store := "/uploads/"+u.ID.String(), d.Uploads.Store
	preview := func() apitest.Reply { return d.Get(t, at+"/preview?tenant=acme") }
	for range 5 {
		require.Equal(t, 200, preview().Status)
		apitest.Refused(t, d.Ask(t, http.MethodPut, at+"/options?tenant=acme", `{"mapping":{"Nobody":"phone"}}`), 422)
	}
	begin := func(ago time.Duration) int {
		begun, _, err := store.BeginPreview(t.Context(), "acme", u.ID, apitest.Now.Add(-ago), time.Minute)
		require.NoError(t, err)
		return begun
	}
	for n := range 5 {
		reading, err := store.BeginReading(t.Context(), "acme", u.ID)
		require.NoError(t, err)
		require.Equal(t, n+1, reading, "a preview that lives is no import that does")
		require.Equal(t, 200, preview().Status, "an import that died is no preview that did")
	}
	for range 5 {
		require.Equal(t, 1, begin(0), "others are at it")
	}
	require.Equal(t, 200, preview().Status)
	require.Equal(t, 1, begin(time.Hour), "a reader that does not end")
	require.Equal(t, 2, begin(50*time.Minute))
	require.Equal(t, 200, preview().Status, "the third one lives")
	for n := range 3 {
		require.Equal(t, n+1, begin(time.Duration(60-10*n)*time.Minute))
	}
	for range 2 {
		require.Contains(t, apitest.Refused(t, preview(), 422).Detail, "the last 3 workers that read the file ended meanwhile")
	}
	apitest.Refused(t, d.Ask(t, http.MethodPut, at+"/options?tenant=acme", "{}"), 422)
	require.NoError(t, store.EndPreview(t.Context(), "acme", u.ID))
	require.Equal(t, 200, preview().Status)
	for _, tt := range []struct {
		ago    time.Duration
		most   int // that may have begun and not ended
		status int // of a preview after one more
		text   string
	}{
		{36 * time.Second, 2, 422, "the last 3 workers that read the file ended meanwhile"},
		{30 * time.Second, 7, 409, "8 previews of the file have begun and not ended"},
	} {
		for range tt.most {
			begin(tt.ago)
		}
		require.Equal(t, 200, preview().Status)
		for range tt.most + 1 {
			begin(tt.ago)
		}
		require.Contains(t, apitest.Refused(t, preview(), tt.status).Detail, tt.text)
		require.NoError(t, store.EndPreview(t.Context(), "acme", u.ID))
	}
	require.Equal(t, 200, preview().Status)
}
