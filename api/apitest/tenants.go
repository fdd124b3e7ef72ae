package apitest

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Furnish makes what acme has, with the word secret in every text, and returns the IDs by their names in walk.
func Furnish(t *testing.T, f *Fort) map[string]string {
	t.Helper()

	ctx, contacts := t.Context(), dboutreach.NewContacts(f.Pool, nil)
	list, err := contacts.CreateList(ctx, "acme", "secret "+uuid.NewString(), "test", Now)
	require.NoError(t, err)
	c := contact.Contact{Email: "secret-" + uuid.NewString() + "@example.org", Name: "secret"}
	c.Key = contact.Key("", c.Email)
	id, _, err := contacts.Put(ctx, "acme", c, dboutreach.KnownUpdate, "test", Now)
	require.NoError(t, err)
	secret := dboutreach.Segment{ID: uuid.New(), Name: "secret " + uuid.NewString()}
	segment, err := contacts.PutSegment(ctx, "acme", secret, "test", Now)
	require.NoError(t, err)
	uploads := dboutreach.NewUploads(f.Pool)
	upload := func(state dboutreach.UploadState) uuid.UUID {
		file, err := f.Uploads.Blobs.PutUpload(ctx, strings.NewReader("phone,name\n+15145550123,secret\n"))
		require.NoError(t, err)
		u, err := uploads.Create(ctx, dboutreach.Upload{
			ID: uuid.New(), Tenant: "acme", FileName: "secret.csv", Blob: file.Key, Bytes: file.Bytes, SHA256: file.SHA256,
			CreatedBy: "secret", CreatedAt: Now, State: state,
		})
		require.NoError(t, err)
		return u.ID
	}
	held, ended := upload(dboutreach.UploadHeld), upload(dboutreach.UploadReceived)
	require.NoError(t, uploads.Planned(ctx, "acme", ended, []byte(`{"format":{"columns":["secret"]}}`), "", Now))
	require.NoError(t, uploads.Fail(ctx, "acme", ended, contact.Failure{Reason: "secret"}, Now))
	ids := map[string]string{
		"list": list.ID.String(), "contact": strconv.FormatInt(id, 10), "segment": segment.ID.String(),
		"upload": held.String(), "ended": ended.String(),
	}

	sender := AddSender(t, f.Pool, "acme", "secret "+uuid.NewString())
	ids["sender"] = sender.String()
	campaigns := dboutreach.NewCampaigns(f.Pool, nil)
	text := campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "secret"}}
	for _, state := range []campaign.State{campaign.Draft, campaign.Queued, campaign.Running, campaign.Paused} {
		id := NewCampaign(t, campaigns, "acme", dboutreach.Plan{
			Name: "secret", Sender: sender, Template: text, Audience: campaign.Audience{All: true},
		}, state)
		ids[string(state)] = id.String()
	}
	m, err := dboutreach.NewMessages(f.Pool, nil).Put(ctx, "acme", dboutreach.NewMessage{
		ID: uuid.New(), Sender: sender, Recipient: "+15145550199", Body: text,
	}, Now)
	require.NoError(t, err)
	ids["message"] = m.ID.String()
	search := saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: "secret " + uuid.NewString(), Kinds: saved.Kinds, State: saved.Active,
		Since: Now, CreatedAt: Now,
	}
	target := dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Feed}, Token: []byte(uuid.NewString()),
	}
	require.NoError(t, dblistings.NewSaved(f.Pool).Add(ctx, search, []dblistings.NewTarget{target}, "test"))
	ids["search"], ids["target"] = search.ID.String(), target.ID.String()
	return ids
}

// Walkable is an API with all that tenants may call.
func Walkable(t *testing.T) *Fort {
	t.Helper()

	pool := dbtest.New(t)
	f := &Fort{Pool: pool, KeyStore: db.NewKeys(pool), Clock: &Clock{At: Now}}
	f.Door = Bare(t, func(p *Parts) {
		p.Guard = api.NewGuard(api.GuardOptions{Keys: f.KeyStore, Log: Quiet, Now: f.Clock.Now})
		p.Tenants, p.Contacts.Store = db.NewTenants(pool), dboutreach.NewContacts(pool, nil)
		blobs, err := blob.Open(t.Context(), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, blobs.Close()) })
		p.Uploads.Store, p.Uploads.Blobs = dboutreach.NewUploads(pool), blobs
		p.Senders.Store, p.Messages.Store = dboutreach.NewSenders(pool), dboutreach.NewMessages(pool, nil)
		p.Searches.Store = dblistings.NewSaved(pool)
		p.Find = api.Find{Store: db.NewFinder(pool, dblistings.NewListings(pool).FindWords), Within: time.Minute}
		p.Campaigns = apioutreach.Campaigns{
			Store: dboutreach.NewCampaigns(pool, nil), Messages: p.Messages.Store, Senders: p.Senders.Store,
			Secrets: SecretBox(t, "new"),
		}
		p.Starting(&Starter{})
	})
	return f
}

// Recorded writes the refusals so far into the audit, as a process that ends does.
func (f *Fort) Recorded(t *testing.T) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	f.Guard.Run(ended)
}

// Audited are the actions on a subject, the first one first.
func (d *Door) Audited(t *testing.T, subject string) (actions []string) {
	t.Helper()
	rows, err := d.Pool.Query(t.Context(), "SELECT action FROM audit WHERE subject = $1 ORDER BY id", subject)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	return actions
}

// SenderBody is a request to add a sender.
const SenderBody = `{"name":"Support","phone_number_id":"101","business_account_id":"7","token":"EAAsecret"}`

// SecretBox has keys of these IDs, which tell their first letters apart.
func SecretBox(t *testing.T, keys ...string) *secret.Box {
	t.Helper()

	for i, k := range keys {
		keys[i] = k + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(k[:1], 32)))
	}
	b, err := secret.Parse(strings.Join(keys, ","))
	require.NoError(t, err)
	return b
}

// StoppedTenant makes a tenant that may be erased.
func StoppedTenant(t *testing.T, pool *pgxpool.Pool, id string) {
	t.Helper()

	Tenant(t, pool, id)
	_, err := db.NewTenants(pool).Change(t.Context(), id, "test", Now, func(t *db.Tenant) { t.State = db.TenantStopped })
	require.NoError(t, err)
}
