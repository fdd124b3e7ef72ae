package outreach_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

func TestSenders(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	dbtest.NewTenant(t, pool, "umbrella")
	d := dboutreach.NewSenders(pool)
	s := dboutreach.Sender{
		ID: uuid.New(), Tenant: "acme", Name: "Support", PhoneNumberID: "101", BusinessAccountID: "7", CreatedAt: dbtest.At(0),
	}
	token := db.Sealed{Key: "k1", Box: []byte("sealed")}
	require.NoError(t, d.Add(ctx, s, token, "me"))
	s.TokenKey, s.PerSecond, s.State, s.UpdatedAt = "k1", 80, dboutreach.SenderActive, dbtest.At(0)

	other := s
	other.ID, other.Tenant, other.Name = uuid.New(), "umbrella", "Ours"
	require.Equal(t, fault.Conflict, fault.ClassOf(d.Add(ctx, other, token, "me")), "the number of another tenant")
	other.PhoneNumberID = "102"
	require.NoError(t, d.Add(ctx, other, token, "me"))
	same := s
	same.ID, same.PhoneNumberID = uuid.New(), "103"
	require.Equal(t, fault.Conflict, fault.ClassOf(d.Add(ctx, same, token, "me")), "the name of another sender")
	same.Name, same.Tenant = "x", "nobody"
	require.Equal(t, fault.Gone, fault.ClassOf(d.Add(ctx, same, token, "me")))
	same.Tenant, same.PhoneNumberID = "acme", "+1"
	require.Equal(t, fault.Invalid, fault.ClassOf(d.Add(ctx, same, token, "me")))

	list, err := d.List(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, []dboutreach.Sender{s}, list)
	sealed, err := d.Token(ctx, "acme", s.ID)
	require.NoError(t, err)
	require.Equal(t, token, sealed)

	// What is another tenant's is not there.
	_, err = d.Get(ctx, "umbrella", s.ID)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = d.Token(ctx, "umbrella", s.ID)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = d.Change(ctx, "umbrella", s.ID, nil, "me", dbtest.At(1), func(s *dboutreach.Sender) { s.Name = "x" })
	require.Equal(t, fault.Gone, fault.ClassOf(err))

	got, err := d.Change(ctx, "acme", s.ID, nil, "me", dbtest.At(1), func(s *dboutreach.Sender) {
		s.State, s.PausedUntil, s.Reason = dboutreach.SenderPaused, new(dbtest.At(20)), "lunch"
	})
	require.NoError(t, err)
	require.Equal(t, dboutreach.SenderPaused, got.State)
	require.False(t, got.Sends(dbtest.At(19)))
	require.True(t, got.Sends(dbtest.At(20)))
	got, err = d.Change(ctx, "acme", s.ID, &db.Sealed{Key: "k2", Box: []byte("new")}, "me", dbtest.At(4), func(s *dboutreach.Sender) {
		s.State, s.PerSecond, s.PhoneNumberID = dboutreach.SenderActive, 250, "666"
	})
	require.NoError(t, err)
	s.TokenKey, s.PerSecond, s.UpdatedAt = "k2", 250, dbtest.At(4)
	require.Equal(t, s, got)
	got, err = d.Get(ctx, "acme", s.ID)
	require.NoError(t, err)
	require.Equal(t, s, got)
	_, err = d.Change(ctx, "acme", s.ID, nil, "me", dbtest.At(5), func(s *dboutreach.Sender) { s.State, s.Reason = dboutreach.SenderStopped, "x" })
	require.NoError(t, err)
	_, err = d.Change(ctx, "acme", s.ID, nil, "me", dbtest.At(5), func(*dboutreach.Sender) {})
	require.NoError(t, err)
	require.Equal(t, []string{"sender.created", "sender.paused", "sender.resumed", "sender.stopped"},
		dbtest.Audited(t, pool, "sender/"+s.ID.String()))
}

// What a limit of the API has paused stays so while other things of its sender are changed, until an operator resumes it.
func TestChangePausedSender(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	d := dboutreach.NewSenders(m.pool)
	m.exec(t, `UPDATE senders SET paused_until = $1, reason = 'too many messages', phone_number_id = '1',
		business_account_id = '1'`, dbtest.At(20))
	change := func(change func(*dboutreach.Sender)) dboutreach.Sender {
		got, err := d.Change(t.Context(), "acme", m.sender, nil, "me", dbtest.At(1), change)
		require.NoError(t, err)
		stored, err := d.Get(t.Context(), "acme", m.sender)
		require.NoError(t, err)
		require.Equal(t, stored, got)
		return got
	}
	got := change(func(s *dboutreach.Sender) { s.Name, s.PerSecond = "Other", 7 })
	require.Equal(t, 7, got.PerSecond)
	require.True(t, got.PausedUntil.Equal(dbtest.At(20)))
	require.Equal(t, "too many messages", got.Reason)
	got = change(func(s *dboutreach.Sender) { s.PausedUntil = new(dbtest.At(99)) })
	require.True(t, got.PausedUntil.Equal(dbtest.At(20)), "only a paused one is given a time")
	got = change(func(s *dboutreach.Sender) { s.State, s.PausedUntil = dboutreach.SenderActive, nil })
	require.Nil(t, got.PausedUntil)
	require.Empty(t, got.Reason)
}

