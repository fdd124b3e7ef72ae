package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	crawling "github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

const (
	diskReserve = 16 << 20 // below which uploads are refused, and what can wait does
	diskLeft    = 10 << 20 // for rows of imports, which have half of the reserve
	diskRows    = 20_000   // of each file of contacts
	diskPages   = 30       // of the crawled site, which it answers before the disk is full
)

// While little room is left where files are stored, uploads are refused by name, pictures and a crawl that keeps bodies
// wait, and ask nobody for more than they did before; /ready and the metrics say so. When none is left an import waits,
// too, and a draft becomes a dead letter, as its contract says. After room was made all goes on by itself, but for
// drafts: nothing is lost, nothing is there twice, and no half of a file is left.
func TestADiskThatIsFullIsWaitedOut(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: *seed, Pages: 150, Chain: 5, Delay: 20 * time.Millisecond})
	pages := crawlsite.New(g)
	full := make(chan struct{})
	site, shop := httptest.NewServer(heldBack(pages, diskPages, full)), newShop(t)
	t.Cleanup(site.Close)
	w := newWorldBeside(t, release{binary: binary}, []*httptest.Server{site, shop}, []string{devstack.Chromium},
		fmt.Sprintf("CONVEYOR_UPLOAD_RESERVE=%d", diskReserve))
	if !w.disk.real {
		const why = "no file system could be mounted: this needs the rights of root"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	d := &rig{world: w, got: map[uuid.UUID]personFile{}}
	var err error
	d.imports, err = newImports(w)
	require.NoError(t, err)
	w.say("seed %d: all begins, with room", *seed)
	w.flow.feed(40)
	first, second := newPersonFile(diskRows, "Montréal"), newPersonFile(diskRows, "Laval")
	d.mustUpload(first, "")
	held := d.mustUpload(second, "?hold=true")
	d.draft(shop.URL)
	slow, slowAnswer := d.slowUpload(second)
	d.come("a file is being received", func() bool {
		begun, err := filepath.Glob(filepath.Join(w.disk.path, "uploads", "*", "file.*.tmp"))
		return err == nil && len(begun) > 0
	})

	settings := crawling.Defaults
	settings.MaxDepth, settings.MaxPages, settings.StoreBodies = 1000, 10_000, true
	want := g.Expected(site.URL, settings)
	run, err := w.startCrawl(site.URL+"/", settings)
	require.NoError(t, err)
	d.come("the crawl keeps pages", func() bool { return d.count(sqlBodies, []int64{run}) > 0 })

	w.say("little room is left")
	require.NoError(t, w.disk.leave(diskLeft))
	d.come("uploads are refused", func() bool {
		code, answer := d.upload(first, "")
		return code == http.StatusTooManyRequests && strings.Contains(answer, "little disk space is free")
	})
	d.come("/ready says so", func() bool {
		code, answer, err := get(w.ctx, w.vars["CONVEYOR_API_URL"]+"/ready", servicetest.Patience())
		return err == nil && code == http.StatusServiceUnavailable && strings.Contains(answer, `"files":"stuck"`)
	})
	d.come("so do the metrics that ConveyorFilesFull compares", func() bool {
		free, reserve := d.metric("conveyor_files_free_bytes"), d.metric("conveyor_files_reserve_bytes")
		return free < reserve && reserve == diskReserve && d.metric(`conveyor_uploads_refused_total{reason="disk"}`) > 0
	})
	probe := w.flow.probe()
	d.come("a picture waits", func() bool { return d.waits("listing/kijiji/" + probe.advert) })
	close(full)
	d.come("so does a page of the crawl", func() bool {
		return slices.ContainsFunc(d.lines("crawl: our own storage failed"), func(line string) bool {
			return strings.Contains(line, "waits for room")
		})
	})
	w.say("no room is left")
	require.NoError(t, w.disk.fill(w.ctx, nil))
	// An import that is done with something makes room, with which a draft would be made.
	filling, room := context.WithCancel(w.ctx)
	var filler sync.WaitGroup
	makeRoom := func() { room(); filler.Wait() }
	defer makeRoom()
	filler.Go(func() {
		for tick := time.Tick(5 * time.Millisecond); filling.Err() == nil; <-tick {
			_ = w.disk.fill(filling, nil)
		}
	})
	d.come("the held file is started", func() bool {
		code, _, err := w.ask(w.ctx, http.DefaultClient, importTenant, "POST", fmt.Sprintf("/uploads/%s/start", held), nil)
		return err == nil && code == http.StatusAccepted
	})
	d.draft(shop.URL)
	close(slow)
	d.come("its rows wait", func() bool { return d.waits(contact.ImportWorkflowID(held)) })
	d.come("a draft is a dead letter", func() bool { return d.count(sqlCrawlLetters, crawls) > 0 })
	var answer string
	select {
	case answer = <-slowAnswer:
	case <-w.ctx.Done():
	}
	w.say("the file that was being received: %s", answer)
	state := w.crawlState(run)

	w.say("room is made")
	makeRoom()
	require.NoError(t, w.disk.free(w.ctx))
	d.come("/ready says so", func() bool {
		code, _, err := get(w.ctx, w.vars["CONVEYOR_API_URL"]+"/ready", servicetest.Patience())
		return err == nil && code == http.StatusOK
	})
	d.mustUpload(second, "")
	d.come("every draft is made", d.drafted)

	l := &Ledger{Seed: *seed, Wrong: []string{}}
	w.rest(l)
	l.flowed(w)
	if err := d.imports.balance(l, d.got, second); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.requests(w, d.drafts)
	hits := pages.Hits()
	// Those in hand when it filled up, of two workers, and one now and then.
	l.within("pages that were asked for and not kept", d.unkept(hits), 1, 2*(unkeptInHand+unkeptTries))
	d.crawled(l, site.URL, []int64{run}, want, hits)
	if state != crawling.Running {
		l.Wrong = append(l.Wrong, "while no page could be kept, the crawl was "+state)
	}
	if strings.HasPrefix(answer, "2") { // a sender that does not listen while it sends sees its connection end
		l.Wrong = append(l.Wrong, "the file that was being received was answered "+answer)
	}
	d.remains(l)
	l.processes(w)
	l.close(w)
}

