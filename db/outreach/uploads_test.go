package outreach_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// phone is the number of person n.
func phone(n int) string { return fmt.Sprintf("+1514%07d", n) }

// person is row number of a file: person n.
func person(number, n int) contact.Row {
	c := contact.Contact{
		Phone: phone(n), Country: "CA", Email: fmt.Sprintf("p%d@example.org", n), Name: fmt.Sprintf("Person %d", n),
		GivenName: "Person", FamilyName: fmt.Sprint(n), Locale: "fr-CA", Tags: []string{"file"},
		Fields: map[string]string{"city": "Montréal", "row": fmt.Sprint(n)},
	}
	c.Key = contact.Key(c.Phone, c.Email)
	return contact.Row{Number: int64(number), Line: int64(number + 1), Contact: c}
}

// refusedRow is a row that is no contact.
func refusedRow(number int) contact.Row {
	return contact.Row{
		Number: int64(number), Line: int64(number + 1), Record: []string{"12\x00", "x"},
		Problems: []contact.Problem{
			{Field: "phone", Code: contact.CodePhone, Message: "12 is no number"},
			{Field: "email", Code: contact.CodeEmail, Message: "x is no address"},
		},
	}
}

// chunksOf cuts rows into chunks of size.
func chunksOf(rows []contact.Row, size int) (chunks []contact.Chunk, parsed []contact.ParsedChunk) {
	for part := range slices.Chunk(rows, size) {
		n := len(chunks)
		chunks = append(chunks, contact.Chunk{
			N: n, Offset: int64(n) * 100, Length: 100, FirstRow: part[0].Number, FirstLine: part[0].Line, Rows: len(part),
			Lines: int64(len(part)),
		})
		parsed = append(parsed, contact.ParsedChunk{N: n, Rows: part})
	}
	return chunks, parsed
}

// uploads are those of a database with the tenant acme.
func uploads(t testing.TB) (*pgxpool.Pool, context.Context, *dboutreach.Uploads) {
	t.Helper()

	pool := dbtest.New(t)
	dbtest.NewTenant(t, pool, "acme")
	return pool, t.Context(), dboutreach.NewUploads(pool)
}

// newUpload makes an upload of a tenant, of which nothing is read yet.
func newUpload(t testing.TB, s *dboutreach.Uploads, tenant string, change ...func(*dboutreach.Upload)) dboutreach.Upload {
	t.Helper()

	u := dboutreach.Upload{
		ID: uuid.New(), Tenant: tenant, FileName: "people.csv", Blob: "uploads/1", Bytes: 1, SHA256: []byte{1}, CreatedBy: "me",
		CreatedAt: dbtest.At(0),
	}
	for _, c := range change {
		c(&u)
	}
	u, err := s.Create(t.Context(), u)
	require.NoError(t, err)
	return u
}

// upload makes an upload of a tenant and adds chunks of rows, which are all parsed.
func upload(t testing.TB, s *dboutreach.Uploads, tenant string, rows []contact.Row, size int, change ...func(*dboutreach.Upload)) (
	dboutreach.Upload, []contact.ParsedChunk,
) {
	t.Helper()

	ctx, u := t.Context(), newUpload(t, s, tenant, change...)
	require.NoError(t, s.Planned(ctx, tenant, u.ID, []byte(`{"format":{}}`), "", dbtest.At(1)))
	chunks, parsed := chunksOf(rows, size)
	require.NoError(t, s.AddChunks(ctx, tenant, u.ID, chunks, dbtest.At(1)))
	require.NoError(t, s.Split(ctx, tenant, u.ID, len(chunks)))
	for _, c := range chunks {
		require.NoError(t, s.Parsed(ctx, tenant, u.ID, []int{c.N}, dbtest.At(2)))
	}
	return u, parsed
}

// tally is what became of the rows of an upload.
func tally(u dboutreach.Upload) string {
	return fmt.Sprintf("%d = %d + %d + %d; %d = %d + %d + %d", u.RowsRead, u.Valid, u.Invalid, u.Duplicate, u.Valid, u.New,
		u.Updated, u.Skipped)
}

func get(t testing.TB, s *dboutreach.Uploads, u dboutreach.Upload) dboutreach.Upload {
	t.Helper()

	got, err := s.Get(t.Context(), u.Tenant, u.ID)
	require.NoError(t, err)
	return got
}

