package db_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// part opens a database for the application, and for a role that has what these parts need.
func part(t *testing.T, queues ...string) (app, own *pgxpool.Pool) {
	t.Helper()

	ctx := t.Context()
	migrating, app := roles(t)
	role := "part-" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
	name := pgx.Identifier{role}.Sanitize()
	admin := migrating
	if dbtest.Query[bool](t, migrating, "SELECT NOT rolcreaterole AND NOT rolsuper FROM pg_roles WHERE rolname = current_user")[0] {
		admin = dbtest.New(t) // roles has taken the owner's place
	}
	_, err := admin.Exec(ctx, "CREATE ROLE "+name+" LOGIN PASSWORD 'x'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := migrating.Exec(context.WithoutCancel(ctx), "REVOKE ALL ON SCHEMA public FROM "+name)
		require.NoError(t, err)
		for _, kind := range []string{"TABLES", "SEQUENCES", "FUNCTIONS"} {
			_, err = migrating.Exec(context.WithoutCancel(ctx), "REVOKE ALL ON ALL "+kind+" IN SCHEMA public FROM "+name)
			require.NoError(t, err)
		}
		_, err = admin.Exec(context.WithoutCancel(ctx), "DROP ROLE "+name)
		require.NoError(t, err)
	})
	options := []db.MigrateOption{db.GrantTo(app.Config().ConnConfig.User)}
	for _, queue := range queues {
		options = append(options, db.GrantPart(queue, role))
	}
	for range 2 { // it may be repeated
		require.NoError(t, db.Migrate(ctx, migrating, options...))
	}
	return app, as(t, app, url.UserPassword(role, "x"))
}

