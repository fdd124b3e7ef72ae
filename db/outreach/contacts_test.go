package outreach_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// someone is a contact of these tests.
func someone(phone string, change ...func(*contact.Contact)) contact.Contact {
	c := contact.Contact{Phone: phone, Country: "CA", Name: "Zoé Roy", GivenName: "Zoé", FamilyName: "Roy", Locale: "fr-CA"}
	for _, f := range change {
		f(&c)
	}
	c.Key = contact.Key(c.Phone, c.Email)
	return c
}

func put(t *testing.T, s *dboutreach.Contacts, tenant string, c contact.Contact) int64 {
	t.Helper()

	id, _, err := s.Put(t.Context(), tenant, c, dboutreach.KnownUpdate, "test", dbtest.At(1))
	require.NoError(t, err)
	return id
}

// A contact has no more tags than a row may have, whoever adds them: the first ones stay, and a file that is imported
// again changes nothing.
func TestTagsOfAContactAreBounded(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	dbtest.NewTenant(t, pool, "acme")
	u := dboutreach.NewUploads(pool)
	tags := func(letter string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%s%02d", letter, i))
		}
		return out
	}
	row := person(1, 1)
	imported := func(of []string, more ...string) string {
		row.Contact.Tags = of
		up, parsed := upload(t, u, "acme", []contact.Row{row}, 1, func(up *dboutreach.Upload) { up.Tags = more })
		require.NoError(t, u.Persist(t.Context(), "acme", up.ID, parsed, dbtest.At(3)))
		return tally(get(t, u, up))
	}
	has := func(want ...string) {
		t.Helper()
		require.Equal(t, []string{strings.Join(want, " ")}, dbtest.Lines(t, pool, "SELECT array_to_string(tags, ' ') FROM contacts"))
	}
	require.Equal(t, "1 = 1 + 0 + 0; 1 = 1 + 0 + 0", imported(tags("b", 48), "z", "y", "x"))
	has(append(tags("b", 48), "z", "y")...)
	require.Equal(t, "1 = 1 + 0 + 0; 1 = 0 + 0 + 1", imported(tags("b", 48), "z", "y", "x"))
	require.Equal(t, "1 = 1 + 0 + 0; 1 = 0 + 0 + 1", imported(tags("a", 50)))

	dbtest.ExecAll(t, pool, "UPDATE contacts SET tags = tags[:48]")
	require.Equal(t, "1 = 1 + 0 + 0; 1 = 0 + 1 + 0", imported([]string{"b00", "d", "c", "d"}, "a"))
	has(append(tags("b", 48), "d", "c")...)
	dbtest.ExecAll(t, pool, "UPDATE contacts SET tags = $1", tags("e", 60))
	row.Contact.Name = "Other"
	require.Equal(t, "1 = 1 + 0 + 0; 1 = 0 + 1 + 0", imported(tags("a", 50)))
	has(tags("e", 60)...)
	dbtest.ExecAll(t, pool, "UPDATE contacts SET tags = '{}'")
	require.Equal(t, "1 = 1 + 0 + 0; 1 = 0 + 1 + 0", imported(nil, "E\u0301", "\u00c9")) // of an upload before tags were composed
	has("\u00c9")
}

// Contacts are tagged while a campaign is written to them: both lock them, in different orders.
func TestTagWhileWriting(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.begun(t, "a", m.sender, 3)
	m.exec(t, "UPDATE contacts SET key = 'z' || 9 - id")
	tx, err := m.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	for _, text := range []string{
		"SELECT set_config('conveyor.tenant', '*', true)", "SELECT FROM contacts WHERE id = 2 FOR UPDATE",
	} {
		_, err = tx.Exec(ctx, text)
		require.NoError(t, err)
	}
	var work errgroup.Group
	work.Go(func() error {
		_, err := m.campaigns.Freeze(context.Background(), "acme", id, 10, time.Now())
		return err
	})
	m.waiting(t, 1)
	work.Go(func() error {
		s := dboutreach.NewContacts(m.pool, nil)
		_, err := s.Tag(context.Background(), "acme", []int64{1, 2, 3}, []string{"vip"}, nil, "zoe", time.Now())
		return err
	})
	m.waiting(t, 2)
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, work.Wait())
	require.Equal(t, []string{"3"}, m.lines(t, "SELECT count(*) FROM contacts WHERE tags = '{vip}'"))
	require.Equal(t, []string{"3"}, m.lines(t, "SELECT waiting FROM campaigns"))
}