// number is a count over the rows of all tenants.
func number(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()

	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(t, err)
	require.NoError(t, tx.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// killer closes the connection at the begin of a statement, counted from 1; 0 = of none.
type killer struct{ left atomic.Int64 }

func (k *killer) at(ctx context.Context, conn *pgx.Conn) context.Context {
	if k.left.Add(-1) == 0 {
		_ = conn.PgConn().Conn().Close()
	}
	return ctx
}

func (k *killer) TraceQueryStart(ctx context.Context, c *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return k.at(ctx, c)
}
func (k *killer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (k *killer) TraceBatchStart(ctx context.Context, c *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return k.at(ctx, c)
}
func (k *killer) TraceBatchQuery(ctx context.Context, c *pgx.Conn, _ pgx.TraceBatchQueryData) {
	k.at(ctx, c)
}
func (k *killer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// Persist is killed in each of its steps, in every batch, and beside another one. The table has the distinct rows of
// the file, and the counts are those of the file.
func TestPersistSurvives(t *testing.T) {
	t.Parallel()

	const batch = 10
	total, size, killed := 100_000, 1000, 4 // the last: batches with kills
	if testing.Short() {
		total, size, killed = 4000, 100, 2
	}
	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	k := &killer{}
	mortal, err := db.Open(ctx, dbtest.Direct(t, pool), 4, func(c *pgxpool.Config) { c.ConnConfig.Tracer = k })
	require.NoError(t, err)
	t.Cleanup(mortal.Close)
	s, dying := dboutreach.NewUploads(pool), dboutreach.NewUploads(mortal)

	var rows []contact.Row
	distinct, invalid := map[string]bool{}, 0
	for i := range total {
		switch {
		case i%50 == 7:
			rows = append(rows, refusedRow(i+1))
			invalid++
			continue
		case i%10 == 3: // a duplicate: mostly of another chunk
			rows = append(rows, person(i+1, i/2))
		default:
			rows = append(rows, person(i+1, i))
		}
		distinct[rows[i].Contact.Key] = true
	}
	u, parsed := upload(t, s, "acme", rows, size)

	kills := 0
	for part := range slices.Chunk(parsed, batch) {
		ready, err := s.Ready(ctx, "acme", u.ID, batch)
		require.NoError(t, err)
		require.Len(t, ready, len(part))
		require.Equal(t, part[0].N, ready[0].N)
		for step := int64(1); ; step++ {
			if part[0].N%30 != 0 { // the others are as these
				step = 1000
			}
			k.left.Store(step)
			err := dying.Persist(ctx, "acme", u.ID, part, dbtest.At(3))
			if k.left.Load() > 0 {
				require.NoError(t, err, "after %d steps", step)
				break
			}
			require.Error(t, err)
			kills++
		}
		k.left.Store(0)
		require.Equal(t, part[len(part)-1].N+1, get(t, s, u).Stored)
		// The same again, twice at once, beside a worker that was slower.
		var twice errgroup.Group
		for range 2 {
			twice.Go(func() error { return s.Persist(ctx, "acme", u.ID, part, dbtest.At(3)) })
		}
		require.NoError(t, twice.Wait())
	}
	require.Greater(t, kills, killed*6)

	got := get(t, s, u)
	n := len(distinct)
	require.Equal(t, fmt.Sprintf("%d = %d + %d + %d; %d = %d + 0 + 0", total, n, invalid, total-n-invalid, n, n), tally(got))
	require.Equal(t, n, number(t, pool, "SELECT count(*) FROM contacts"))
	require.Equal(t, n, number(t, pool, "SELECT contacts FROM tenants"))
	require.Equal(t, n, number(t, pool, "SELECT count(DISTINCT digest) FROM contacts"))
	require.Equal(t, invalid, number(t, pool, "SELECT count(*) FROM upload_errors"))
	done, err := s.Finish(ctx, "acme", u.ID, dbtest.At(4))
	require.NoError(t, err)
	require.Equal(t, dboutreach.UploadDone, done.State)
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[:1], dbtest.At(5)), "a worker that comes late")
	require.Equal(t, got.New, get(t, s, u).New)
	for more := true; more; {
		more, err = s.Sweep(ctx, "acme", u.ID, 30_000, dbtest.At(20))
		require.NoError(t, err)
	}
	require.Zero(t, number(t, pool, "SELECT count(*) FROM upload_keys"))

	// The same file once more: nothing is written, for nothing differs.
	u, parsed = upload(t, s, "acme", rows, size)
	for part := range slices.Chunk(parsed, batch) {
		require.NoError(t, s.Persist(ctx, "acme", u.ID, part, dbtest.At(6)))
	}
	require.Equal(t, fmt.Sprintf("%d = %d + %d + %d; %d = 0 + 0 + %d", total, n, invalid, total-n-invalid, n, n),
		tally(get(t, s, u)))
	require.Zero(t, number(t, pool, "SELECT count(*) FROM contacts WHERE upload = $1", u.ID))
}

// The keys of a file that came since the table was analyzed are found by where they are, not by reading all of them for
// each.
func TestUploadKeysSweepPlan(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	dbtest.NewTenant(t, pool, "acme")
	var rows []contact.Row
	for i := range 2000 {
		rows = append(rows, person(i+1, i))
	}
	s := dboutreach.NewUploads(pool)
	u, parsed := upload(t, s, "acme", rows, len(rows))
	require.NoError(t, s.Persist(t.Context(), "acme", u.ID, parsed, dbtest.At(3)))
	dbtest.Alter(t, pool, "ANALYZE upload_keys")
	plan := dbtest.Query[string](t, pool, "EXPLAIN "+dbtest.Statements(t)["sqlUploadKeysSweep"], "acme", uuid.New(), 1000)
	require.Contains(t, strings.Join(plan, "\n"), "Tid Scan on upload_keys")
}

// A file is imported as its preview showed it: the region that its tenant was given in between is not asked for. It has
// its options, and the room for its copy, until it has a plan.
func TestImportOfAnUpload(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	u := newUpload(t, s, "acme", func(u *dboutreach.Upload) { u.Options = []byte(`{"sheet":"a"}`) })
	_, err := db.NewTenants(pool).Change(ctx, "acme", "me", dbtest.At(1), func(t *db.Tenant) {
		t.Region, t.MaxBytes, t.MaxContacts = "CA", new(int64(8)), new(int64(9))
	})
	require.NoError(t, err)
	want := contact.Import{
		Progress: contact.Progress{State: "received"}, Tenant: "acme", ID: u.ID, File: u.Blob, Bytes: u.Bytes,
		Options: contact.Options{Sheet: "a"}, Room: new(int64(7)), Left: new(int64(9)),
	}
	got, err := s.Import(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, s.Planned(ctx, "acme", u.ID, []byte(`{"records":true}`), "", dbtest.At(1)))
	want.State, want.Options, want.Room, want.Left = "splitting", contact.Options{}, nil, nil
	got, err = s.Import(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.NotNil(t, got.Plan)
	got.Plan = nil
	require.Equal(t, want, got)
	_, err = s.Import(ctx, "umbrella", u.ID)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

// The first row of a key in the file counts, whichever chunk is parsed first.
func TestPersistInOrder(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	rows := []contact.Row{person(1, 1), person(2, 2), person(3, 1), person(4, 3)}
	rows[2].Contact.Name = "An impostor"
	u, parsed := upload(t, s, "acme", rows, 2)
	err := s.Persist(ctx, "acme", u.ID, parsed[1:], dbtest.At(3))
	require.Equal(t, fault.Transient, fault.ClassOf(err), "chunk 0 may have been stored, and be lost by a crash of Postgres")
	require.ErrorContains(t, err, "chunk 1 comes before chunk 0")
	wrong := []contact.ParsedChunk{{N: 0, Rows: rows[:1]}}
	require.Equal(t, fault.Invalid, fault.ClassOf(s.Persist(ctx, "acme", u.ID, wrong, dbtest.At(3))), "a row is missing")
	slices.Reverse(parsed)
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed, dbtest.At(3)))
	require.Equal(t, "4 = 3 + 0 + 1; 3 = 3 + 0 + 0", tally(get(t, s, u)))
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM contacts WHERE name = 'Person 1'"))
}

// What was reserved ahead and is lost by a crash of Postgres is reserved once more.
func TestPersistLostReservation(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	u, parsed := upload(t, s, "acme", []contact.Row{person(1, 1), person(2, 2), person(3, 1), person(4, 3)}, 2)
	require.NoError(t, s.Reserve(ctx, "acme", u.ID, parsed[:1]))
	dbtest.Alter(t, pool, "DELETE FROM upload_keys; UPDATE upload_chunks SET reserved = false")
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[:1], dbtest.At(3)))
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[1:], dbtest.At(3)))
	require.Equal(t, "4 = 3 + 0 + 1; 3 = 3 + 0 + 0", tally(get(t, s, u)), "one of them is a duplicate")
}

