package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// The demo site takes messages as the WhatsApp Cloud API does, and posts statuses with the secret of the settings.
func TestDemoSiteTakesMessages(t *testing.T) {
	t.Parallel()
	bodies := make(chan bool, 10)
	hooks := httptest.NewServer(signatures{"the secret", bodies})
	t.Cleanup(hooks.Close)
	site, cloud := demoSite(demosite.Options{Frozen: true}, hooks.URL, config.WhatsApp{AppSecrets: []string{"the secret", "old"}})
	s := httptest.NewServer(site)
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	ran := make(chan error, 1)
	go func() { ran <- cloud.Run(ctx) }()
	c, err := whatsapp.New(config.WhatsApp{URL: s.URL + cloudPath, Version: "v23.0", Timeout: 10 * time.Second}.Options())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	a, err := c.Send(t.Context(), whatsapp.Sender{PhoneNumberID: "1", Token: "any"}, whatsapp.Message{
		ID: uuid.New(), To: "+15550101234", Body: campaign.Body{Type: "text", Text: &campaign.Text{Body: "Hello"}},
	})
	require.NoError(t, err)
	require.NotEmpty(t, a.ID)
	require.NoError(t, cloud.Settled(ctx))
	require.Equal(t, 3, cloud.Counts().Posted)
	require.True(t, <-bodies)
	cancel()
	require.NoError(t, <-ran)
}

// signatures tells of each request whether its signature is right.
type signatures struct {
	secret string
	good   chan<- bool
}

func (s signatures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.good <- err == nil && whatsapp.Signed(body, r.Header.Get(whatsapp.SignatureHeader), []string{s.secret})
	w.WriteHeader(http.StatusOK)
}