// All that workers of scrapers and of drafts do with the database is done by a role that can do no more.
func TestPartsOfTheApplication(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	app, own := part(t, "browser", "drafts")
	at := time.Now().UTC().Truncate(time.Millisecond)

	drafts, event := dbdrafts.NewDrafts(own), uuid.New()
	require.NoError(t, dbdrafts.NewDrafts(app).SealDraft(ctx, event, db.Sealed{Key: "k1", Box: []byte("box")}, at))
	sealed, err := drafts.SealedDraft(ctx, event)
	require.NoError(t, err)
	require.Equal(t, "k1", sealed.Key)
	require.NoError(t, db.NewRetention(own).SpareBlob(ctx, "page.html"))
	for _, price := range []string{"25.00", "26.00"} {
		require.NoError(t, drafts.PersistDraft(ctx, dbtest.Crawled(event, at), dbtest.Draft("Kettle", price), at))
	}
	require.Equal(t, "26.00", dbtest.Query[string](t, app, "SELECT price::text FROM product_drafts")[0])

	of := scrape.Search{Platform: "kijiji", Name: scrape.DefaultSearch}
	platforms, operated := dblistings.NewPlatforms(own), dblistings.NewPlatforms(app)
	require.NoError(t, operated.Configure(ctx, of.Platform, scrape.Settings{
		URL: "http://127.0.0.1/b-apartments-condos/montreal/c37l1700281", Enabled: true,
		Pace: scrape.Pace{Transport: scrape.HTTP, Delay: time.Second, MaxPages: 5, Cooldown: time.Minute},
	}, at))
	plan, err := operated.Begin(ctx, of.Platform, at)
	require.NoError(t, err)
	cycle := plan.Cycle
	card := func(id string) scrape.Card {
		return scrape.Card{PlatformID: id, URL: "http://127.0.0.1/v-apartments-condos/montreal/x/" + id, Fingerprint: "a"}
	}
	shown := scrape.Results{Total: 3, Cards: []scrape.Card{card("1000000001"), card("1000000002"), card("1000000003")}}

	_, err = platforms.Turn(ctx, of, time.Second, at)
	require.NoError(t, err)
	_, err = platforms.Settings(ctx, of)
	require.NoError(t, err)
	require.NoError(t, platforms.Looked(ctx, of, at))
	visits, err := platforms.Seen(ctx, of, cycle, 1, shown, at)
	require.NoError(t, err)
	require.Len(t, visits, 3)
	_, _, _, err = platforms.Newest(ctx, of, cycle, shown, at)
	require.NoError(t, err)
	_, err = platforms.Due(ctx, of.Platform, cycle, visits, at)
	require.NoError(t, err)
	_, err = platforms.Chores(ctx, of.Platform, cycle, at)
	require.NoError(t, err)
	cents := int64(90_000)
	ref := listing.Ref{Platform: of.Platform, PlatformID: visits[0].PlatformID}
	price := contract.ScrapedPrice{AmountCents: &cents, Type: "FIXED"}
	require.NoError(t, platforms.Found(ctx, cycle, scrape.FoundAdvert{Visit: visits[0], Payload: []byte("{}"), Raw: listing.Raw{
		Ref: ref, URL: visits[0].URL, ScrapedAt: at, Title: "Beau 4½", Price: listing.RawPrice(price),
	}}))
	require.NoError(t, platforms.Failed(ctx, listing.Ref{Platform: of.Platform, PlatformID: visits[1].PlatformID}, cycle, "503", at))
	require.NoError(t, platforms.Gone(ctx, listing.Ref{Platform: of.Platform, PlatformID: visits[2].PlatformID}, cycle, "404", at))
	_, err = platforms.NoResults(ctx, of, cycle, 2, -1, "no adverts on a page that is not the last", at)
	require.NoError(t, err)
	_, err = platforms.Refused(ctx, of.Platform, cycle, "429", time.Minute, 0.5, at)
	require.NoError(t, err)
	require.NoError(t, platforms.Suspect(ctx, of.Platform, scrape.Suspicion{Of: "cycle", Reason: "no adverts"}, at))
	require.NoError(t, platforms.Trouble(ctx, of.Platform, "no browser", at))
	require.NoError(t, platforms.Unreached(ctx, of, "proxy: no route", at.Add(time.Minute), at))
	require.Equal(t, 2, dbtest.Query[int](t, app, "SELECT count(*)::int FROM outbox WHERE routing_key IN "+
		"('kijiji', 'drafts.completed')")[0], "the advert, and the draft once for its time")

	// And nothing else: neither people nor keys, whichever tenant it says that it is of.
	_, err = own.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', false)")
	require.NoError(t, err)
	for _, s := range []string{
		"SELECT count(*) FROM contacts", "SELECT count(*) FROM messages", "SELECT * FROM senders", "SELECT * FROM tenants",
		"SELECT * FROM api_keys", "INSERT INTO api_keys DEFAULT VALUES", "SELECT * FROM sessions", "SELECT * FROM audit",
		"SELECT body FROM dead_letters", "DELETE FROM raw_listings", "SELECT * FROM opt_outs",
		"SELECT body FROM outbox", "DELETE FROM outbox", "INSERT INTO draft_secrets DEFAULT VALUES", "SELECT * FROM listings",
		"SELECT partitions_expire('audit', now(), '', 10)", "CREATE TABLE t (a int)",
	} {
		_, err := own.Exec(ctx, s)
		require.ErrorContains(t, err, "permission denied", s)
	}
}