func TestPersistKnown(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	dbtest.NewTenant(t, pool, "umbrella")
	list, err := dboutreach.NewContacts(pool, nil).CreateList(ctx, "acme", "Friends", "me", dbtest.At(0))
	require.NoError(t, err)
	persist := func(tenant string, rows []contact.Row, change ...func(*dboutreach.Upload)) dboutreach.Upload {
		u, parsed := upload(t, s, tenant, rows, 2, change...)
		require.NoError(t, s.Persist(ctx, tenant, u.ID, parsed, dbtest.At(3)))
		return get(t, s, u)
	}
	rows := func(ns ...int) (out []contact.Row) {
		for i, n := range ns {
			out = append(out, person(i+1, n))
		}
		return out
	}
	require.Equal(t, "3 = 3 + 0 + 0; 3 = 3 + 0 + 0", tally(persist("acme", rows(1, 2, 3))))
	require.Equal(t, "2 = 2 + 0 + 0; 2 = 2 + 0 + 0", tally(persist("umbrella", rows(1, 2))), "another tenant's people")

	changed := rows(2, 4)
	changed[0].Contact.Name, changed[0].Contact.Email = "Deux", ""
	changed[0].Contact.Tags, changed[0].Contact.Fields = []string{"new", "file"}, map[string]string{"city": "Laval"}
	dry := persist("acme", changed, func(u *dboutreach.Upload) { u.DryRun, u.Lists = true, []uuid.UUID{list.ID} })
	require.Equal(t, "2 = 2 + 0 + 0; 2 = 1 + 1 + 0", tally(dry))
	require.Equal(t, 3, number(t, pool, "SELECT count(*) FROM contacts WHERE tenant = 'acme'"))
	require.Zero(t, number(t, pool, "SELECT count(*) FROM contact_list_members"))

	skip := persist("acme", changed, func(u *dboutreach.Upload) { u.Known, u.Lists = dboutreach.KnownSkip, []uuid.UUID{list.ID} })
	require.Equal(t, "2 = 2 + 0 + 0; 2 = 1 + 0 + 1", tally(skip))
	require.Equal(t, 2, number(t, pool, "SELECT count(*) FROM contact_list_members"), "the known one too")
	require.Zero(t, number(t, pool, "SELECT count(*) FROM contacts WHERE name = 'Deux'"))

	fail := persist("acme", changed, func(u *dboutreach.Upload) { u.Known = dboutreach.KnownFail })
	require.Equal(t, "2 = 0 + 2 + 0; 0 = 0 + 0 + 0", tally(fail))
	errs, next, err := s.Errors(ctx, "acme", fail.ID, 0, 1)
	require.NoError(t, err)
	require.Equal(t, dboutreach.CodeKnown, errs[0].Problems[0].Code)
	errs, next, err = s.Errors(ctx, "acme", fail.ID, *next, 1)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Equal(t, int64(2), errs[0].Number)

	update := persist("acme", changed, func(u *dboutreach.Upload) { u.Tags = []string{"november"} })
	require.Equal(t, "2 = 2 + 0 + 0; 2 = 0 + 2 + 0", tally(update))
	require.Equal(t, 1, number(t, pool, `SELECT count(*) FROM contacts WHERE name = 'Deux' AND email = 'p2@example.org'
		AND tags = '{file,new,november}' AND fields = '{"city": "Laval", "row": "2"}' AND upload = $1 AND tenant = 'acme'`,
		update.ID))
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM contacts WHERE name = 'Person 2' AND tenant = 'umbrella'"))
}

