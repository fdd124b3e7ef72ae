package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// A Dispatched is how the messages of tenants are sent.
type Dispatched struct {
	How       string             `json:"how"`
	Tenants   int                `json:"tenants"`
	Messages  int                `json:"messages"` // that were accepted
	Seconds   float64            `json:"seconds"`
	PerSecond float64            `json:"per_second"`
	CPU       map[string]float64 `json:"cpu_ms_each_by_group"`
	Jain      float64            `json:"jain"`               // of the messages of tenants with the same rate
	Least     float64            `json:"least_share"`        // of its rate, the tenant with the least
	Most      float64            `json:"most_share"`         // and the one with the most
	Millis    map[string]float64 `json:"ms,omitempty"`       // of a single message, from its call until its request
	InASecond int                `json:"most_in_1s"`         // requests of one tenant
	Unlimited bool               `json:"unlimited"`          // tenants have no rate
	Waiting   int                `json:"waiting,omitempty"`  // messages of another tenant meanwhile
	Imported  int64              `json:"imported,omitempty"` // rows of that tenant's file of a million meanwhile
}

// posting is the message scenarios' part of a run.
type posting struct {
	*system

	api    *cloudapi.API
	url    string
	keys   string
	box    *secret.Box
	launch launch.Launch
	files  *blob.Store
	folder string // of files
	report *Report
}

// dispatches are the scenarios of sending messages.
func (h *system) dispatches(ctx context.Context, report *Report) []scenario {
	posted := func(run func(*posting) error) func() error {
		return func() error {
			p, stop, err := h.post(ctx, report)
			if err != nil {
				return err
			}
			defer stop()
			return run(p)
		}
	}
	return []scenario{
		{"outreach: dispatch, no limits", posted(func(p *posting) error { return p.unlimited(ctx, 20, 500) })},
		{"outreach: dispatch, limits", posted(func(p *posting) error {
			return p.flooded(ctx, 20, 30*time.Second, false)
		})},
		{"outreach: dispatch, beside a flood", posted(func(p *posting) error {
			return p.flooded(ctx, 20, 30*time.Second, true)
		})},
		{"outreach: rates", posted(func(p *posting) error {
			for _, workers := range []int{1, 4} {
				if err := p.rates(ctx, workers); err != nil {
					return err
				}
			}
			return nil
		})},
		{"outreach: pause", posted(func(p *posting) error {
			for _, rate := range []int{campaign.Enterprise.PerSecond(), 1000} {
				if err := p.pauses(ctx, rate); err != nil {
					return err
				}
			}
			return nil
		})},
	}
}