// A part reaches nothing of what the others are for: whoever takes over its process does not, either. What tenants have
// is hidden from it, too, until it says whose rows it reads.
func TestPartsReachNoOthers(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	logins := []string{
		"SELECT sum FROM api_keys", "INSERT INTO api_keys DEFAULT VALUES", "SELECT sum FROM sessions", "DELETE FROM audit",
		"CREATE TABLE t (a int)", "SELECT * FROM goose_db_version",
	}
	people := []string{
		"SELECT phone FROM contacts", "SELECT recipient FROM messages", "SELECT token FROM senders", "SELECT * FROM opt_outs",
		"SELECT box FROM saved_targets", "SELECT * FROM tenant_erasures", "SELECT * FROM uploads",
	}
	pages := []string{"SELECT * FROM crawl_urls", "SELECT box FROM draft_secrets", "SELECT * FROM raw_listings"}
	for _, of := range []struct {
		parts  []string
		denied [][]string
	}{
		{[]string{"upload_jobs", "upload_chunks", "import_persistence"}, [][]string{logins, pages, {
			"SELECT token FROM senders", "SELECT recipient FROM messages", "SELECT body FROM outbox", "SELECT box FROM saved_targets",
			"DELETE FROM opt_outs", "DELETE FROM contacts",
		}}},
		{[]string{"crawl"}, [][]string{logins, people, {
			"SELECT body FROM outbox", "SELECT body FROM dead_letters", "SELECT * FROM listings", "SELECT * FROM raw_listings",
			"SELECT box FROM draft_secrets",
		}}},
		{[]string{"campaigns", "message_dispatch", "message_retry", "notify"}, [][]string{logins, pages, {
			"SELECT * FROM uploads", "SELECT body FROM outbox", "DELETE FROM contacts", "DELETE FROM listings",
		}}},
		{[]string{"api"}, [][]string{{
			"CREATE TABLE t (a int)", "SELECT * FROM goose_db_version", "DELETE FROM audit", "UPDATE audit SET actor = ''",
			"DELETE FROM api_keys", "UPDATE api_keys SET sum = ''", "UPDATE sessions SET sum = ''", "DELETE FROM tenants",
			"UPDATE tenant_erasures SET finished_at = now()", "DELETE FROM senders", "DELETE FROM messages", "DELETE FROM opt_outs",
			"DELETE FROM campaigns", "DELETE FROM listings", "DELETE FROM raw_listings", "INSERT INTO product_drafts DEFAULT VALUES",
			"SELECT partitions_expire('audit', now(), '', 10)", "SELECT partitions_make('audit', now())",
		}}},
		{[]string{"bridge"}, [][]string{logins, people, {"SELECT * FROM crawl_urls", "DELETE FROM listings"}}},
		{[]string{"listings"}, [][]string{{ // which deletes these rows
			"SELECT phone FROM contacts", "SELECT recipient FROM messages", "SELECT body FROM messages", "SELECT token FROM senders",
			"SELECT * FROM opt_outs", "SELECT box FROM saved_targets", "SELECT sum FROM api_keys", "INSERT INTO api_keys DEFAULT VALUES",
			"DELETE FROM audit", "CREATE TABLE t (a int)", "SELECT * FROM crawl_urls FOR UPDATE", "SELECT box FROM draft_secrets",
			"SELECT body FROM webhook_events", "SELECT record FROM upload_errors", "SELECT persons FROM upload_errors",
			"SELECT wamid FROM message_attempts",
		}}},
		{[]string{"images", "enrich", "search"}, [][]string{logins, people, {"SELECT box FROM draft_secrets"}}},
	} {
		_, own := part(t, of.parts...)
		_, err := own.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', false)")
		require.NoError(t, err)
		for _, text := range slices.Concat(of.denied...) {
			_, err := own.Exec(ctx, text)
			require.ErrorContains(t, err, "permission denied", "%s: %s", of.parts, text)
		}
		sees, err := db.RoleSeesAll(ctx, own, own.Config().ConnConfig.User)
		require.NoError(t, err)
		require.False(t, sees)
	}

	app, own := part(t, "import_persistence")
	dbtest.NewTenant(t, app, "acme")
	dbtest.NewTenant(t, app, "umbrella")
	dbtest.ExecAll(t, app, `INSERT INTO contacts (tenant, key, digest, created_at, updated_at)
		SELECT t, '+1', '\x00', now(), now() FROM unnest(ARRAY['acme', 'umbrella']) t`)
	require.Equal(t, 0, dbtest.Query[int](t, own, "SELECT count(*)::int FROM contacts")[0])
	require.NoError(t, db.TenantTx(ctx, own, "acme", func(tx pgx.Tx) error {
		var tenant string
		err := tx.QueryRow(ctx, "SELECT string_agg(tenant, ' ') FROM contacts").Scan(&tenant)
		require.Equal(t, "acme", tenant)
		return err
	}))
}

