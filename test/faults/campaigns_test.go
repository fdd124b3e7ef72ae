package faults

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// campaignBreaks are the faults that meet a campaign, beside workers that are killed all the time.
var campaignBreaks = []fault{
	{"SIGTERM worker", 0, func(w *world) (string, error) { return w.retire("worker") }},
	{"Redis killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Redis, true) }},
	{"Temporal killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
	{"Postgres backends terminated", 1, terminateBackends},
	{"Postgres killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
	{"our Postgres killed -9, Temporal's works", 0, appDatabaseAway},
	{"our Postgres frozen, Temporal's works", 0, appDatabaseFrozen},
	{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
}

const (
	campaignRate = 40          // so that each fault meets a campaign that is being sent
	cutAfter     = "151400004" // the beginning of 100 numbers: accepted, and the connection dies
	cutBefore    = "151400006" // the same: not accepted, and the connection dies
	cutNumbers   = 100
	// diesWith is how many messages may be unknown with a worker that is killed or frozen: those of a fifth of a second.
	diesWith = campaignRate / 5
)

// campaignMessages is how many messages the campaign has.
func campaignMessages() int {
	if *long {
		return 5000
	}
	return 1000
}

// Under faults, with a worker killed every three seconds, no message of a campaign is sent twice, each that was accepted
// is known to be, and what stays unknown was in the hands of a worker that died, or its connection did.
func TestTheLedgerOfCampaignsBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with the other short ones
	var hooks *dboutreach.Webhooks
	api, url := phone(serveAt(t, "127.0.0.1"), func(r *http.Request) error { return applyWebhook(r, hooks) })
	box, keys := newKeys(t)
	w := newWorld(t, nil, "CONVEYOR_IMAGES=false", "CONVEYOR_WHATSAPP_URL="+url, "CONVEYOR_SECRET_KEYS="+keys,
		fmt.Sprintf("CONVEYOR_DISPATCH_STANDARD=%d", campaignRate), "CONVEYOR_WHATSAPP_TIMEOUT=3s")
	hooks = dboutreach.NewWebhooks(w.db, nil)
	w.gone.Go(func() { _ = api.Run(w.ctx) })
	w.tempt = func() {} // the campaign goes on by itself
	require.NoError(t, api.Script(cloudapi.Rule{To: cutAfter, Cut: cloudapi.CutAfter},
		cloudapi.Rule{To: cutBefore, Cut: cloudapi.CutBefore}))
	require.NoError(t, w.makeContacts(campaignMessages()))
	id, err := w.makeCampaign(box)
	require.NoError(t, err)
	w.say("seed %d: a campaign of %d messages", *seed, campaignMessages())
	start := launch.Launch{Temporal: w.temporal}
	require.NoError(t, start.StartCampaign(w.ctx, "acme", id))

	l := &Ledger{Seed: *seed, Wrong: []string{}}
	left := slices.DeleteFunc(slices.Clone(campaignBreaks), func(f fault) bool {
		return f.short == 0 && !*long || !strings.Contains(f.name, *only)
	})
	mathrand.New(mathrand.NewPCG(*seed, 9)).Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	kills := w.disturbCampaign(id, &left, l)
	w.rest(l)
	ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	if err := api.Settled(ctx); err != nil {
		l.Wrong = append(l.Wrong, "webhooks were not taken: "+err.Error())
	}
	l.within("workers killed", kills, 3, 1000)
	l.missed(left)
	l.campaign(w, id, api, campaignMessages(), cutNumbers+diesWith*(kills+len(l.Faults)))
	l.processes(w)
	l.close(w)
}

const appSecret = "app secret"

// phone is the WhatsApp API of the outside world, which reports to hook, and its URL.
func phone(serve func(http.Handler) *httptest.Server, hook func(r *http.Request) error) (api *cloudapi.API, url string) {
	door := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := hook(r); err != nil { // our database is away: it comes again
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	api = cloudapi.New(cloudapi.Options{
		Limits: cloudapi.Limits{PerSecond: -1, PairBurst: -1}, Latency: 20 * time.Millisecond, Webhook: door.URL,
		Secret: appSecret, Retry: 500 * time.Millisecond, Tries: 2000, // longer than any service is away
	})
	return api, serve(api).URL
}

// newKeys makes a key that access tokens are encrypted with.
func newKeys(t *testing.T) (box *secret.Box, keys string) {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	keys = "k1:" + base64.StdEncoding.EncodeToString(key)
	box, err := secret.Parse(keys)
	require.NoError(t, err)
	return box, keys
}

// applyWebhook does what the API's webhook does.
func applyWebhook(r *http.Request, hooks *dboutreach.Webhooks) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if !whatsapp.Signed(body, r.Header.Get(whatsapp.SignatureHeader), []string{appSecret}) {
		return fmt.Errorf("not signed")
	}
	e, err := whatsapp.ReadEvent(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	now := time.Now()
	id, err := hooks.Store(ctx, body, len(e.Statuses), len(e.Messages), now)
	if err != nil {
		return err
	}
	_, err = hooks.Apply(ctx, id, e.Reports(now), e.Inbounds(now), now)
	return err
}

// everyTenant runs a statement over the rows of all tenants.
func (w *world) everyTenant(do func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	return pgx.BeginTxFunc(ctx, w.db, pgx.TxOptions{BeginQuery: "BEGIN; SELECT set_config('conveyor.tenant', '*', true)"},
		func(tx pgx.Tx) error { return do(ctx, tx) })
}

const sqlCampaignContacts = `
INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone)
SELECT 'acme', now(), now(), substr(sha256(convert_to(n::text, 'UTF8')), 1, 16), n::text, '+1514' || lpad(n::text, 7, '0')
FROM generate_series(1, $1) n`

// makeTenant stores a tenant.
func (w *world) makeTenant(id string, quotas db.Quotas) error {
	return db.NewTenants(w.db).Create(w.ctx,
		db.Tenant{ID: id, Name: id, Tier: campaign.Standard, CreatedAt: time.Now(), Quotas: quotas}, "test")
}

// makeSender stores a number that a tenant sends from.
func (w *world) makeSender(box *secret.Box, tenant, number string) (uuid.UUID, error) {
	id := uuid.New()
	key, token, err := box.Seal(dboutreach.SenderPurpose(id), []byte("token"))
	if err != nil {
		return id, err
	}
	return id, dboutreach.NewSenders(w.db).Add(w.ctx, dboutreach.Sender{
		ID: id, Tenant: tenant, Name: "main", PhoneNumberID: number, BusinessAccountID: number, PerSecond: 1000,
		CreatedAt: time.Now(),
	}, db.Sealed{Key: key, Box: token}, "test")
}

// makeContacts stores the tenant with n contacts.
func (w *world) makeContacts(n int) error {
	if err := w.makeTenant("acme", db.Quotas{}); err != nil {
		return err
	}
	return w.everyTenant(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlCampaignContacts, n)
		return err
	})
}

// makeCampaign stores a campaign to all contacts of the tenant, whose time has come.
func (w *world) makeCampaign(box *secret.Box) (uuid.UUID, error) {
	sender, err := w.makeSender(box, "acme", "1")
	if err != nil {
		return uuid.Nil, err
	}
	return w.planCampaign(sender)
}

// planCampaign is makeCampaign from a sender that is there.
func (w *world) planCampaign(sender uuid.UUID) (id uuid.UUID, err error) {
	id = uuid.New()
	now, store := time.Now(), dboutreach.NewCampaigns(w.db, nil)
	if _, err := store.Create(w.ctx, "acme", id, dboutreach.Plan{
		Name: "spring", Sender: sender, Audience: campaign.Audience{All: true},
		Template: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "Bonjour"}},
	}, "test", now); err != nil {
		return id, err
	}
	_, err = store.Schedule(w.ctx, "acme", id, now, "test", now)
	return id, err
}