func TestReseal(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	d := dboutreach.NewSenders(pool)
	for n, number := range []string{"1", "2", "3"} {
		err := d.Add(ctx, dboutreach.Sender{
			ID: uuid.New(), Tenant: "acme", Name: number, PhoneNumberID: number, BusinessAccountID: "1", CreatedAt: dbtest.At(n),
		}, db.Sealed{Key: "old", Box: []byte(number)}, "me")
		require.NoError(t, err)
	}
	search := saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: "all", Kinds: saved.Kinds, State: saved.Active, CreatedAt: dbtest.At(1),
	}
	hook := dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Webhook}, Address: db.Sealed{Key: "old", Box: []byte("url")},
		Token: []byte{1},
	}
	feed := dblistings.NewTarget{SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Feed}, Token: []byte{2}}
	require.NoError(t, dblistings.NewSaved(pool).Add(ctx, search, []dblistings.NewTarget{hook, feed}, "me"))
	event := uuid.New()
	require.NoError(t, dbdrafts.NewDrafts(pool).SealDraft(ctx, event, db.Sealed{Key: "old", Box: []byte("cookie")}, dbtest.At(1)))
	_, err := dblistings.NewSaved(pool).AddressKey(ctx, func() (db.Sealed, error) {
		return db.Sealed{Key: "old", Box: []byte("hash key")}, nil
	})
	require.NoError(t, err)
	key := dboutreach.NewOptOutKey(pool, func(s db.Sealed) ([]byte, error) { return s.Box, nil }).AtOnce()
	_, err = key.Rehash(ctx, 10, func() (db.Sealed, error) { return db.Sealed{Key: "old", Box: []byte("opt-out key")}, nil })
	require.NoError(t, err)
	calls := 0
	reseal := func(purposes []string, old db.Sealed) (db.Sealed, error) {
		if old.Key == "new" {
			return old, nil
		}
		calls++
		if calls == 2 {
			return db.Sealed{}, errors.New("no such key")
		}
		return db.Sealed{Key: "new", Box: []byte(purposes[0] + string(old.Box))}, nil
	}
	_, err = d.Reseal(ctx, "new", uuid.Nil, 10, true, reseal)
	require.ErrorContains(t, err, "no such key")
	last, err := d.Reseal(ctx, "new", uuid.Nil, 1, true, reseal)
	require.NoError(t, err)
	for last != uuid.Nil {
		last, err = d.Reseal(ctx, "new", last, 1, true, reseal)
		require.NoError(t, err)
	}
	require.Equal(t, 8, calls, "one failed, and none was sealed twice")
	list, err := d.List(ctx, "acme")
	require.NoError(t, err)
	for _, s := range list {
		require.Equal(t, "new", s.TokenKey)
		token, err := d.Token(ctx, "acme", s.ID)
		require.NoError(t, err)
		require.Equal(t, dboutreach.SenderPurposes("acme", s.ID, s.PhoneNumberID, true)[0]+s.PhoneNumberID, string(token.Box))
	}
	require.Equal(t, []int64{1}, dbtest.Seen(t, pool, fmt.Sprintf(
		"SELECT count(*) FROM saved_targets WHERE box_key = 'new' AND box = '%surl'", saved.TargetPurpose(hook.ID))))
	require.Equal(t, []int64{1}, dbtest.Seen(t, pool, "SELECT count(*) FROM saved_targets WHERE box_key = ''"), "a feed has none")
	sealed, err := dbdrafts.NewDrafts(pool).SealedDraft(ctx, event)
	require.NoError(t, err)
	require.Equal(t, db.Sealed{Key: "new", Box: []byte(draft.SecretsPurpose(event) + "cookie")}, sealed)
	sealed, err = dblistings.NewSaved(pool).AddressKey(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, db.Sealed{Key: "new", Box: []byte(saved.AddressesPurpose + "hash key")}, sealed)
	_, err = dboutreach.NewOptOutKey(pool, func(s db.Sealed) ([]byte, error) {
		require.Equal(t, db.Sealed{Key: "new", Box: []byte(contact.OptOutPurpose + "opt-out key")}, s)
		return s.Box, nil
	}).Rehash(ctx, 10, nil)
	require.NoError(t, err)
}
