package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/hostilefile"
)

// The memory of the containers in docker-compose.yml, in MiB, and the part of it that the runtime is told of.
const (
	apiMemory, apiSoft           = 512, "GOMEMLIMIT=460MiB"
	importerMemory, importerSoft = 1024, "GOMEMLIMIT=512MiB"
	crawlerMemory, crawlerSoft   = 1536, "GOMEMLIMIT=768MiB"
)

// sentMost is how much is sent of a file that never ends.
const sentMost = 64 << 20

// A file that is made to hurt its reader, uploaded, previewed and imported, or crawled, leaves API, importer and crawler
// within the memory of their containers, and none of them ends. It prints a line for each: MiB at the most while it was
// read, of what was there before as well.
func TestHostileFilesByTheirProcesses(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	sites, hosts := map[string]*hostileSite{}, []string{} // a host for each file, for its robots.txt is kept
	for _, c := range hostilefile.Files {
		if at := crawledAt[c.Kind()]; at != "" {
			s := &hostileSite{at: at}
			s.server = httptest.NewServer(s)
			t.Cleanup(s.server.Close)
			sites[c.Name] = s
			hosts = append(hosts, strings.TrimPrefix(s.server.URL, "http://"))
		}
	}
	w := newWorld(t, "CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.Join(hosts, ","),
		"FETCH_MIN_GAP_PER_HOST_MS=0", "FETCH_GAP_JITTER_MS=0", "RETRY_BASE_DELAY_MS=100")
	api := w.start("api", apiSoft)
	importer := w.start("worker", importQueues, importerSoft)
	crawler := w.start("worker", "CONVEYOR_TASK_QUEUES=crawl", crawlerSoft)
	w.imports(importer)
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })

	for _, c := range hostilefile.Files {
		extension, site := uploadedAs[c.Kind()], sites[c.Name]
		switch {
		case c.Name == "zip: files that it tells": // a gigabyte, and its end is what hurts
		case extension != "":
			f := c.Make()
			f.Size = min(f.Size, sentMost)
			forget(api, importer)
			became := w.importHostile(strings.ReplaceAll(c.Name, ": ", ".")+extension, f)
			within(t, c.Name, f.Size, became, limit{api, apiMemory}, limit{importer, importerMemory})
		case site != nil:
			site.data = c.Make().Bytes()
			forget(crawler)
			became := w.crawlHostile(site)
			within(t, c.Name, int64(len(site.data)), became, limit{crawler, crawlerMemory})
			site.data = nil
		}
	}
}

// What a file is uploaded as, and where a site has it, by its kind. Dumps are read by a command, and answers of a model
// are cut before they are read.
var (
	uploadedAs = map[string]string{
		"workbook": ".xlsx", "zip": ".zip", "cards": ".vcf", "gzip": ".csv.gz", "text": ".csv",
	}
	crawledAt = map[string]string{
		"sitemap": "/sitemap.xml", "feed": "/sitemap.xml", "robots": "/robots.txt", "HTML": "/page.html",
		"XHTML": "/page.xhtml",
	}
)

// importHostile uploads a file, asks for its preview, and returns what became of its import.
func (w *world) importHostile(name string, f hostilefile.File) string {
	w.t.Helper()

	var head, tail bytes.Buffer
	form := multipart.NewWriter(&head)
	_, err := form.CreateFormFile("file", name)
	require.NoError(w.t, err)
	end := multipart.NewWriter(&tail)
	require.NoError(w.t, end.SetBoundary(form.Boundary()))
	require.NoError(w.t, end.Close())
	body := io.MultiReader(&head, io.NewSectionReader(f, 0, f.Size), &tail)
	resp, err := http.Post(w.api+"/uploads?tenant=acme&dry_run=true", form.FormDataContentType(), body)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	var u struct {
		ID    uuid.UUID
		State string
	}
	require.Less(w.t, resp.StatusCode, 300, "it is stored as it comes: %s", answer)
	require.NoError(w.t, json.Unmarshal(answer, &u))
	previewed := w.get(fmt.Sprintf("/uploads/%s/preview?tenant=acme", u.ID), nil)
	require.NotZero(w.t, previewed)
	require.Less(w.t, previewed, 500)
	w.eventually("the import of "+name+" ends", func() bool {
		code := w.get(fmt.Sprintf("/uploads/%s?tenant=acme", u.ID), &u)
		return code == http.StatusOK && (u.State == "done" || u.State == "failed")
	})
	return fmt.Sprintf("preview %d, %s", previewed, u.State)
}

// crawlHostile crawls a site, and returns what became of the run.
func (w *world) crawlHostile(site *hostileSite) string {
	w.t.Helper()

	run := w.crawl(site.server.URL+"/", map[string]any{
		"useSitemaps": site.at == "/sitemap.xml", "maxPages": 50, "respectRobots": true, "maxRetries": 0,
	})
	w.eventually(fmt.Sprintf("run %d is over", run), func() bool {
		return one[string](w, "SELECT status FROM crawl_runs WHERE id = $1", run) == crawl.Completed
	})
	require.Positive(w.t, site.asked.Load(), "it was not read")
	return fmt.Sprintf("%d URLs visited", one[int](w, "SELECT visited FROM crawl_runs WHERE id = $1", run))
}

// A hostileSite has a home page with links to its pages, and one file that hurts.
type hostileSite struct {
	server *httptest.Server
	at     string // path of the file
	data   []byte
	asked  atomic.Int64
}

func (s *hostileSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case s.at:
		s.asked.Add(1)
		kinds := map[string]string{".html": "text/html", ".xhtml": "application/xhtml+xml", ".xml": "application/xml"}
		w.Header().Set("Content-Type", cmp.Or(kinds[path.Ext(s.at)], "text/plain"))
		if bytes.HasPrefix(s.data, []byte("\x1f\x8b")) {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(s.data)
	case "/":
		_, _ = io.WriteString(w, "<a href="+s.at+">a</a>")
	default:
		http.NotFound(w, r)
	}
}

// forget has the kernel begin anew with the most memory of processes. Without the right to it, that is the most since
// they have started.
func forget(all ...*process) {
	for _, p := range all {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0)
	}
}

// A limit is how many MiB a process may have.
type limit struct {
	*process
	most int
}

// within requires that processes have been within their limits since forget, and live.
func within(t *testing.T, name string, size int64, became string, all ...limit) {
	t.Helper()

	line := fmt.Sprintf("| %s | %d KB |", name, (size+1023)>>10)
	for _, p := range all {
		select {
		case <-p.end:
			require.FailNow(t, "it ended its process", "%s: %s: %s", name, p.role, p.log.tail(3000))
		default:
		}
		peak := p.peak(t)
		line += fmt.Sprintf(" %d |", peak)
		require.Less(t, peak, p.most, "MiB of %s by %s", p.role, name)
	}
	t.Logf("%s %s |", line, became)
}

// peak is the most memory that a process had, in MiB.
func (p *process) peak(t *testing.T) (mib int) {
	t.Helper()

	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(text), "VmHWM:")
	require.True(t, ok, "%s", text)
	_, err = fmt.Sscan(after, &mib)
	require.NoError(t, err)
	return mib >> 10
}