// disturbCampaign disturbs the sending of a campaign until it is done. The first fault comes after the first kill.
func (w *world) disturbCampaign(id uuid.UUID, left *[]fault, l *Ledger) (kills int) {
	var c dboutreach.Campaign
	return w.disturb(left, l, 1, func() bool {
		ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
		defer cancel()
		if got, err := dboutreach.NewCampaigns(w.db, nil).Get(ctx, "acme", id); err == nil {
			c = got
		}
		return c.State == campaign.Done
	}, func() string { return fmt.Sprintf("the campaign is %s: %s", c.State, c.Counts) })
}

// A sentAs is what became of a message.
type sentAs struct {
	ID       string
	To       string
	State    campaign.Status
	Attempts int
}

const sqlSentAs = `SELECT id::text, recipient, state, attempts FROM messages WHERE campaign IS NOT DISTINCT FROM $1`

// campaign compares what the tables say with what the API has accepted. It has n messages, of which up to most may be
// unknown.
func (l *Ledger) campaign(w *world, id uuid.UUID, api *cloudapi.API, n, most int) {
	rows, err := w.sent(&id)
	c, err2 := dboutreach.NewCampaigns(w.db, nil).Get(w.ctx, "acme", id)
	if err != nil || err2 != nil {
		l.Wrong = append(l.Wrong, fmt.Sprintf("the books cannot be read: %v, %v", err, err2))
		return
	}
	l.must("messages of the campaign", len(rows), n)
	l.must("counted by the campaign", int(c.Counts.Total()), n)
	dead := l.sent(rows, api, n, most)
	l.must("unknown by the campaign's count", int(c.Counts.Unknown), dead)
	l.must("campaigns done", b2i(c.State == campaign.Done && c.FinishedAt != nil), 1)
}