func TestPutContact(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme", func(t *db.Tenant) { t.MaxContacts = new(int64(2)) })
	dbtest.NewTenant(t, pool, "umbrella")
	s := dboutreach.NewContacts(pool, nil)
	c := someone("+5215512345678", func(c *contact.Contact) { c.Tags = []string{`a "b", {c}`, `\`} })
	id, added, err := s.Put(ctx, "acme", c, dboutreach.KnownFail, "test", dbtest.At(1))
	require.NoError(t, err)
	require.True(t, added)
	got, err := s.Get(ctx, "acme", id)
	require.NoError(t, err)
	c.Fields = map[string]string{}
	require.Equal(t, dboutreach.Contact{ID: id, Contact: c, CreatedAt: dbtest.At(1), UpdatedAt: dbtest.At(1)}, got)

	_, _, err = s.Put(ctx, "acme", c, dboutreach.KnownFail, "test", dbtest.At(2))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	other := someone("+525512345678", func(c *contact.Contact) { c.Name = "The same person" })
	same, added, err := s.Put(ctx, "acme", other, dboutreach.KnownUpdate, "test", dbtest.At(3))
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, id, same, "Mexico's old and new notation are one person")
	got, err = s.Find(ctx, "acme", contact.Key("+5215512345678", ""))
	require.NoError(t, err)
	require.Equal(t, "The same person", got.Name)
	require.Equal(t, "+525512345678", got.Phone, "as it was given last")

	require.Equal(t, []string{"contact.added", "contact.changed"}, dbtest.Audited(t, pool, fmt.Sprintf("contact/%d", id)))
	_, added, err = s.Put(ctx, "acme", other, dboutreach.KnownUpdate, "test", dbtest.At(3))
	require.NoError(t, err)
	require.False(t, added)
	require.Len(t, dbtest.Audited(t, pool, fmt.Sprintf("contact/%d", id)), 2, "it changes nothing")

	require.NotZero(t, put(t, s, "acme", someone("+15145550001")))
	_, _, err = s.Put(ctx, "acme", someone("+15145550002"), dboutreach.KnownUpdate, "test", dbtest.At(4))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	require.ErrorContains(t, err, "max_contacts")

	_, err = s.Get(ctx, "umbrella", id)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = s.Find(ctx, "umbrella", got.Key)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, _, err = s.Put(ctx, "nobody", c, dboutreach.KnownUpdate, "test", dbtest.At(4))
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

func TestContactFilter(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	dbtest.NewTenant(t, pool, "umbrella")
	s := dboutreach.NewContacts(pool, nil)
	put(t, s, "umbrella", someone("+15145550001"))
	list, err := s.CreateList(ctx, "acme", "Friends", "me", dbtest.At(0))
	require.NoError(t, err)
	ids := map[string]int64{}
	for name, c := range map[string]contact.Contact{
		"zoé": someone("+15145550001", func(c *contact.Contact) {
			c.Tags, c.Fields = []string{"vip", "montréal"}, map[string]string{"city": "Montréal", "phone": "office"}
		}),
		"jo":   someone("+15145550002", func(c *contact.Contact) { c.Name, c.Locale, c.Fields = "Jo", "fr", nil }),
		"anna": someone("", func(c *contact.Contact) { c.Name, c.Locale, c.Country, c.Email = "Anna", "en-CA", "", "A@x.org" }),
	} {
		ids[name] = put(t, s, "acme", c)
	}
	_, _, err = s.Members(ctx, "acme", list.ID, []int64{ids["jo"], 999}, nil, "me", dbtest.At(0))
	require.NoError(t, err)

	text := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		filter contact.Filter
		want   []string
	}{
		"all":               {contact.Filter{}, []string{"zoé", "jo", "anna"}},
		"tag":               {contact.Filter{Tag: "vip"}, []string{"zoé"}},
		"no tag":            {contact.Filter{Not: &contact.Filter{Tag: "vip"}}, []string{"jo", "anna"}},
		"list":              {contact.Filter{List: list.ID.String()}, []string{"jo"}},
		"language":          {contact.Filter{Locale: "fr"}, []string{"zoé", "jo"}},
		"locale":            {contact.Filter{Locale: "fr-CA"}, []string{"zoé"}},
		"language in caps":  {contact.Filter{Not: &contact.Filter{Locale: "FR"}}, []string{"anna"}},
		"locale with _":     {contact.Filter{Locale: "fr_ca"}, []string{"zoé"}},
		"country":           {contact.Filter{Country: "CA"}, []string{"zoé", "jo"}},
		"created":           {contact.Filter{Created: &contact.Range{From: new(dbtest.At(1)), Before: new(dbtest.At(2))}}, []string{"zoé", "jo", "anna"}},
		"created later":     {contact.Filter{Created: &contact.Range{From: new(dbtest.At(2))}}, nil},
		"updated":           {contact.Filter{Updated: &contact.Range{Before: new(dbtest.At(1))}}, nil},
		"equals":            {contact.Filter{Field: "email", Equals: text("a@X.org")}, []string{"anna"}},
		"contains":          {contact.Filter{Field: "name", Contains: text("ZOÉ")}, []string{"zoé"}},
		"composed":          {contact.Filter{Not: &contact.Filter{Tag: "montre\u0301al"}}, []string{"jo", "anna"}},
		"contains composed": {contact.Filter{Field: "name", Contains: text("ZOE\u0301")}, []string{"zoé"}},
		"equals composed":   {contact.Filter{Field: "city", Equals: text("montre\u0301al")}, []string{"zoé"}},
		"a wildcard":        {contact.Filter{Field: "name", Contains: text("%")}, nil},
		"exists":            {contact.Filter{Field: "phone", Exists: new(true)}, []string{"zoé", "jo"}},
		"exists not":        {contact.Filter{Field: "phone", Exists: new(false)}, []string{"anna"}},
		"custom":            {contact.Filter{Field: "city", Equals: text("montréal")}, []string{"zoé"}},
		"custom phone":      {contact.Filter{Field: "fields.phone", Exists: new(true)}, []string{"zoé"}},
		"not custom":        {contact.Filter{Not: &contact.Filter{Field: "city", Equals: text("montréal")}}, []string{"jo", "anna"}},
		"no custom":         {contact.Filter{Field: "city", Exists: new(false)}, []string{"jo", "anna"}},
		"an injection":      {contact.Filter{Tag: "'] OR true --"}, nil},
		"an injected field": {contact.Filter{Field: "city", Contains: text("') OR ('' = '")}, nil},
		"nested": {contact.Filter{All: []contact.Filter{
			{Any: []contact.Filter{{Tag: "vip"}, {Locale: "en"}}}, {Not: &contact.Filter{Country: "CA"}},
		}}, []string{"anna"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var want, got []int64
			for _, name := range test.want {
				want = append(want, ids[name])
			}
			var after int64
			for {
				found, next, err := s.Search(ctx, "acme", test.filter, after, 1)
				require.NoError(t, err)
				for _, c := range found {
					got = append(got, c.ID)
				}
				if next == nil {
					break
				}
				after = *next
			}
			require.ElementsMatch(t, want, got)
			n, err := s.Count(ctx, "acme", test.filter)
			require.NoError(t, err)
			require.Len(t, want, int(n))
		})
	}
	_, _, err = s.Search(ctx, "acme", contact.Filter{Tag: "a", Locale: "fr"}, 0, 1)
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
}

// A contact has no more custom fields than a page can hold, whoever adds them. What has no room is refused, or, of a
// file, left out.
func TestFieldsOfAContactAreBounded(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	s, u := dboutreach.NewContacts(pool, nil), dboutreach.NewUploads(pool)
	note := func(name string) func(c *contact.Contact) {
		return func(c *contact.Contact) { c.Fields = map[string]string{name: strings.Repeat("x", 900_000)} }
	}
	row := person(1, 1)
	for _, name := range []string{"a", "b"} {
		put(t, s, "acme", someone(row.Contact.Phone, note(name)))
	}
	_, _, err := s.Put(ctx, "acme", someone(row.Contact.Phone, note("c")), dboutreach.KnownUpdate, "test", dbtest.At(2))
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.ErrorContains(t, err, "fields: the contact would have more than 2 MiB of custom fields")
	note("c")(&row.Contact)
	row.Contact.Name = "Other"
	up, parsed := upload(t, u, "acme", []contact.Row{row}, 1)
	require.NoError(t, u.Persist(ctx, "acme", up.ID, parsed, dbtest.At(3)))
	require.Equal(t, []string{"Other a b"}, dbtest.Lines(t, pool,
		"SELECT name || ' ' || array_to_string(ARRAY(SELECT jsonb_object_keys(fields) ORDER BY 1), ' ') FROM contacts"))
	put(t, s, "acme", someone(row.Contact.Phone, func(c *contact.Contact) { c.Fields = map[string]string{"a": "1", "b": "2"} }))
	put(t, s, "acme", someone(row.Contact.Phone, note("c")))
}

// A page holds a bounded number of bytes, however large contacts are.
func TestLargeContacts(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	dbtest.NewTenant(t, pool, "acme")
	dbtest.ExecAll(t, pool, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone, fields)
		SELECT 'acme', now(), now(), substr(sha256(convert_to(n::text, 'UTF8')), 1, 16), n, '+15145550' || n,
			jsonb_build_object('note', repeat('x', 3 << 20)) FROM generate_series(100, 106) n`)
	s := dboutreach.NewContacts(pool, nil)
	var pages []int
	seen := map[int64]bool{}
	for next := new(int64(0)); next != nil; {
		var page []dboutreach.Contact
		var err error
		page, next, err = s.Search(t.Context(), "acme", contact.Filter{}, *next, 1000)
		require.NoError(t, err)
		pages = append(pages, len(page))
		for _, c := range page {
			seen[c.ID] = true
		}
	}
	require.Equal(t, []int{3, 3, 1}, pages)
	require.Len(t, seen, 7)
}

func TestListsAndSegments(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	dbtest.NewTenant(t, pool, "umbrella")
	s := dboutreach.NewContacts(pool, nil)
	a, b := put(t, s, "acme", someone("+15145550001")), put(t, s, "acme", someone("+15145550002"))
	theirs := put(t, s, "umbrella", someone("+15145550003"))
	list, err := s.CreateList(ctx, "acme", "Friends", "me", dbtest.At(0))
	require.NoError(t, err)
	same, err := s.CreateList(ctx, "acme", "Friends", "me", dbtest.At(1))
	require.NoError(t, err)
	require.Equal(t, list, same)
	for _, want := range []int64{2, 0} {
		n, _, err := s.Members(ctx, "acme", list.ID, []int64{a, b, theirs}, nil, "me", dbtest.At(1))
		require.NoError(t, err)
		require.Equal(t, want, n, "the contact of another tenant is not there")
	}
	_, _, err = s.Members(ctx, "umbrella", list.ID, []int64{theirs}, nil, "me", dbtest.At(1))
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	joined, n, err := s.Members(ctx, "acme", list.ID, []int64{a, b}, []int64{b}, "me", dbtest.At(1))
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1}, []int64{joined, n})
	lists, err := s.Lists(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, []dboutreach.CountedList{{ContactList: list, Members: 1}}, lists)

	for _, want := range []int64{1, 0} {
		n, err = s.Tag(ctx, "acme", []int64{a, theirs}, []string{"vip", "old"}, []string{"old"}, "me", dbtest.At(2))
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	got, err := s.Get(ctx, "acme", a)
	require.NoError(t, err)
	require.Equal(t, []string{"vip"}, got.Tags)
	require.Equal(t, []string{"tenant.created", "contact.tagged"}, dbtest.Audited(t, pool, "tenant/acme"))
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("t%02d", i)
	}
	for _, want := range []int64{1, 0} {
		n, err = s.Tag(ctx, "acme", []int64{b}, many, nil, "me", dbtest.At(2))
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	n, err = s.Tag(ctx, "acme", []int64{b}, many[50:], many[:2], "me", dbtest.At(2))
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	got, err = s.Get(ctx, "acme", b)
	require.NoError(t, err)
	require.Equal(t, many[2:52], got.Tags, "those that stay, then as many as there is room for")

	for _, stored := range []string{"E\u0301te\u0301", "E\u0301t\u00e9"} { // as uploads before stored them
		dbtest.ExecAll(t, pool, "UPDATE contacts SET tags = ARRAY['x', $2::text] WHERE id = $1", a, stored)
		for _, asked := range []string{stored, "E\u0301te\u0301"} {
			n, err = s.Count(ctx, "acme", contact.Filter{Tag: asked})
			require.NoError(t, err)
			require.Equal(t, asked == stored, n == 1, "%+q of %+q", asked, stored)
		}
		n, err = s.Count(ctx, "acme", contact.Filter{Not: &contact.Filter{Tag: stored}})
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "that one is spared")
		for _, want := range []int64{1, 0} {
			n, err = s.Tag(ctx, "acme", []int64{a}, []string{"e\u0301", "x"}, []string{stored}, "me", dbtest.At(2))
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		got, err = s.Get(ctx, "acme", a)
		require.NoError(t, err)
		require.Equal(t, []string{"x", "\u00e9"}, got.Tags)
	}

	segment := dboutreach.Segment{ID: uuid.New(), Name: "VIPs", Filter: contact.Filter{Tag: "vip"}}
	kept, err := s.PutSegment(ctx, "acme", segment, "me", dbtest.At(3))
	require.NoError(t, err)
	segment.CreatedAt, segment.UpdatedAt = dbtest.At(3), dbtest.At(3)
	require.Equal(t, segment, kept)
	_, err = s.PutSegment(ctx, "umbrella", segment, "me", dbtest.At(4))
	require.Equal(t, fault.Gone, fault.ClassOf(err), "the segment of another tenant: %v", err)
	twin := segment
	twin.ID = uuid.New()
	_, err = s.PutSegment(ctx, "acme", twin, "me", dbtest.At(4))
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	segment.Filter.Tag = ""
	segment.Filter.Locale = "fr"
	_, err = s.PutSegment(ctx, "acme", segment, "me", dbtest.At(5))
	require.NoError(t, err)
	kept, err = s.Segment(ctx, "acme", segment.ID)
	require.NoError(t, err)
	require.Equal(t, "fr", kept.Filter.Locale)
	require.Equal(t, fault.Gone, fault.ClassOf(s.DeleteSegment(ctx, "umbrella", segment.ID, "me", dbtest.At(5))))
	all, err := s.Segments(ctx, "acme")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, s.DeleteSegment(ctx, "acme", segment.ID, "me", dbtest.At(5)))
	_, err = s.Segment(ctx, "acme", segment.ID)
	require.Equal(t, fault.Gone, fault.ClassOf(err))

	_, err = s.DeleteList(ctx, "umbrella", list.ID, 10, "me", dbtest.At(6))
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	for more := true; more; {
		more, err = s.DeleteList(ctx, "acme", list.ID, 1, "me", dbtest.At(6))
		require.NoError(t, err)
	}
	_, err = s.DeleteList(ctx, "acme", list.ID, 1, "me", dbtest.At(6))
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	require.Equal(t, []string{"contact_list.created", "contact_list.changed", "contact_list.changed", "contact_list.deleted"},
		dbtest.Audited(t, pool, "contact-list/"+list.ID.String()))
	require.Equal(t, []string{"segment.stored", "segment.stored", "segment.deleted"},
		dbtest.Audited(t, pool, "segment/"+segment.ID.String()))
	lists, err = s.Lists(ctx, "acme")
	require.NoError(t, err)
	require.Empty(t, lists)
}

