package apitest

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

// SaveSearch saves a search of acme with a feed, and returns its ID.
func (d *Door) SaveSearch(t *testing.T, name string) string {
	t.Helper()

	r := d.Ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"`+name+`","filter":{},"targets":[{"kind":"feed"}]}`)
	return Read[apilistings.SavedSearch](t, r, 201).ID.String()
}

// Subscriber adds an e-mail address to a search of acme, and returns the target's ID and the token of its links.
func (d *Door) Subscriber(t *testing.T, search string, kind saved.Channel, label string) (id, token string) {
	t.Helper()

	target, token := uuid.New(), rand.Text()
	sum := sha256.Sum256([]byte(token))
	require.NoError(t, d.Searches.Store.AddTarget(t.Context(), "acme", uuid.MustParse(search), dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: target, Kind: kind, Label: label}, Token: sum[:],
		Sum: sum[:],
	}, "test", Now))
	return target.String(), token
}

// Hook adds a webhook to a search of acme whose challenge has failed, and returns the target's ID.
func (d *Door) Hook(t *testing.T, search string) string {
	t.Helper()

	target, token := uuid.New(), sha256.Sum256([]byte(rand.Text()))
	require.NoError(t, d.Searches.Store.AddTarget(t.Context(), "acme", uuid.MustParse(search), dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: target, Kind: saved.Webhook, Label: "https://hooks.example"}, Token: token[:],
	}, "test", Now))
	due, err := d.Searches.Store.Begin(t.Context(), 100, 100, Now, Now)
	require.NoError(t, err)
	for _, n := range due {
		require.NoError(t, d.Searches.Store.EndNotice(t.Context(), n.Tenant, n.ID, "failed", "the webhook answered 500", Now))
	}
	return target.String()
}