// sent are the messages of a campaign; nil = those of none.
func (w *world) sent(id *uuid.UUID) (rows []sentAs, err error) {
	err = w.everyTenant(func(ctx context.Context, tx pgx.Tx) (err error) {
		found, _ := tx.Query(ctx, sqlSentAs, id)
		rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[sentAs])
		return err
	})
	return rows, err
}

// sent compares n messages with what the API has accepted, and says how many are unknown, of which there may be most.
func (l *Ledger) sent(rows []sentAs, api *cloudapi.API, n, most int) (dead int) {
	answered := map[string]bool{}
	for _, a := range api.Ledger() {
		answered[a.Callback] = a.Answered
	}
	var twice, hidden, invented, other, again []string
	read, cut := 0, 0
	for _, m := range rows {
		accepts := api.Accepts(m.ID)
		switch {
		case accepts > 1:
			twice = append(twice, fmt.Sprintf("%s %d times", m.ID, accepts))
		case accepts == 1 && m.State != campaign.MessageRead:
			hidden = append(hidden, fmt.Sprintf("%s is %s", m.ID, m.State))
		case accepts == 1:
			read++
			if !answered[m.ID] {
				cut++
			}
		case m.State == campaign.MessageUnknown:
			dead++
		case m.State == campaign.MessageSent || m.State == campaign.MessageDelivered || m.State == campaign.MessageRead:
			invented = append(invented, m.ID)
		default:
			other = append(other, fmt.Sprintf("%s is %s", m.ID, m.State))
		}
		if m.Attempts > 1 && accepts == 1 && !answered[m.ID] {
			again = append(again, m.ID)
		}
	}
	l.within("accepted once, and read", read, n-most, n)
	l.row("told by the webhook alone", cut, "for their connections died")
	l.none("accepted more than once", twice)
	l.none("sent again after a connection that died", again)
	l.none("accepted, and not known to be", hidden)
	l.none("known to be sent, and not accepted", invented)
	l.within("unknown, and not accepted: with their worker or connection", dead, 0, most)
	l.none("neither sent nor unknown", other)
	return dead
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