// The members of lists are counted as they come and go, by files too and whatever is repeated and at once: they are not
// counted when they are asked for.
func TestListCounts(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	s, uploads := dboutreach.NewContacts(pool, nil), dboutreach.NewUploads(pool)
	var lists []uuid.UUID
	for _, name := range []string{"a", "b"} {
		l, err := s.CreateList(ctx, "acme", name, "me", dbtest.At(0))
		require.NoError(t, err)
		lists = append(lists, l.ID)
	}
	counts := func(want ...int64) {
		t.Helper()
		found, err := s.Lists(ctx, "acme")
		require.NoError(t, err)
		var got []int64
		for _, l := range found {
			got = append(got, l.Members)
			require.EqualValues(t, l.Members, number(t, pool, "SELECT count(*) FROM contact_list_members WHERE list = $1", l.ID))
		}
		require.Equal(t, want, got)
	}
	var files errgroup.Group
	for n := range 4 {
		var rows []contact.Row
		for i := range 20 {
			rows = append(rows, contact.Row{
				Number: int64(i + 1), Line: int64(i + 2), Contact: someone(fmt.Sprintf("+151455501%02d", n*10+i)),
			})
		}
		u, parsed := upload(t, uploads, "acme", rows, 20, func(u *dboutreach.Upload) {
			if u.Lists = lists; n%2 == 0 {
				u.Lists = []uuid.UUID{lists[1], lists[0]}
			}
		})
		files.Go(func() error { return uploads.Persist(ctx, "acme", u.ID, parsed, dbtest.At(2)) })
	}
	require.NoError(t, files.Wait())
	counts(50, 50)
	found, _, err := s.Search(ctx, "acme", contact.Filter{}, 0, 10)
	require.NoError(t, err)
	require.NoError(t, s.Delete(ctx, "acme", found[0].ID, "me", dbtest.At(3)))
	counts(49, 49)
	for range 2 {
		_, _, err = s.Members(ctx, "acme", lists[0], []int64{found[1].ID}, []int64{found[2].ID, found[3].ID}, "me", dbtest.At(3))
		require.NoError(t, err)
		counts(47, 49)
	}
	var rows []contact.Row
	for i := range 2 {
		rows = append(rows, contact.Row{Number: int64(i + 1), Line: int64(i + 2), Contact: someone(fmt.Sprintf("+1514555020%d", i))})
	}
	u, parsed := upload(t, uploads, "acme", rows, 1, func(u *dboutreach.Upload) { u.Lists = lists })
	more, err := s.DeleteList(ctx, "acme", lists[1], 9, "me", dbtest.At(4))
	require.NoError(t, err)
	require.True(t, more)
	counts(47)

	// A list that is deleted during an import gets no more members, also where that is not committed yet.
	require.NoError(t, uploads.Persist(ctx, "acme", u.ID, parsed[:1], dbtest.At(5)))
	counts(48)
	for more := true; more; {
		more, err = s.DeleteList(ctx, "acme", lists[1], 100, "me", dbtest.At(5))
		require.NoError(t, err)
	}
	counts(48)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	for _, text := range []string{
		"SELECT set_config('conveyor.tenant', 'acme', true)", "DELETE FROM contact_list_members", "DELETE FROM contact_lists",
	} {
		_, err = tx.Exec(ctx, text)
		require.NoError(t, err)
	}
	files.Go(func() error { return uploads.Persist(ctx, "acme", u.ID, parsed[1:], dbtest.At(5)) })
	require.Eventually(t, func() bool {
		return dbtest.Count(t, pool, "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	}, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, files.Wait())
	require.Zero(t, number(t, pool, "SELECT count(*) FROM contact_list_members"))

	conn, err := pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	require.NotContains(t, dbtest.GenericPlan(ctx, t, conn.Conn(), "lists", dbtest.Statements(t)["sqlListsRead"]), "contact_list_members")
}

// What is exported of a person is bounded, whatever a tenant has written to them or uploaded of them: the newest.
func TestExportPersonIsBounded(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	s := dboutreach.NewContacts(pool, nil)
	c := someone("+15145550123")
	id := put(t, s, "acme", c)
	cell := strings.Repeat("x", 900_000)
	var rows []contact.Row
	for i := range 10 {
		rows = append(rows, contact.Row{
			Number: int64(i + 1), Line: int64(i + 1), Record: []string{cell}, Keys: []string{contact.Key(c.Phone, "")},
			Problems: []contact.Problem{{Code: "x"}},
		})
	}
	older, newer := uuid.Max, uuid.UUID{15: 1} // an ID says nothing of the time
	for i, file := range []uuid.UUID{older, newer} {
		u, parsed := upload(t, dboutreach.NewUploads(pool), "acme", rows, len(rows), func(u *dboutreach.Upload) {
			u.ID, u.CreatedAt = file, dbtest.At(i)
		})
		require.NoError(t, dboutreach.NewUploads(pool).Persist(ctx, "acme", u.ID, parsed, dbtest.At(2)))
	}

	p, err := s.Export(ctx, "acme", id)
	require.NoError(t, err)
	const room = dboutreach.PersonBytes / 900_000
	require.Len(t, p.Refused, room)
	require.Equal(t, []any{older, int64(20 - room + 1), newer, int64(10)},
		[]any{p.Refused[0].Upload, p.Refused[0].Row, p.Refused[room-1].Upload, p.Refused[room-1].Row})
	require.EqualValues(t, 20-room, p.LeftOut)
}

// A person is looked up: row-level security keeps conditions from an index that may tell what they read.
func TestPersonsAreLookedUp(t *testing.T) {
	t.Parallel()

	pool, ctx, texts := dbtest.New(t), t.Context(), dbtest.Statements(t)
	dbtest.NewTenant(t, pool, "acme")
	newUpload(t, dboutreach.NewUploads(pool), "acme")
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		b.Queue("SELECT set_config('conveyor.tenant', 'acme', true)")
		b.Queue(`INSERT INTO upload_errors (tenant, upload, row, line, problems, record, persons)
			SELECT 'acme', id, n, n, '[]', '{}', ARRAY[gen_random_uuid(), gen_random_uuid()] FROM uploads, generate_series(1, 5000) n`)
		b.Queue(`INSERT INTO opt_outs (tenant, digest, source, at)
			SELECT 'acme', sha256(n::text::bytea), 'api', now() FROM generate_series(1, 5000) n`)
		return tx.SendBatch(ctx, b).Close()
	})
	require.NoError(t, err)
	dbtest.Alter(t, pool, "ANALYZE upload_errors, opt_outs")
	persons, pad := []uuid.UUID{uuid.New(), uuid.New()}, []byte("pad")
	for name, args := range map[string][]any{
		"sqlPersonRefused": {"acme", persons, 1}, "sqlPersonHas": {"acme", persons, pad},
		"sqlPersonErrorsForget": {"acme", persons},
		"sqlOptOutsAdd":         {"acme", [][]byte{pad, {}}, "api", time.Now(), pad, pad},
	} {
		require.NoError(t, db.TenantTx(ctx, pool, "acme", func(tx pgx.Tx) error {
			plan := dbtest.CustomPlan(ctx, t, tx, texts[name], args...)
			require.NotRegexp(t, "Seq Scan on (upload_errors|opt_outs)", plan, name)
			if name == "sqlOptOutsAdd" {
				require.Contains(t, plan, "Index Cond: ((tenant = 'acme'::text) AND (digest = sha256(", name)
				return nil
			}
			require.Contains(t, plan, "Index Cond: (persons[1] = ANY (", name)
			require.Contains(t, plan, "Index Cond: (persons[2] = ANY (", name)
			return nil
		}))
	}
}

// A person who is deleted is nowhere; the opt-out holds when the file is imported again.
func TestDeletePerson(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	dbtest.NewTenant(t, pool, "umbrella")
	s := dboutreach.NewContacts(pool, nil)
	c := someone("+5511987654321", func(c *contact.Contact) { c.Email = "zoe@example.org" })
	id, theirs := put(t, s, "acme", c), put(t, s, "umbrella", c)
	list, err := s.CreateList(ctx, "acme", "Friends", "me", dbtest.At(0))
	require.NoError(t, err)
	_, _, err = s.Members(ctx, "acme", list.ID, []int64{id}, nil, "me", dbtest.At(0))
	require.NoError(t, err)
	sender := dboutreach.Sender{
		ID: uuid.New(), Tenant: "acme", Name: "n", PhoneNumberID: "1", BusinessAccountID: "1", CreatedAt: dbtest.At(0),
	}
	require.NoError(t, dboutreach.NewSenders(pool).Add(ctx, sender, db.Sealed{Key: "k", Box: []byte("t")}, "me"))
	message, err := dboutreach.NewMessages(pool, nil).Put(ctx, "acme", dboutreach.NewMessage{
		ID: uuid.New(), Sender: sender.ID, Recipient: "+551187654321", // without the ninth digit
		Body: campaign.Body{Type: "text", Text: &campaign.Text{Body: "Bonjour Zoé"}},
	}, dbtest.At(1))
	require.NoError(t, err)
	require.Equal(t, campaign.MessageQueued, message.State)
	for range 2 {
		require.NoError(t, s.OptOut(ctx, "acme", []string{c.Key, "+15145550009"}, "api", "contact/1", "me", dbtest.At(2)))
	}
	refused := func(n int, cell string, keys ...string) contact.Row {
		return contact.Row{
			Number: int64(n), Line: int64(n), Record: []string{cell}, Keys: keys, Problems: []contact.Problem{{Code: "x", Message: cell}},
		}
	}
	for _, tenant := range []string{"acme", "umbrella"} {
		u, parsed := upload(t, dboutreach.NewUploads(pool), tenant, []contact.Row{
			refused(1, "(11) 87654321", contact.Key(c.Phone, "")), refused(2, "zoe@", contact.Key("", c.Email), "+1"),
			refused(3, "another", contact.Key("+15145550009", "")), refused(4, "unreadable"),
		}, 4)
		require.NoError(t, dboutreach.NewUploads(pool).Persist(ctx, tenant, u.ID, parsed, dbtest.At(2)))
	}
	require.Equal(t, []string{"contact.added", "contact.opted_out"}, dbtest.Audited(t, pool, "contact/1"))

	p, err := s.Export(ctx, "acme", id)
	require.NoError(t, err)
	require.Zero(t, p.LeftOut)
	require.True(t, p.Contact.OptedOut)
	require.Equal(t, []dboutreach.ContactList{list}, p.Lists)
	require.Equal(t, &dboutreach.OptOut{Source: "api", At: dbtest.At(2)}, p.OptOut)
	require.Len(t, p.Messages, 1)
	require.Equal(t, message.ID, p.Messages[0].ID)
	require.Len(t, p.Refused, 2)
	require.Equal(t, []string{"(11) 87654321"}, p.Refused[0].Record)
	require.Equal(t, []contact.Problem{{Code: "x", Message: "zoe@"}}, p.Refused[1].Problems)
	_, err = s.Export(ctx, "umbrella", id)
	require.Equal(t, fault.Gone, fault.ClassOf(err))

	require.Equal(t, fault.Gone, fault.ClassOf(s.Delete(ctx, "umbrella", id, "me", dbtest.At(3))))
	require.NoError(t, s.Delete(ctx, "acme", id, "me", dbtest.At(3)))
	require.Equal(t, fault.Gone, fault.ClassOf(s.Delete(ctx, "acme", id, "me", dbtest.At(4))))
	for table := range dbtest.TenantRow {
		n := number(t, pool, "SELECT count(*) FROM "+table+" t WHERE t::text ~ '87654321|zoe@|Zoé' AND t::text !~ '^\\(umbrella'")
		require.Zero(t, n, table)
	}
	require.Zero(t, number(t, pool, "SELECT count(*) FROM audit a WHERE a::text ~ '87654321|zoe@|Zoé'"))
	require.Equal(t, 2+4, number(t, pool, "SELECT count(*) FROM upload_errors"))
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM messages WHERE state = 'skipped'"), "what waits is not sent")
	require.Zero(t, number(t, pool, "SELECT count(*) FROM contact_list_members"))
	require.Zero(t, number(t, pool, "SELECT contacts FROM tenants WHERE id = 'acme'"))
	_, err = s.Get(ctx, "umbrella", theirs)
	require.NoError(t, err)

	uploads := dboutreach.NewUploads(pool)
	u, parsed := upload(t, uploads, "acme", []contact.Row{{Number: 1, Line: 2, Contact: c}}, 1)
	require.NoError(t, uploads.Persist(ctx, "acme", u.ID, parsed, dbtest.At(5)))
	back, err := s.Find(ctx, "acme", c.Key)
	require.NoError(t, err)
	require.True(t, back.OptedOut)
	theirCopy, err := s.Find(ctx, "umbrella", c.Key)
	require.NoError(t, err)
	require.False(t, theirCopy.OptedOut, "an opt-out is from one tenant")
}