const (
	sqlBodies       = `SELECT count(*) FROM crawl_urls WHERE run_id = ANY ($1) AND body_key <> ''`
	sqlCrawlLetters = `SELECT count(*) FROM dead_letters WHERE queue = $1`
)

// heldBack answers so many requests of a site, and the rest of them once more is closed.
func heldBack(site http.Handler, first int64, more chan struct{}) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > first {
			select {
			case <-more:
			case <-r.Context().Done():
				return
			}
		}
		site.ServeHTTP(w, r)
	})
}

// A rig is a world in which several systems work at once, and what they were given to do.
type rig struct {
	*world
	imports *imports
	got     map[uuid.UUID]personFile // by upload
	drafts  []crawl
}

// come waits for something that is to come about.
func (d *rig) come(what string, is func() bool) {
	d.t.Helper()
	require.NoError(d.t, eventually(d.ctx, servicetest.Patience(), is), what)
	d.say("%s", what)
}

func (d *rig) count(sql string, args ...any) (n int) {
	_ = d.db.QueryRow(d.ctx, sql, args...).Scan(&n)
	return n
}

// upload sends a file.
func (d *rig) upload(f personFile, query string) (code int, answer string) {
	ctx, cancel := context.WithTimeout(d.ctx, servicetest.Patience())
	defer cancel()
	code, body, err := d.ask(ctx, http.DefaultClient, importTenant, "POST", "/uploads"+query,
		fileForm("people.csv", []byte(f.text)))
	if err != nil {
		return 0, err.Error()
	}
	return code, string(body)
}

// mustUpload has a file taken.
func (d *rig) mustUpload(f personFile, query string) uuid.UUID {
	d.t.Helper()
	var u struct{ ID uuid.UUID }
	code, answer := d.upload(f, query)
	require.Contains(d.t, []int{http.StatusCreated, http.StatusAccepted}, code, answer)
	require.NoError(d.t, json.Unmarshal([]byte(answer), &u), answer)
	d.got[u.ID] = f
	return u.ID
}

