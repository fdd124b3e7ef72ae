package faults

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

const (
	neighbours      = 19
	neighbourPeople = 200 // in a file, and written to
	neighbourRate   = 4   // messages a second of a tenant, so that the machine is not the limit of the quiet rounds
	neighbourTurns  = 2   // rounds in peace, each with one beside the hostile tenant after it

	// While they send, they import small files, one every so often.
	neighbourFiles = 5
	neighbourRows  = 20
	neighbourEvery = 9 * time.Second

	malloryPages = 150 // of each run of a crawl that the hostile tenant reads
)

// What the others keep of what they do in peace, in percent: of the messages a second while they send, and of the files
// that are imported before the next one; of all together, from the first file to the last message, where it counts how
// soon each thing begins, on cores that are short.
const (
	neighbourKeeps = 95
	neighbourWhole = 90
)

// neighbourWithin is what the p95 of their requests stays below. On a machine that is so slow or busy that it is more than
// a third of that in peace, it stays below three times the one in peace.
const neighbourWithin = 300 * time.Millisecond

// A tenant who does everything at once that is expensive harms itself: nineteen others import their files and send to all
// who are in them, each person once, as fast as without it, nothing of theirs is refused, and no process grows beyond its
// memory.
func TestAHostileTenantHarmsItself(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	var hooks *dboutreach.Webhooks
	api, phones := phone(serveAt(t, "127.0.0.1"), func(r *http.Request) error { return applyWebhook(r, hooks) })
	box, keys := newKeys(t)
	site := serveAt(t, "127.0.0.1")(crawlsite.New(crawlsite.NewGraph(crawlsite.GraphOptions{Seed: *seed, Pages: malloryPages})))
	notices, hosts := newHostileHooks(t)
	w := newWorldBeside(t, release{binary: binary}, []*httptest.Server{site}, nil, "CONVEYOR_WHATSAPP_URL="+phones,
		"CONVEYOR_SECRET_KEYS="+keys, "CONVEYOR_WEBHOOK_PRIVATE_HOSTS="+strings.Join(hosts, ","),
		"FETCH_MIN_GAP_PER_HOST_MS=5", "FETCH_GAP_JITTER_MS=0", fmt.Sprintf("CONVEYOR_DISPATCH_STANDARD=%d", neighbourRate))
	hooks = dboutreach.NewWebhooks(w.db, nil)
	w.gone.Go(func() { _ = api.Run(w.ctx) })
	w.tempt = func() {}
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	street := make([]*neighbour, neighbours)
	for i := range street {
		n := &neighbour{w: w, client: from(fmt.Sprintf("127.0.1.%d", i+1)), tenant: fmt.Sprintf("neighbour-%d", i+1), number: i}
		var err error
		require.NoError(t, w.makeTenant(n.tenant, db.Quotas{}))
		n.sender, err = w.makeSender(box, n.tenant, fmt.Sprint(100+i))
		require.NoError(t, err)
		street[i] = n
	}
	// Half of the disk: the longer the others took, the more of it would be its files, and theirs be refused.
	most := int64(32 << 20)
	require.NoError(t, w.makeTenant("mallory", db.Quotas{MaxBytes: &most}))
	sender, err := w.makeSender(box, "mallory", "666")
	require.NoError(t, err)

	w.say("seed %d: %d tenants, %d people each", *seed, neighbours, neighbourPeople)
	m := &mallory{w: w, client: from("127.0.2.1"), sender: sender, answers: map[string]map[int]int{}, hosts: hosts,
		runs: w.crawled(site.URL, malloryPages)}
	flowing, dry := context.WithCancel(w.ctx)
	defer dry()
	w.gone.Go(func() { // adverts, of which its saved searches are told
		for pause(flowing, time.Second) {
			w.flow.feed(1)
		}
	})
	for n := range 2 * neighbourTurns {
		if n%2 == 0 {
			w.say("in peace %.1f s", round(street, n).Seconds())
			continue
		}
		ctx, stop := context.WithCancel(w.ctx)
		var attack sync.WaitGroup
		m.attack(ctx, &attack)
		took := round(street, n)
		stop()
		attack.Wait()
		require.NoError(t, m.cancel(w.ctx))
		require.NoError(t, m.forget(w.ctx))
		w.say("beside the hostile tenant %.1f s; its webhooks were asked %d times; its answers: %s", took.Seconds(),
			notices.asked.Load(), m.say())
	}

	dry()
	close(notices.calm)
	w.without = ` AND WorkflowType != "Notify"` // of webhooks that fail: the next try may be an hour from now
	w.rest(l)
	l.flowed(w)
	settled, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	if err := api.Settled(settled); err != nil {
		l.Wrong = append(l.Wrong, "webhooks were not taken: "+err.Error())
	}
	l.neighbours(w, street)
	l.street(street)
	l.within("requests of the hostile tenant that were refused", m.refused(), 1, 1<<30)
	l.processes(w)
	l.close(w)
}