func TestPersistQuota(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme", func(t *db.Tenant) { t.MaxContacts = new(int64(3)) })
	s := dboutreach.NewUploads(pool)
	var rows []contact.Row
	for i := range 6 {
		rows = append(rows, person(i+1, i))
	}
	for _, dry := range []bool{true, false, false} {
		u, parsed := upload(t, s, "acme", rows, 2, func(u *dboutreach.Upload) { u.DryRun = dry })
		for _, c := range parsed {
			require.NoError(t, s.Persist(ctx, "acme", u.ID, []contact.ParsedChunk{c}, dbtest.At(3)))
		}
		errs, _, err := s.Errors(ctx, "acme", u.ID, 0, 10)
		require.NoError(t, err)
		require.Len(t, errs, 3)
		require.Equal(t, int64(4), errs[0].Number, "the first ones of the file are stored")
		require.Equal(t, dboutreach.CodeQuota, errs[0].Problems[0].Code)
		require.Equal(t, int64(3), get(t, s, u).Invalid)
	}
	require.Equal(t, 3, number(t, pool, "SELECT count(*) FROM contacts"))
	require.Equal(t, 3, number(t, pool, "SELECT contacts FROM tenants"))
}

// What is kept of refused rows is bounded for an upload and counts for the quota of its tenant, until it is deleted.
// Those that are not kept are counted all the same.
func TestPersistListsTheFirstRefused(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme", func(t *db.Tenant) { t.MaxBytes = new(int64(100_000)) })
	s := dboutreach.NewUploads(pool)
	rows := []contact.Row{person(1, 1)}
	for n := 2; n <= 30; n++ {
		r := refusedRow(n)
		r.Record = []string{"12", strings.Repeat("x", 9000)}
		rows = append(rows, r)
	}
	rows = append(rows, refusedRow(31)) // for which there would be room
	persist := func(before ...string) dboutreach.Upload {
		u, parsed := upload(t, s, "acme", rows, 8, func(u *dboutreach.Upload) { u.DryRun = true })
		for _, sql := range before {
			dbtest.ExecAll(t, pool, sql)
		}
		for part := range slices.Chunk(parsed, 2) {
			require.NoError(t, s.Persist(ctx, "acme", u.ID, part, dbtest.At(3)))
		}
		got := get(t, s, u)
		require.Equal(t, "31 = 1 + 30 + 0; 1 = 1 + 0 + 0", tally(got))
		return got
	}
	first := persist()
	require.Equal(t, int64(20), first.Unlisted, "ten of them fill the quota")
	left, err := s.Room(ctx, "acme", uuid.Nil)
	require.NoError(t, err)
	require.Less(t, *left, int64(9000))
	require.Equal(t, 100_000-first.RefusedBytes-first.Bytes, *left)
	kept, next, err := s.Errors(ctx, "acme", first.ID, 0, 100)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Len(t, kept, 10)
	require.Equal(t, int64(2), kept[0].Number)
	require.Equal(t, int64(11), kept[9].Number)
	require.Equal(t, rows[10].Record, kept[9].Record, "whole")

	dbtest.ExecAll(t, pool, "UPDATE uploads SET blob = ''") // as retention does once it has deleted the rows
	left, err = s.Room(ctx, "acme", uuid.Nil)
	require.NoError(t, err)
	require.Equal(t, int64(100_000), *left)
	second := persist("UPDATE uploads SET refused_bytes = 512 << 20 WHERE blob <> ''",
		"UPDATE tenants SET max_bytes = NULL")
	require.Equal(t, int64(30), second.Unlisted, "it has as many as any upload may")
}

// Keys are reserved ahead of storing, in the order of the file and as often as it is tried, also by two at once.
func TestReserve(t *testing.T) {
	t.Parallel()

	_, ctx, s := uploads(t)
	rows := []contact.Row{person(1, 1), person(2, 2), person(3, 1), person(4, 3), refusedRow(5), person(6, 3), person(7, 2)}
	u, parsed := upload(t, s, "acme", rows, 2)
	again := func(chunks []contact.ParsedChunk) (out []contact.ParsedChunk) {
		for _, c := range chunks {
			out = append(out, contact.ParsedChunk{N: c.N, Rows: c.Rows})
		}
		return out
	}
	for _, c := range [][]contact.ParsedChunk{parsed[1:], parsed[3:], {parsed[0], parsed[2]}} {
		require.Equal(t, fault.Conflict, fault.ClassOf(s.Reserve(ctx, "acme", u.ID, again(c))))
	}
	require.NoError(t, s.Reserve(ctx, "acme", u.ID, again(parsed[:2])), "and then its worker dies")
	var two errgroup.Group
	others := again(parsed)
	two.Go(func() error { return s.Reserve(ctx, "acme", u.ID, parsed) })
	two.Go(func() error { return s.Reserve(ctx, "acme", u.ID, others[:3]) })
	require.NoError(t, two.Wait())
	var first []bool
	for _, c := range parsed {
		first = append(first, c.First...)
	}
	require.Equal(t, []bool{true, true, false, true, false, false, false}, first)
	require.Equal(t, parsed[:3], others[:3])

	require.NoError(t, s.Persist(ctx, "acme", u.ID, again(parsed[:1]), dbtest.At(3)), "reserved by another")
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[1:], dbtest.At(3)))
	require.Equal(t, "7 = 3 + 1 + 3; 3 = 3 + 0 + 0", tally(get(t, s, u)))
	_, err := s.Finish(ctx, "acme", u.ID, dbtest.At(4))
	require.NoError(t, err)
	late := again(parsed[3:])
	require.NoError(t, s.Reserve(ctx, "acme", u.ID, late))
	require.Nil(t, late[0].First, "it is over")
	require.Equal(t, fault.Gone, fault.ClassOf(s.Reserve(ctx, "acme", uuid.New(), late)))
}