// slowUpload begins to send a file, and sends more than the disk has after rest is closed. What it is answered comes
// at the end.
func (d *rig) slowUpload(f personFile) (rest chan struct{}, answer chan string) {
	rest, answer = make(chan struct{}), make(chan string, 1)
	in, out := io.Pipe()
	form := multipart.NewWriter(out)
	go func() { // ends with the request
		part, err := form.CreateFormFile("file", "slow.csv")
		if err == nil {
			_, err = io.WriteString(part, f.text)
		}
		select {
		case <-rest:
		case <-d.ctx.Done():
		}
		for n := 0; n < 64<<20 && err == nil; n += len(f.text) {
			_, err = io.WriteString(part, f.text)
		}
		_ = out.CloseWithError(errors.Join(err, form.Close()))
	}()
	go func() {
		to := d.vars["CONVEYOR_API_URL"] + "/uploads?tenant=" + importTenant
		req, err := http.NewRequestWithContext(d.ctx, http.MethodPost, to, in)
		if err != nil {
			answer <- err.Error()
			return
		}
		req.Header.Set("Content-Type", form.FormDataContentType())
		resp, err := http.DefaultClient.Do(req)
		_ = in.Close()
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answer <- resp.Status + ": " + string(text)
	}()
	return rest, answer
}

// draft asks for two drafts.
func (d *rig) draft(shop string) {
	d.t.Helper()
	for range 2 {
		n := len(d.drafts)
		c := crawl{uuid.New(), fmt.Sprintf("/product/%d", n), fmt.Sprintf("Kettle %d", n)}
		require.NoError(d.t, d.askForDraft(c.event, shop+c.path))
		d.drafts = append(d.drafts, c)
	}
}

// drafted says whether every draft that was asked for is made. Those that could not be are asked for again.
func (d *rig) drafted() bool {
	if d.count("SELECT count(*) FROM product_drafts") == len(d.drafts) {
		return true
	}
	_ = d.send("POST", "/dead-letters/replay", `{"queue":"`+crawls+`","dry_run":false}`, nil)
	return false
}

// metric is a number of the API's metrics; -1 while it has none.
func (d *rig) metric(name string) float64 {
	_, text, err := get(d.ctx, d.vars["CONVEYOR_API_URL"]+"/metrics", servicetest.Patience())
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, name+" ")
		if !ok || err != nil {
			continue
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return n
		}
	}
	return -1
}

// lines are those of the workers' logs that contain something.
func (d *rig) lines(part string) (list []string) {
	for _, r := range d.of("worker") {
		text, _ := os.ReadFile(filepath.Join(d.dir, "log", r.name+".log"))
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, part) {
				list = append(list, line)
			}
		}
	}
	return list
}

// unkept takes the requests for pages that could not be kept, as the workers say, out of those to a site, and counts
// them: such a page is asked for once more.
func (d *rig) unkept(hits map[string]int) (n int) {
	addresses, _ := table[struct {
		ID  int64
		URL string
	}](d.world, "SELECT id, normalized_url FROM crawl_urls")
	byID := map[int64]string{}
	for _, a := range addresses {
		byID[a.ID] = a.URL
	}
	for _, line := range d.lines("crawl: our own storage failed") {
		var said struct {
			ID int64 `json:"url_id"`
		}
		if json.Unmarshal([]byte(line), &said) == nil {
			hits[byID[said.ID]]--
			n++
		}
	}
	return n
}

// crawled compares what runs of a site have found with what is there, and kept with what they should.
func (d *rig) crawled(l *Ledger, origin string, runs []int64, want map[string]crawlsite.Want, hits map[string]int) {
	l.crawls(d.world, origin, runs, want, hits)
	l.must("answers of the crawl that are kept", d.count(sqlBodies, runs), len(runs)*kept(want))
}

const (
	unkeptInHand = 8  // URLs that a worker requests at once: WORKER_CONCURRENCY
	unkeptTries  = 20 // after 0.5 s, 1 s, … 30 s, 30 s: of eight minutes
)

// kept is how many answers of a site are kept: all that say something for good.
func kept(want map[string]crawlsite.Want) (n int) {
	for _, w := range want {
		if w.Status != 0 {
			n++
		}
	}
	return n
}

// remains looks for what is left of files that were not stored.
func (d *rig) remains(l *Ledger) {
	var halves []string
	uploads := 0
	err := fs.WalkDir(os.DirFS(d.disk.path), ".", func(path string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			halves = append(halves, path)
		}
		if ok, _ := filepath.Match("uploads/*/file", path); ok {
			uploads++
		}
		return err
	})
	if err != nil {
		l.Wrong = append(l.Wrong, "the disk cannot be read: "+err.Error())
	}
	l.none("halves of files", halves)
	l.must("uploaded files", uploads, len(d.got))
}