// from is a client with an address of its own, by which the API tells callers without a key apart.
func from(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}}
}

// A neighbour is a tenant who does what tenants do.
type neighbour struct {
	w      *world
	client *http.Client
	tenant string
	number int
	sender uuid.UUID

	mu      sync.Mutex
	took    [2 * neighbourTurns][]time.Duration  // of its requests, by round
	phases  [2 * neighbourTurns][3]time.Duration // from its begin to the end of: the import, the wait for its turn, the campaign
	inTime  [2 * neighbourTurns]int              // of its small files
	refused []string
}

// round lets every neighbour import a file and write to all people of it, and returns after how long all were done.
func round(street []*neighbour, n int) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for _, who := range street {
		all.Go(func() { who.live(n) })
	}
	all.Wait()
	return time.Since(began)
}

// live imports a file, sends a campaign to a segment of it, and looks at both meanwhile.
func (n *neighbour) live(round int) {
	began := time.Now()
	passed := func(phase int) { n.phases[round][phase] = time.Since(began) }
	if !n.bring(round, 0, neighbourPeople, fmt.Sprintf("r%d", round)) {
		return
	}
	passed(0)
	var c struct {
		ID    uuid.UUID
		State string
	}
	plan := fmt.Sprintf(`{"name":"round %d","sender":"%s","template":{"type":"text","text":{"body":"Bonjour"}},`+
		`"audience":{"all":true,"filter":{"field":"round","equals":"r%d"}}}`, round, n.sender, round)
	if n.must(round, "POST", "/campaigns", body(plan), &c) && n.must(round, "POST", fmt.Sprintf("/campaigns/%s/start", c.ID), nil, nil) {
		at := fmt.Sprintf("/campaigns/%s", c.ID)
		n.until(round, at, &c, func() bool { return c.State == "running" || c.State == "done" })
		passed(1)
		var small sync.WaitGroup
		small.Go(func() { n.bringMore(round) })
		n.until(round, at, &c, func() bool { return c.State == "done" })
		passed(2)
		small.Wait()
	}
}

// bringMore imports the small files, and counts those that are done before it is the turn of the next one.
func (n *neighbour) bringMore(round int) {
	for k := range neighbourFiles {
		began := time.Now()
		if !n.bring(round, neighbourPeople+k*neighbourRows, neighbourRows, "more") {
			return
		}
		if took := time.Since(began); took < neighbourEvery {
			n.inTime[round]++
			pause(n.w.ctx, neighbourEvery-took)
		}
	}
}

// bring imports a file of so many people from a number on.
func (n *neighbour) bring(round, first, people int, label string) bool {
	var file strings.Builder
	file.WriteString("Name,Phone,Round\n")
	for i := first; i < first+people; i++ {
		fmt.Fprintf(&file, "Zoé %d,+14382%d%02d%03d,%s\n", i, round+2, n.number, i, label)
	}
	var upload struct {
		ID    uuid.UUID
		State string
	}
	return n.must(round, "POST", "/uploads", fileForm("people.csv", []byte(file.String())), &upload) &&
		n.until(round, fmt.Sprintf("/uploads/%s", upload.ID), &upload, func() bool { return upload.State == "done" })
}

// until asks for a thing once a second until it is as wanted.
func (n *neighbour) until(round int, path string, out any, is func() bool) bool {
	for !is() {
		if !pause(n.w.ctx, time.Second) || !n.must(round, "GET", path, nil, out) {
			return false
		}
	}
	return true
}

// fileForm is a file in the form of POST /uploads.
func fileForm(name string, data []byte) *content {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, _ := m.CreateFormFile("file", name) // writes to memory
	_, _ = part.Write(data)
	_ = m.Close()
	return &content{kind: m.FormDataContentType(), data: b.Bytes()}
}

// must sends a request that has to be served, and decodes its answer.
func (n *neighbour) must(round int, method, path string, in *content, out any) bool {
	began := time.Now()
	code, answer, err := n.w.ask(n.w.ctx, n.client, n.tenant, method, path, in)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.took[round] = append(n.took[round], time.Since(began))
	if err == nil && code < 300 && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil || code >= 300 {
		n.refused = append(n.refused, fmt.Sprintf("%s %s of %s: %d %v %.200s", method, path, n.tenant, code, err, answer))
		return false
	}
	return true
}