// Two uploads of a tenant with the same people at once do not wait for each other in a circle.
func TestPersistTogether(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	list, err := dboutreach.NewContacts(pool, nil).CreateList(ctx, "acme", "All", "me", dbtest.At(0))
	require.NoError(t, err)
	var up, down []contact.Row
	for i := range 6000 {
		up, down = append(up, person(i+1, i)), append(down, person(i+1, 5999-i))
		down[i].Contact.Name = "Down"
	}
	var work errgroup.Group
	var sums [2]dboutreach.Upload
	for i, rows := range [][]contact.Row{up, down} {
		u, parsed := upload(t, s, "acme", rows, 1000, func(u *dboutreach.Upload) { u.Lists = []uuid.UUID{list.ID} })
		sums[i] = u
		work.Go(func() error {
			for _, c := range parsed {
				if err := s.Persist(ctx, "acme", u.ID, []contact.ParsedChunk{c}, dbtest.At(3)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, work.Wait())
	a, b := get(t, s, sums[0]), get(t, s, sums[1])
	require.Equal(t, int64(6000), a.Valid)
	require.Equal(t, int64(6000), b.Valid)
	require.Equal(t, int64(6000), a.New+b.New)
	require.Equal(t, 6000, number(t, pool, "SELECT count(*) FROM contact_list_members"))
	require.Equal(t, 6000, number(t, pool, "SELECT contacts FROM tenants"))
}

func TestUploadStates(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	dbtest.NewTenant(t, pool, "umbrella")
	rows := []contact.Row{person(1, 1), refusedRow(2), person(3, 3)}
	u, parsed := upload(t, s, "acme", rows, 1)

	// All of it may be repeated.
	again, err := s.Create(ctx, u)
	require.NoError(t, err)
	require.Equal(t, dboutreach.UploadRunning, again.State)
	require.NoError(t, s.Planned(ctx, "acme", u.ID, []byte(`{}`), "other", dbtest.At(2)))
	require.Empty(t, get(t, s, u).Copy)
	listed, _, err := s.List(ctx, "acme", nil, nil, 10)
	require.NoError(t, err)
	for _, u := range append(listed, get(t, s, u)) {
		require.Empty(t, u.Plan, "it may have megabytes")
	}
	planned, err := s.WithPlan(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"format":{}}`, string(planned.Plan))
	chunks, _ := chunksOf(rows, 1)
	require.NoError(t, s.AddChunks(ctx, "acme", u.ID, chunks[1:], dbtest.At(2)))
	require.NoError(t, s.Split(ctx, "acme", u.ID, 3))
	require.Error(t, s.Split(ctx, "acme", u.ID, 4))
	last, ok, err := s.LastChunk(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, chunks[2], last)
	require.Equal(t, 3, get(t, s, u).Chunks)
	more := chunks[2]
	more.N = 3
	require.Equal(t, fault.Conflict, fault.ClassOf(s.AddChunks(ctx, "acme", u.ID, []contact.Chunk{more}, dbtest.At(2))), "it is split")

	// Backlogs, of the tenant and of all.
	other, _ := upload(t, s, "umbrella", rows, 3)
	own, all, err := s.Backlog(ctx, "acme", dbtest.At(11))
	require.NoError(t, err)
	require.Equal(t, dboutreach.Backlog{Chunks: 3, Rows: 3, Oldest: 10 * time.Minute}, own)
	require.Equal(t, dboutreach.Backlog{Chunks: 4, Rows: 6, Oldest: 10 * time.Minute}, all)
	require.Equal(t, time.Minute, own.Wait(0))
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[:2], dbtest.At(11)))
	own, all, err = s.Backlog(ctx, "acme", dbtest.At(11))
	require.NoError(t, err)
	require.Equal(t, 1, own.Chunks)
	require.InDelta(t, 2.0/60, all.Rate, 1e-9)
	require.Equal(t, 30*time.Second, own.Wait(0))
	waiting := dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", Bytes: 250_000, CreatedBy: "me", CreatedAt: dbtest.At(0), State: dboutreach.UploadHeld,
		SHA256: []byte{1},
	}
	waiting, err = s.Create(ctx, waiting)
	require.NoError(t, err)
	require.Equal(t, dboutreach.UploadHeld, waiting.State)
	own, _, err = s.Backlog(ctx, "acme", dbtest.At(11))
	require.NoError(t, err)
	require.Equal(t, 1, own.Chunks, "what is held does not wait")
	waiting, err = s.SetOptions(ctx, "acme", waiting.ID, []byte(`{"skip": 2}`), "me", dbtest.At(11))
	require.NoError(t, err)
	require.JSONEq(t, `{"skip": 2}`, string(waiting.Options))
	_, err = s.Release(ctx, "umbrella", waiting.ID, "me", dbtest.At(11))
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	for range 2 {
		waiting, err = s.Release(ctx, "acme", waiting.ID, "me", dbtest.At(11))
		require.NoError(t, err)
		require.Equal(t, dboutreach.UploadReceived, waiting.State)
	}
	_, err = s.SetOptions(ctx, "acme", waiting.ID, []byte(`{}`), "me", dbtest.At(11))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	own, _, err = s.Backlog(ctx, "acme", dbtest.At(11))
	require.NoError(t, err)
	require.Equal(t, dboutreach.Backlog{Chunks: 4, Rows: 1, Oldest: 10 * time.Minute, Rate: own.Rate}, own, "and so does a file")
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM uploads WHERE id = $1 AND received_at = $2", waiting.ID, dbtest.At(11)),
		"since it was released")
	_, err = s.Cancel(ctx, "acme", waiting.ID, "me", dbtest.At(11))
	require.NoError(t, err)
	require.Equal(t, []string{"upload.created", "upload.changed", "upload.started", "upload.canceled"},
		dbtest.Audited(t, pool, "upload/"+waiting.ID.String()))
	ready, err := s.Ready(ctx, "acme", u.ID, 10)
	require.NoError(t, err)
	require.Equal(t, chunks[2:], ready)
	_, err = s.Finish(ctx, "acme", u.ID, dbtest.At(12))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))

	// What is another tenant's is not there.
	why := contact.Failure{Queue: "upload_jobs", Class: "invalid", Reason: "not a file of contacts", WorkflowID: "import/1"}
	for name, err := range map[string]error{
		"persist": s.Persist(ctx, "umbrella", u.ID, parsed, dbtest.At(12)),
		"planned": s.Planned(ctx, "umbrella", u.ID, nil, "", dbtest.At(12)),
		"split":   s.Split(ctx, "umbrella", u.ID, 3),
		"add":     s.AddChunks(ctx, "umbrella", u.ID, chunks, dbtest.At(12)),
		"fail":    s.Fail(ctx, "umbrella", u.ID, why, dbtest.At(12)),
		"get":     second(s.Get(ctx, "umbrella", u.ID)),
		"finish":  second(s.Finish(ctx, "umbrella", u.ID, dbtest.At(12))),
		"cancel":  second(s.Cancel(ctx, "umbrella", u.ID, "me", dbtest.At(12))),
		"sweep":   second(s.Sweep(ctx, "umbrella", u.ID, 1, dbtest.At(20))),
		"ready":   second(s.Ready(ctx, "umbrella", u.ID, 1)),
	} {
		require.Equal(t, fault.Gone, fault.ClassOf(err), "%s: %v", name, err)
	}
	pending, err := s.Pending(ctx, "umbrella", u.ID, 0, 10)
	require.NoError(t, err)
	require.Empty(t, pending)
	errs, _, err := s.Errors(ctx, "umbrella", u.ID, 0, 10)
	require.NoError(t, err)
	require.Empty(t, errs)

	// A cancel keeps what is stored, and nothing more is.
	canceled, err := s.Cancel(ctx, "acme", u.ID, "me", dbtest.At(13))
	require.NoError(t, err)
	require.Equal(t, "2 = 1 + 1 + 0; 1 = 1 + 0 + 0", tally(canceled))
	_, err = s.Cancel(ctx, "acme", u.ID, "me", dbtest.At(14))
	require.NoError(t, err)
	require.Equal(t, fault.Conflict, fault.ClassOf(s.Persist(ctx, "acme", u.ID, parsed, dbtest.At(14))))
	require.Equal(t, fault.Conflict, fault.ClassOf(s.Fail(ctx, "acme", u.ID, why, dbtest.At(14))))
	own, _, err = s.Backlog(ctx, "acme", dbtest.At(14))
	require.NoError(t, err)
	require.Zero(t, own.Chunks)
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM upload_chunks WHERE upload = $1 AND n = 2 AND state = 'canceled'", u.ID))
	require.Equal(t, []string{"upload.created", "upload.canceled"}, dbtest.Audited(t, pool, "upload/"+u.ID.String()))
	require.Equal(t, []string{"acme"}, dbtest.Query[string](t, pool,
		"SELECT DISTINCT coalesce(detail->>'tenant', '') FROM audit WHERE subject = $1", "upload/"+u.ID.String()))

	errs, _, err = s.Errors(ctx, "acme", u.ID, 0, 10)
	require.NoError(t, err)
	want := refusedRow(2)
	want.Record[0] = "12\ufffd"
	require.Equal(t, []contact.Row{want}, errs)

	require.NoError(t, s.Fail(ctx, "umbrella", other.ID, why, dbtest.At(15)))
	list, _, err := s.List(ctx, "umbrella", []string{string(dboutreach.UploadFailed)}, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "not a file of contacts", list[0].Error)

	_, err = db.NewTenants(pool).Change(ctx, "acme", "me", dbtest.At(16), func(t *db.Tenant) { t.State = db.TenantStopped })
	require.NoError(t, err)
	_, err = s.Create(ctx, dboutreach.Upload{ID: uuid.New(), Tenant: "acme", SHA256: []byte{1}, CreatedAt: dbtest.At(17)})
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
}

// second is the error of a call.
func second[T any](_ T, err error) error { return err }

// BenchmarkPersist stores 100,000 rows, ten chunks of a thousand at a time: in an empty table, then again as they are,
// and then with another name each.
func BenchmarkPersist(b *testing.B) {
	const total = 100_000
	pool, ctx := dbtest.New(b), b.Context()
	s := dboutreach.NewUploads(pool)
	rows := make([]contact.Row, total)
	for i := range rows {
		rows[i] = person(i+1, (i*7919)%total) // not in the order of the numbers
	}
	persist := func(b *testing.B, tenant string) {
		b.StopTimer()
		u, parsed := upload(b, s, tenant, rows, 1000)
		b.StartTimer()
		for part := range slices.Chunk(parsed, 10) {
			require.NoError(b, s.Persist(ctx, tenant, u.ID, part, dbtest.At(3)))
		}
	}
	rate := func(b *testing.B) { b.ReportMetric(float64(total*b.N)/b.Elapsed().Seconds(), "rows/s") }
	tenants := 0
	b.Run("empty", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			tenants++
			dbtest.NewTenant(b, pool, fmt.Sprintf("t%d", tenants))
			b.StartTimer()
			persist(b, fmt.Sprintf("t%d", tenants))
		}
		rate(b)
	})
	b.Run("known", func(b *testing.B) {
		for range b.N {
			persist(b, "t1")
		}
		rate(b)
	})
	b.Run("changed", func(b *testing.B) {
		for n := range b.N {
			for i := range rows {
				rows[i].Contact.Name = fmt.Sprintf("Person %d again %d", i, n)
			}
			persist(b, "t1")
		}
		rate(b)
	})
}

// An upload that is replayed while it is swept has a workflow again.
func TestUploadSweptBesideReplay(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	u, _ := upload(t, s, "acme", []contact.Row{person(1, 1)}, 1)
	require.NoError(t, s.Fail(ctx, "acme", u.ID, contact.Failure{Queue: contact.QueueChunks, Reason: "no"}, dbtest.At(4)))
	tx, err := pool.Begin(ctx) // the replay, which is not over
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, "SELECT set_config('conveyor.tenant', 'acme', true)")
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "UPDATE uploads SET state = 'received', finished_at = NULL, swept_at = NULL")
	require.NoError(t, err)
	var sweep errgroup.Group
	sweep.Go(func() error {
		_, err := s.Sweep(ctx, "acme", u.ID, 10, dbtest.At(5))
		return err
	})
	require.Eventually(t, func() bool {
		var n int
		err := pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%SET swept_at%'`).Scan(&n)
		return err == nil && n == 1
	}, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, sweep.Wait())
	left, err := s.Unswept(ctx, dbtest.At(60), nil, 10)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// What Postgres can never store is refused for good: an import waits for a store that is away.
func TestUploadNotStorable(t *testing.T) {
	t.Parallel()

	_, ctx, s := uploads(t)
	u := newUpload(t, s, "acme")
	for name, plan := range map[string]string{
		"a NUL": `{"format":{"header_text":"a\u0000"}}`, "half a character": `["\ud800"]`, "no JSON": `{`,
		"too deep": strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
	} {
		err := s.Planned(ctx, "acme", u.ID, []byte(plan), "", dbtest.At(1))
		require.Equal(t, fault.Invalid, fault.ClassOf(err), name)
	}
	err := s.Planned(ctx, "acme", u.ID, []byte("{}"), "\xff", dbtest.At(1))
	require.Equal(t, fault.Invalid, fault.ClassOf(err), "no UTF-8")
}

// A dead letter of an upload is a replay away from going on where it was: rows before the failure still count as the
// first of their key.
func TestUploadReplay(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	s, letters := dboutreach.NewUploads(pool), db.NewDeadLetters(pool, dboutreach.Reopeners())
	rows := []contact.Row{person(1, 1), person(2, 2), person(3, 1), person(4, 3)}
	u, parsed := upload(t, s, "acme", rows, 2)
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[:1], dbtest.At(3)))
	why := contact.Failure{
		Queue: contact.QueueChunks, Class: "gone", Reason: "the file is not there",
		WorkflowID: contact.ImportWorkflowID(u.ID), RunID: "r",
	}
	for range 2 {
		require.NoError(t, s.Fail(ctx, "acme", u.ID, why, dbtest.At(4)))
	}
	more, err := s.Sweep(ctx, "acme", u.ID, 10, dbtest.At(5))
	require.NoError(t, err)
	require.False(t, more)
	left, err := s.Unswept(ctx, dbtest.At(60), nil, 10)
	require.NoError(t, err)
	require.Empty(t, left)

	list, _, err := letters.List(ctx, db.LetterFilter{State: []string{"open"}, Tenant: "acme"}, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []any{"acme", "upload_chunks", "gone", "the file is not there", 1},
		[]any{list[0].Tenant, list[0].Queue, list[0].Class, list[0].Reason, list[0].Deaths})
	none, _, err := letters.List(ctx, db.LetterFilter{Tenant: "umbrella"}, nil, 10)
	require.NoError(t, err)
	require.Empty(t, none)

	_, err = letters.Replay(ctx, list[0].ID, false, "me", dbtest.At(6))
	require.NoError(t, err)
	require.Zero(t, number(t, pool, "SELECT count(*) FROM outbox"))
	left, err = s.Unswept(ctx, dbtest.At(60), nil, 10)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, []any{"acme", u.ID, "people.csv"}, []any{left[0].Tenant, left[0].ID, left[0].FileName})
	rest, err := s.Unswept(ctx, dbtest.At(60), &left[0], 10)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, dboutreach.UploadReceived, get(t, s, u).State)
	own, _, err := s.Backlog(ctx, "acme", dbtest.At(7))
	require.NoError(t, err)
	require.Equal(t, dboutreach.Backlog{Chunks: 1, Rows: 2, Oldest: time.Minute}, own, "the chunk that is left, since the replay")
	require.NoError(t, s.Planned(ctx, "acme", u.ID, []byte(`{}`), "", dbtest.At(7)))
	last, ok, err := s.LastChunk(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.True(t, ok && last.N == 1)
	require.NoError(t, s.Split(ctx, "acme", u.ID, 2))
	require.NoError(t, s.Parsed(ctx, "acme", u.ID, []int{1}, dbtest.At(8)))
	require.NoError(t, s.Persist(ctx, "acme", u.ID, parsed[1:], dbtest.At(9)))
	done, err := s.Finish(ctx, "acme", u.ID, dbtest.At(10))
	require.NoError(t, err)
	require.Equal(t, "4 = 3 + 0 + 1; 3 = 3 + 0 + 0", tally(done))
	l, err := letters.Get(ctx, list[0].ID)
	require.NoError(t, err)
	require.Equal(t, "resolved", l.State)

	// What is over, or has lost its file, is not replayed: one letter says so, of many it is resolved.
	_, err = letters.Replay(ctx, list[0].ID, true, "me", dbtest.At(11))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	require.ErrorContains(t, err, "is done")
	dbtest.Alter(t, pool, "ALTER TABLE uploads NO FORCE ROW LEVEL SECURITY")
	for _, change := range []string{"state = 'canceled'", "blob = ''"} {
		other, _ := upload(t, s, "acme", rows, 2)
		why.WorkflowID = contact.ImportWorkflowID(other.ID)
		require.NoError(t, s.Fail(ctx, "acme", other.ID, why, dbtest.At(12)))
		dbtest.Alter(t, pool, "UPDATE uploads SET "+change+" WHERE id = '"+other.ID.String()+"'")
	}
	list, _, err = letters.List(ctx, db.LetterFilter{State: []string{"open"}}, nil, 10)
	require.NoError(t, err)
	_, err = letters.Replay(ctx, list[0].ID, false, "me", dbtest.At(13))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	require.ErrorContains(t, err, "no longer kept")
	n, err := letters.ReplayAll(ctx, db.LetterFilter{Tenant: "acme"}, 10, "me", dbtest.At(13))
	require.NoError(t, err)
	require.Equal(t, db.LettersReplayed{Over: 2}, n)
	require.Zero(t, number(t, pool, "SELECT count(*) FROM dead_letters WHERE state = 'open'"))
	require.Equal(t, 2, number(t, pool, `SELECT count(*) FROM dead_letters JOIN audit ON subject = 'dead-letter/' || dead_letters.id
		WHERE state = 'resolved' AND replays = 0 AND action = 'dead_letter.resolved'`), "nothing was sent")
}