// post starts a fake of the Cloud API.
func (h *system) post(ctx context.Context, report *Report) (p *posting, stop func(), err error) {
	p = &posting{system: h, report: report, launch: launch.Launch{Temporal: h.temporal}}
	p.api = cloudapi.New(cloudapi.Options{
		Limits: cloudapi.Limits{PerSecond: -1, PairBurst: -1}, Latency: 50 * time.Millisecond,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	p.url = "http://" + l.Addr().String()
	server := &http.Server{Handler: p.api, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	p.keys = "k1:" + base64.StdEncoding.EncodeToString(key)
	if p.box, err = secret.Parse(p.keys); err != nil {
		return nil, nil, err
	}
	if p.folder, err = os.MkdirTemp("", "conveyor-bench-uploads-"); err != nil {
		return nil, nil, err
	}
	if p.files, err = blob.Open(ctx, p.folder); err != nil {
		return nil, nil, err
	}
	return p, func() {
		_ = server.Close()
		serving.Wait()
		_ = p.files.Close()
		_ = os.RemoveAll(p.folder)
	}, nil
}

// begin restarts the roles with settings, and empties the tables.
func (p *posting) begin(ctx context.Context, settings ...string) error {
	var err error
	for range 10 { // the roles are at work
		_, err = p.db.Exec(ctx, "TRUNCATE messages, message_attempts, senders, tenants, campaigns CASCADE")
		if err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	p.api.Forget()
	return p.restart(append(settings,
		"CONVEYOR_WHATSAPP_URL="+p.url, "CONVEYOR_SECRET_KEYS="+p.keys, "CONVEYOR_BLOB_URL=file://"+p.folder)...)
}

const sqlBenchMessages = `
INSERT INTO messages (id, tenant, sender, kind, recipient, digest, body, due_at, queued_at)
SELECT gen_random_uuid(), $1, $2, 'transactional', '+1514' || lpad(n::text, 7, '0'), '',
    '{"type": "text", "text": {"body": "Bonjour"}}', $4, now()
FROM generate_series(1, $3) n`

// tenant stores a tenant with a sender and messages that are due at a time.
func (p *posting) tenant(ctx context.Context, id string, tier campaign.Tier, messages int, due time.Time) (
	uuid.UUID, error,
) {
	sender, now := uuid.New(), time.Now()
	err := db.NewTenants(p.db).Create(ctx, db.Tenant{ID: id, Name: id, Tier: tier, CreatedAt: now}, "bench")
	if err != nil {
		return sender, err
	}
	key, token, err := p.box.Seal(dboutreach.SenderPurpose(sender), []byte("token"))
	if err != nil {
		return sender, err
	}
	if err := dboutreach.NewSenders(p.db).Add(ctx, dboutreach.Sender{
		ID: sender, Tenant: id, Name: "main", PhoneNumberID: number(id), BusinessAccountID: "1", PerSecond: 1000,
		CreatedAt: now,
	}, db.Sealed{Key: key, Box: token}, "bench"); err != nil {
		return sender, err
	}
	return sender, p.everyTenant(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlBenchMessages, id, sender, messages, due)
		return err
	})
}

// number is the phone number ID of a tenant's sender.
func number(tenant string) string {
	var n uint64 = 1
	for _, c := range []byte(tenant) {
		n = n*131 + uint64(c)
	}
	return fmt.Sprint(n)
}

func name(i int) string { return fmt.Sprintf("tenant-%02d", i) }

// unlimited sends as much as a process can.
func (p *posting) unlimited(ctx context.Context, tenants, each int) error {
	if err := p.begin(ctx, "CONVEYOR_DISPATCH_STANDARD=100000"); err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return err
	}
	began := time.Now().Add(3 * time.Second)
	for i := range tenants {
		if _, err := p.tenant(ctx, name(i), campaign.Standard, each, began); err != nil {
			return err
		}
	}
	time.Sleep(time.Until(began))
	before := processes()
	for i := range tenants {
		if err := p.launch.WakeDispatch(ctx, name(i)); err != nil {
			return err
		}
	}
	half := time.Time{}
	d := Dispatched{How: "without limits", Tenants: tenants, Unlimited: true}
	for last, at := 0, time.Now(); p.api.Counts().Accepted < tenants*each; {
		if n := p.api.Counts().Accepted; n > last {
			last, at = n, time.Now()
		} else if n > 0 && time.Since(at) > 5*time.Second { // the answers of some were lost
			break
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
		if time.Since(began) > 3*time.Minute {
			return fmt.Errorf("only %d messages were sent in three minutes", last)
		}
		if half.IsZero() && p.api.Counts().Accepted >= tenants*each/2 {
			half = time.Now()
			d.Jain, _, _ = fairness(p.shares(tenants, 1))
		}
	}
	arrived := p.api.Ledger()
	d.Seconds = arrived[len(arrived)-1].At.Sub(began).Seconds()
	p.dispatched(d, len(arrived), before)
	return nil
}

// wait waits until a worker takes the slices of tenants.
func (p *posting) wait(ctx context.Context) error {
	if _, err := p.tenant(ctx, "first", campaign.Standard, 1, time.Now()); err != nil {
		return err
	}
	defer p.api.Forget()
	if err := p.launch.WakeDispatch(ctx, "first"); err != nil {
		return err
	}
	return p.accepted(ctx, 1)
}

// lookEvery is how often the bench looks at what was sent.
const lookEvery = 20 * time.Millisecond

// accepted waits until so many messages are accepted.
func (p *posting) accepted(ctx context.Context, n int) error {
	for p.api.Counts().Accepted < n {
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// shares are the messages of each tenant that arrived, as shares of what it may send.
func (p *posting) shares(tenants int, may float64) (out []float64) {
	counts := map[string]float64{}
	for _, a := range p.api.Ledger() {
		counts[a.Sender]++
	}
	for i := range tenants {
		out = append(out, counts[number(name(i))]/may)
	}
	return out
}

// fairness is Jain's index of shares: 1 = all are the same; with the least and the most.
func fairness(shares []float64) (jain, least, most float64) {
	var sum, squares float64
	least = shares[0]
	for _, s := range shares {
		sum, squares, least, most = sum+s, squares+s*s, min(least, s), max(most, s)
	}
	if squares == 0 {
		return 0, 0, 0
	}
	return sum * sum / (float64(len(shares)) * squares), least, most
}

// flooded has tenants send at their rates for a while, beside one with 100,000 messages, and a single message of
// another one now and then.
func (p *posting) flooded(ctx context.Context, tenants int, during time.Duration, flood bool) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	const rate = 10
	d := Dispatched{How: "at 10 a second", Tenants: tenants}
	if err := p.wait(ctx); err != nil {
		return err
	}
	var file dboutreach.Upload
	if flood {
		d.How, d.Waiting = "beside one with 100,000 messages, at 50 a second, and a file of a million contacts", 100_000
		if _, err := p.tenant(ctx, "flood", campaign.Enterprise, d.Waiting, time.Now()); err != nil {
			return err
		}
		var err error
		if file, err = (importing{p.system, 1_000_000, p.report}).upload(ctx, p.files, "flood"); err != nil {
			return err
		}
	}
	for i := range tenants {
		_, err := p.tenant(ctx, name(i), campaign.Standard, int(during.Seconds()*rate*2), time.Now())
		if err != nil {
			return err
		}
	}
	single, err := p.tenant(ctx, "single", campaign.Standard, 0, time.Now())
	if err != nil {
		return err
	}
	for i := range tenants {
		if err := p.launch.WakeDispatch(ctx, name(i)); err != nil {
			return err
		}
	}
	if flood {
		if err := p.launch.WakeDispatch(ctx, "flood"); err != nil {
			return err
		}
		if err := p.launch.StartImport(ctx, "flood", file.ID); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Second) // all have their slices
	p.api.Forget()
	before, began := processes(), time.Now()
	called, err := p.singles(ctx, single, during)
	if err != nil {
		return err
	}
	d.Seconds = time.Since(began).Seconds()
	arrived := p.api.Ledger()
	d.Jain, d.Least, d.Most = fairness(p.shares(tenants, rate*d.Seconds))
	for i := range tenants {
		d.InASecond = max(d.InASecond, p.api.Most(time.Second, number(name(i))))
	}
	var took []time.Duration
	for _, a := range arrived {
		if at, ok := called[a.Callback]; ok {
			took = append(took, a.At.Sub(at))
		}
	}
	if len(took) < len(called)-1 { // the last one may be on its way
		return fmt.Errorf("of %d single messages %d arrived", len(called), len(took))
	}
	d.Millis = percentiles(took)
	if flood {
		u, err := dboutreach.NewUploads(p.db).Cancel(ctx, "flood", file.ID, "bench", time.Now())
		if err != nil {
			return err
		}
		if u.Invalid > 0 {
			return fmt.Errorf("of %d rows beside it %d were refused", u.RowsRead, u.Invalid)
		}
		d.Imported = u.Valid
	}
	p.dispatched(d, len(arrived), before)
	return nil
}

// singles sends single messages for a while, and returns when, by their IDs.
func (p *posting) singles(ctx context.Context, sender uuid.UUID, during time.Duration) (map[string]time.Time, error) {
	called, began := map[string]time.Time{}, time.Now()
	for n := 0; time.Since(began) < during; n++ {
		at := time.Now()
		id, err := p.send(ctx, "single", sender, fmt.Sprintf("+1438555%04d", n))
		if err != nil {
			return nil, err
		}
		called[id] = at
		time.Sleep(time.Duration(200+(n*137)%2000) * time.Millisecond) // some find the workflow running, some do not
	}
	return called, nil
}

// send sends a message to one person by the API, and returns its ID.
func (p *posting) send(ctx context.Context, tenant string, sender uuid.UUID, to string) (string, error) {
	body := fmt.Sprintf(`{"sender": %q, "to": %q, "body": {"type": "text", "text": {"body": "Code 1234"}}}`, sender, to)
	var m struct {
		ID string `json:"id"`
	}
	err := postJSON(ctx, p.system.api+"/messages?tenant="+tenant, body, &m)
	return m.ID, err
}

// rates has a tenant of each tier send for a minute, by so many worker processes.
func (p *posting) rates(ctx context.Context, workers int) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	env := p.env
	p.env = append(slices.Clone(env), "CONVEYOR_WHATSAPP_URL="+p.url, "CONVEYOR_SECRET_KEYS="+p.keys)
	was := len(p.roles)
	defer func() {
		p.stopAfter(was)
		p.env = env
	}()
	for range workers - 1 {
		if err := p.start(p.binary, "worker"); err != nil {
			return err
		}
	}
	tiers := map[string]campaign.Tier{"standard": campaign.Standard, "enterprise": campaign.Enterprise}
	if err := p.wait(ctx); err != nil {
		return err
	}
	for id, tier := range tiers {
		if _, err := p.tenant(ctx, id, tier, 100*tier.PerSecond(), time.Now()); err != nil {
			return err
		}
	}
	for id := range tiers {
		if err := p.launch.WakeDispatch(ctx, id); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second) // the other workers have started
	p.api.Forget()
	before := processes()
	time.Sleep(time.Minute)
	for id, tier := range tiers {
		may := float64(60 * tier.PerSecond())
		n := 0
		for _, c := range p.api.PerSecond(number(id)) {
			n += c
		}
		d := Dispatched{
			How: fmt.Sprintf("%s, %d a second, %d workers", id, tier.PerSecond(), workers), Tenants: 1, Seconds: 60, Jain: 1,
			Least: float64(n) / may, Most: float64(n) / may, InASecond: p.api.Most(time.Second, number(id)),
		}
		p.dispatched(d, n, before)
	}
	return nil
}

func (p *posting) dispatched(d Dispatched, n int, before map[string]time.Duration) {
	d.Messages, d.PerSecond, d.CPU = n, float64(n)/d.Seconds, cost(before, float64(n)/1000)
	p.report.Dispatched = append(p.report.Dispatched, d)
}

// printDispatched prints the figures of messages.
func printDispatched(w io.Writer, all []Dispatched) {
	table(w, "\nmessages of tenants, to a fake of the Cloud API that answers after 50 ms:",
		"tenants\tmessages\tper s\tJain\tleast\tmost\tin 1 s\tsingle p50 ms\tp95\tp99\t", all,
		func(t io.Writer, d Dispatched) {
			fmt.Fprintf(t, "%d\t%d\t%.0f\t%.4f\t%.1f %%\t%.1f %%\t%d\t%.0f\t%.0f\t%.0f\t  %s\n", d.Tenants, d.Messages,
				d.PerSecond, d.Jain, 100*d.Least, 100*d.Most, d.InASecond, d.Millis["p50"], d.Millis["p95"], d.Millis["p99"], d.How)
		})
	for _, d := range all {
		if d.Imported > 0 {
			fmt.Fprintf(w, "%d rows of the file were imported meanwhile\n", d.Imported)
		}
		fmt.Fprintf(w, "%s, CPU-ms a message: %s\n", d.How, list(d.CPU, 0.005, "%.2f"))
	}
}