// street compares the rounds beside the hostile tenant with those in peace.
func (l *Ledger) street(street []*neighbour) {
	var slowest, total [2][3]time.Duration // in peace and beside it, by phase
	var p95 [2]time.Duration
	var inTime [2]int
	for kind := range 2 {
		var took []time.Duration
		for _, n := range street {
			for round := kind; round < len(n.took); round += 2 {
				took, inTime[kind] = append(took, n.took[round]...), inTime[kind]+n.inTime[round]
				for phase, at := range n.phases[round] {
					slowest[kind][phase] = max(slowest[kind][phase], at)
					total[kind][phase] += at
				}
			}
		}
		if len(took) > 0 {
			slices.Sort(took)
			p95[kind] = took[len(took)*95/100]
		}
	}
	mean := func(kind, phase int) float64 { return total[kind][phase].Seconds() / (neighbours * neighbourTurns) }
	for phase, name := range []string{"import", "start", "campaign"} {
		l.row("their "+name+" was over at, in s, the slowest", int(slowest[1][phase].Seconds()),
			"%d in peace; %.1f on average, and %.1f", int(slowest[0][phase].Seconds()), mean(1, phase), mean(0, phase))
	}
	sending := func(kind int) float64 { return max(mean(kind, 2)-mean(kind, 1), 1) }
	l.within("messages a second, in percent of those in peace", int(100*sending(0)/sending(1)), neighbourKeeps, 1<<30)
	l.within("files imported in time, in percent of those in peace", 100*inTime[1]/max(inTime[0], 1), neighbourKeeps, 1<<30)
	l.within("all together, in percent of the pace in peace", int(100*mean(0, 2)/max(mean(1, 2), 1)), neighbourWhole, 1<<30)
	l.row("files imported in time", inTime[1], "%d in peace, of %d", inTime[0], neighbourFiles*neighbours*neighbourTurns)
	l.within("p95 of their requests, in ms", int(p95[1].Milliseconds()), 0, int(max(neighbourWithin, 3*p95[0]).Milliseconds())-1)
	l.row("p95 of their requests in peace, in ms", int(p95[0].Milliseconds()), "")
}

// A mallory does at once all that is expensive.
type mallory struct {
	w      *world
	client *http.Client
	sender uuid.UUID
	hosts  []string // of its webhooks, by their manners
	runs   [2]int64 // crawls that it reads

	mu      sync.Mutex
	answers map[string]map[int]int // by what is asked and status; 0 = none
	held    []uuid.UUID            // its uploads
	targets []hostileTarget        // webhooks of its searches
}

// attack begins everything. It ends with ctx.
func (m *mallory) attack(ctx context.Context, all *sync.WaitGroup) {
	workbook := fileForm("people.xlsx", workbookWith(packed("xl/sharedStrings.xml", "<sst>", strings.Repeat("<si><t>x</t></si>", 4096), 3000)))
	rows := fileForm("people.zip", packed("people.csv", "phone,note\n", strings.Repeat("+15145550123,"+strings.Repeat("x", 1000)+"\n", 64), 16_000))
	many := func(n int, what string, do func(i int) (code int, answer []byte, err error)) {
		for range n {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					code, answer, err := do(i)
					if ctx.Err() == nil {
						m.note(what, code, answer, err)
					}
				}
			})
		}
	}
	send := func(method, path string, in *content) (int, []byte, error) {
		return m.w.ask(ctx, m.client, "mallory", method, path, in)
	}
	many(2, "workbooks", func(int) (int, []byte, error) { return send("POST", "/uploads?dry_run=true", workbook) })
	many(2, "packed files", func(int) (int, []byte, error) { return send("POST", "/uploads?dry_run=true", rows) })
	many(8, "previews", func(i int) (int, []byte, error) {
		return send("GET", fmt.Sprintf("/uploads/%s/preview", m.upload(i)), nil)
	})
	many(16, "trials", func(int) (int, []byte, error) {
		return send("POST", "/searches/try", body(`{"filter":{"text":"zzzz"},"days":90}`))
	})
	many(4, "searches", func(i int) (int, []byte, error) {
		return send("POST", "/searches", body(hostileSearch(m.hosts, i)))
	})
	many(4, "challenges", func(i int) (int, []byte, error) { return send("POST", m.challenge(i), nil) })
	read := func(path string) (int, []byte, error) { return m.w.ask(ctx, m.client, "", "GET", path, nil) }
	many(4, "lineages", func(i int) (int, []byte, error) {
		return read(fmt.Sprintf("/crawl-runs/%d/lineage", m.runs[i%len(m.runs)]))
	})
	many(4, "comparisons", func(int) (int, []byte, error) {
		return read(fmt.Sprintf("/crawl-runs/compare?a=%d&b=%d", m.runs[0], m.runs[1]))
	})
	many(4, "exports", func(int) (int, []byte, error) { return send("POST", "/contacts/export", body("{}")) })
	many(4, "counts", func(int) (int, []byte, error) { return send("POST", "/contacts/count", body("{}")) })
	many(4, "lists", func(i int) (int, []byte, error) {
		return send("POST", "/contact-lists", body(fmt.Sprintf(`{"name":"l%d"}`, i)))
	})
	many(8, "messages", func(i int) (int, []byte, error) {
		return send("POST", "/messages", body(fmt.Sprintf(
			`{"sender":"%s","to":"+1514777%04d","body":{"type":"text","text":{"body":"x"}}}`, m.sender, i%10_000)))
	})
}