func TestUploadPreviews(t *testing.T) {
	t.Parallel()

	pool, ctx, s := uploads(t)
	u := newUpload(t, s, "acme")
	begin := func(now time.Time, want, wantOpen int) {
		t.Helper()
		begun, open, err := s.BeginPreview(ctx, "acme", u.ID, now, time.Hour)
		require.NoError(t, err)
		require.Equal(t, want, begun)
		require.Equal(t, wantOpen, open)
	}
	for n := range 4 {
		begin(dbtest.At(0), 1, n+1)
	}
	begin(dbtest.At(59), 1, 5)
	begin(dbtest.At(60), 5, 6)
	begin(dbtest.At(1000), 7, 7)
	for n := range 20 {
		begin(dbtest.At(1000), 7, min(n+8, 15))
	}
	require.LessOrEqual(t, number(t, pool, "SELECT max(cardinality(previews)) FROM uploads"), 15, "they are not kept for ever")
	require.NoError(t, s.EndPreview(ctx, "acme", u.ID))
	begin(dbtest.At(2000), 1, 1)
	begun, err := s.BeginReading(ctx, "acme", u.ID)
	require.NoError(t, err)
	require.Equal(t, 1, begun)
	require.NoError(t, s.EndReading(ctx, "acme", u.ID))
	begin(dbtest.At(3000), 2, 2)
	_, _, err = s.BeginPreview(ctx, "umbrella", u.ID, dbtest.At(0), time.Hour)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

func TestUploadReadings(t *testing.T) {
	t.Parallel()

	_, ctx, s := uploads(t)
	u := newUpload(t, s, "acme")
	begin := func(want int) {
		t.Helper()
		begun, err := s.BeginReading(ctx, "acme", u.ID)
		require.NoError(t, err)
		require.Equal(t, want, begun)
	}
	begin(1)
	begin(2)
	require.NoError(t, s.EndReading(ctx, "acme", u.ID))
	begin(1)
	_, err := s.BeginReading(ctx, "umbrella", u.ID)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	begin(2)

	require.NoError(t, s.Planned(ctx, "acme", u.ID, []byte(`{}`), "", dbtest.At(1)))
	require.NoError(t, s.AddChunks(ctx, "acme", u.ID, []contact.Chunk{{N: 0, Length: 9}, {N: 1, Offset: 9, Length: 9}}, dbtest.At(1)))
	chunk := func(n, want int) {
		t.Helper()
		begun, err := s.BeginChunk(ctx, "acme", u.ID, n)
		require.NoError(t, err)
		require.Equal(t, want, begun)
	}
	chunk(0, 1)
	chunk(0, 2)
	chunk(1, 1)
	require.NoError(t, s.EndChunk(ctx, "acme", u.ID, 0))
	chunk(0, 1)
	chunk(1, 2)
	_, err = s.BeginChunk(ctx, "umbrella", u.ID, 0)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}