// What the API asks for by statements that are put together when they run, its role may ask for.
func TestPartServesTheAPI(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	app, own := part(t, "api")
	dbtest.NewTenant(t, app, "acme")
	key := dboutreach.NewOptOutKey(own, nil)
	exports := dboutreach.NewErasures(own, key)
	for _, table := range exports.Tables() {
		_, err := exports.Read(ctx, "acme", table, "", 100, 1<<20, func(string) {})
		require.NoError(t, err, table.Name)
	}

	contacts := dboutreach.NewContacts(own, key)
	filter := contact.Filter{Any: []contact.Filter{
		{Tag: "vip"}, {Not: &contact.Filter{List: uuid.NewString()}}, {Field: "city", Exists: new(true)},
	}}
	_, _, err := contacts.Search(ctx, "acme", filter, 0, 10)
	require.NoError(t, err)
	_, err = contacts.Count(ctx, "acme", filter)
	require.NoError(t, err)

	dbtest.ExecAll(t, app,
		`INSERT INTO senders (tenant, id, name, phone_number_id, business_account_id, token, token_key, per_second, state, created_at,
				updated_at)
			VALUES ('acme', '0198c0de-0000-7000-8000-000000000001', 'a', '1', '1', '', 'k', 1, 'active', now(), now())`)
	id := uuid.New()
	dbtest.ExecAll(t, app, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, created_by, created_at, updated_at)
		SELECT '`+id.String()+`', 'acme', 'spring', s.id, '{"type": "text", "text": {"body": "a"}}', '{"all": true}', 'draft', 'zoe',
			now(), now() FROM senders s`)
	_, err = dboutreach.NewCampaigns(own, key).Audience(ctx, "acme", id, 10)
	require.NoError(t, err)

	for _, within := range []time.Duration{time.Minute, 0} {
		_, _, err = dblistings.NewReplays(own).Count(ctx, listing.ReplayFilter{}, within, time.Now())
		require.NoError(t, err)
	}
}

// What an erasure does is put together when it runs, and a role of its own does it.
func TestPartErasesTenants(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	app, own := part(t, "listings")
	dbtest.NewTenant(t, app, "acme", func(of *db.Tenant) { of.State = db.TenantStopped })
	now := dbtest.At(1)
	_, err := db.NewTenants(app).Change(ctx, "acme", "me", now, func(of *db.Tenant) { of.State = db.TenantStopped })
	require.NoError(t, err)
	_, err = dboutreach.NewErasures(app, nil).Request(ctx, "acme", "me", now)
	require.NoError(t, err)
	s := dboutreach.NewErasures(own, nil)
	for more := true; more; {
		more, err = s.Erase(ctx, "acme", 100)
		require.NoError(t, err)
	}
	require.NoError(t, s.Finish(ctx, "acme", now))
}

// Each part has what its own workers need, and what a role had before goes.
func TestOnePartOnly(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	_, own := part(t, "drafts")
	_, err := own.Exec(ctx, "SELECT count(*) FROM product_drafts")
	require.NoError(t, err)
	_, err = own.Exec(ctx, "SELECT count(*) FROM platforms")
	require.ErrorContains(t, err, "permission denied")
}

// A part is not given to a role that would lose what it needs, nor for processes that there are not.
func TestPartsAreRefused(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	migrating, working := roles(t)
	app := working.Config().ConnConfig.User
	for role, queue := range map[string]string{app: "drafts", migrating.Config().ConnConfig.User: "drafts", "other": "jobs"} {
		require.Error(t, db.Migrate(ctx, migrating, db.GrantTo(app), db.GrantPart(queue, role)), role)
	}
	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(app)))
	_, err := dbdrafts.NewDrafts(working).SealedDraft(ctx, uuid.New())
	dbtest.RequireClass(t, fault.Gone, err)
}