func (m *mallory) note(what string, code int, answer []byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		code = 0
	}
	if m.answers[what] == nil {
		m.answers[what] = map[int]int{}
	}
	m.answers[what][code]++
	if what == "searches" && code == http.StatusCreated {
		m.searched(answer)
		return
	}
	var u struct{ ID uuid.UUID }
	if code == http.StatusAccepted || code == http.StatusCreated {
		if json.Unmarshal(answer, &u) == nil && strings.Contains(string(answer), `"file_name"`) {
			m.held = append(m.held, u.ID)
		}
	}
}

// upload is the i-th of those that were taken, in turn.
func (m *mallory) upload(i int) uuid.UUID {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.held) == 0 {
		return uuid.Nil
	}
	return m.held[i%len(m.held)]
}

// cancel ends its imports: each unpacks a gigabyte, for which the disk has no room. While its turns are used up it is
// refused that, too.
func (m *mallory) cancel(ctx context.Context) error {
	for i := range m.held {
		var code int
		if err := eventually(ctx, servicetest.Patience(), func() (ok bool) {
			code, _, _ = m.w.ask(ctx, m.client, "mallory", "POST", fmt.Sprintf("/uploads/%s/cancel", m.upload(i)), nil)
			return code/100 == 2 || code == http.StatusConflict // it is over
		}); err != nil {
			return fmt.Errorf("cancel import %d: answered %d: %w", i, code, err)
		}
	}
	return nil
}

func (m *mallory) refused() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, codes := range m.answers {
		n += codes[http.StatusTooManyRequests] + codes[http.StatusRequestEntityTooLarge]
	}
	return n
}

func (m *mallory) say() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint(m.answers)
}

// packed is a zip with a file that is n times longer than it looks.
func packed(name, begin, piece string, n int) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, _ := z.Create(name) // writes to memory
	_, _ = io.WriteString(f, begin)
	for range n {
		_, _ = io.WriteString(f, piece)
	}
	_ = z.Close()
	return b.Bytes()
}

// workbookWith is a workbook whose shared strings are those of a zip.
func workbookWith(shared []byte) []byte {
	from, err := zip.NewReader(bytes.NewReader(shared), int64(len(shared)))
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"[Content_Types].xml": `<Types/>`,
		"xl/workbook.xml": `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>` +
			`<sheet name="People" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="rId2" Type="x/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row><c t="inlineStr"><is><t>Phone</t></is></c></row></sheetData></worksheet>`,
	} {
		f, _ := z.Create(name)
		_, _ = io.WriteString(f, text)
	}
	for _, f := range from.File {
		_ = z.Copy(f)
	}
	_ = z.Close()
	return b.Bytes()
}

const sqlNeighbours = `
SELECT (SELECT count(*) FROM contacts WHERE tenant <> 'mallory'),
    (SELECT count(DISTINCT (tenant, key)) FROM contacts WHERE tenant <> 'mallory'),
    (SELECT count(*) FROM messages WHERE tenant <> 'mallory'),
    (SELECT count(*) FROM messages WHERE tenant <> 'mallory' AND state IN ('sent', 'delivered', 'read')),
    (SELECT count(*) FROM dead_letters WHERE tenant NOT IN ('', 'mallory'))`

// neighbours says what became of what the others did.
func (l *Ledger) neighbours(w *world, street []*neighbour) {
	const (
		want   = 2 * neighbourTurns * neighbours * neighbourPeople // messages
		wanted = want + 2*neighbourTurns*neighbours*neighbourFiles*neighbourRows
	)
	var refused []string
	for _, n := range street {
		refused = append(refused, n.refused...)
	}
	var people, distinct, messages, sent, letters int
	if err := w.everyTenant(func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlNeighbours).Scan(&people, &distinct, &messages, &sent, &letters)
	}); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.none("requests of the others that were refused", refused)
	l.must("their people", people, wanted)
	l.must("their people, each once", distinct, wanted)
	l.must("their messages", messages, want)
	l.must("their messages that were sent", sent, want)
	l.must("their dead letters", letters, 0)
}
