package e2e

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// Where the disk of Postgres has less left than the reserve, uploads are refused by name, a crawl that keeps bodies waits,
// and /ready and the metrics say so. With room all of it goes on.
func TestDiskOfPostgresIsFull(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(rw, r)
			return
		}
		_, _ = io.WriteString(rw, "<title>A page</title>")
	}))
	t.Cleanup(site.Close)
	const reserve = 1 << 20
	w := newWorld(t, fmt.Sprintf("CONVEYOR_UPLOAD_RESERVE=%d", reserve), "RETRY_BASE_DELAY_MS=100",
		"CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(site.URL, "http://"))
	require.NoError(t, db.NewTenants(w.db).Create(t.Context(), db.Tenant{
		ID: "acme", Name: "Acme", Tier: "standard", Region: "CA", CreatedAt: time.Now(),
	}, "me"))
	start := func(disk int64) (api, crawler *process) {
		size := fmt.Sprintf("CONVEYOR_DB_DISK_BYTES=%d", disk)
		api, crawler = w.start("api", size), w.start("worker", size, "CONVEYOR_TASK_QUEUES=crawl")
		w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
		return api, crawler
	}
	text := func(path string) string {
		resp, err := http.Get(w.api + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(body)
	}

	api, crawler := start(1)
	code, answer := w.offer()
	require.Equal(t, http.StatusTooManyRequests, code, answer)
	require.Contains(t, answer, "little disk space is free")
	w.eventually("/ready says so", func() bool { return strings.Contains(text("/ready"), `"files":"stuck"`) })
	metrics := text("/metrics")
	for _, line := range []string{
		"conveyor_db_free_bytes -", "conveyor_files_free_bytes -", fmt.Sprintf("conveyor_files_reserve_bytes %v\n", float64(reserve)),
		"conveyor_uploads_refused_total{reason=\"disk\"} 1\n",
	} {
		require.True(t, strings.Contains(metrics, "\n"+line), line)
	}
	run := w.crawl(site.URL+"/", map[string]any{"storeBodies": true})
	w.eventually("a body waits", func() bool { return strings.Contains(crawler.log.tail(1<<20), "waits for room") })
	require.Equal(t, crawl.Running, one[string](w, "SELECT status FROM crawl_runs WHERE id = $1", run))
	require.Zero(t, one[int](w, "SELECT count(*) FROM crawl_urls WHERE body_key <> ''"))

	api.kill()
	crawler.kill()
	start(1 << 50)
	w.eventually("/ready says so", func() bool { return strings.Contains(text("/ready"), `"files":"ok"`) })
	require.True(t, strings.Contains(text("/metrics"), "\nconveyor_db_free_bytes 1.12"), "a petabyte is free")
	code, answer = w.offer()
	require.Less(t, code, 300, answer)
	w.completed(run)
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM crawl_urls WHERE body_key <> ''"))
}

// offer sends a file with one contact.
func (w *world) offer() (code int, answer string) {
	w.t.Helper()

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "people.csv")
	require.NoError(w.t, err)
	_, err = io.WriteString(file, "phone,name\n+15145550123,Zoe\n")
	require.NoError(w.t, err)
	require.NoError(w.t, form.Close())
	resp, err := http.Post(w.api+"/uploads?tenant=acme", form.FormDataContentType(), &body)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp.StatusCode, string(said)
}
