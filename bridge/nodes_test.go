package bridge_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// Of several nodes one is enough, wherever it is in the list and whatever the others do; and another one takes over.
func TestAnotherNodeTakesOver(t *testing.T) {
	t.Parallel()

	broker, _ := outbox(t)
	lines := []*bridgetest.Line{
		bridgetest.NewLine(t, broker.URL), bridgetest.NewLine(t, broker.URL), bridgetest.NewLine(t, broker.URL),
	}
	nodes := []string{lines[0].URL, lines[1].URL, lines[2].URL}
	sender := bridge.NewSender(nodes...)
	t.Cleanup(sender.Close)
	sends := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		return sender.Send(ctx, []bridge.Parcel{{Exchange: "scraped", RoutingKey: "kijiji", Body: []byte("{}")}}) == nil
	}
	for n, line := range lines {
		lines[(n+1)%3].Cut()
		lines[(n+2)%3].Hang(true)
		require.Eventually(t, sends, servicetest.Patience(), 10*time.Millisecond, "only node %d answers", n)
		servicetest.Undisturbed(t, func() error { // a node that does not answer leaves time for the others
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			defer cancel()
			return bridge.Ping(ctx, nodes...)
		})
		line.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		require.Error(t, bridge.Ping(ctx, nodes...))
		cancel()
		for _, l := range lines {
			l.Hang(false)
			l.Cut()
			l.Mend()
		}
	}
}

// RABBITMQ_URL names the certificates of amqps:// as RabbitMQ's clients do: cacertfile, certfile, keyfile.
func TestTLS(t *testing.T) {
	t.Parallel()

	broker, _ := outbox(t)
	ours, other := servicetest.NewAuthority(t), servicetest.NewAuthority(t)
	cert, key := ours.Issue("client")
	wrong, wrongKey := other.Issue("client")
	u, err := url.Parse(broker.URL)
	require.NoError(t, err)
	service := u.Host
	u.Scheme = "amqps"
	for name, c := range map[string]struct {
		clients  bool // need a certificate
		settings string
		says     string // "" when it works
	}{
		"private authority":        {false, "cacertfile=" + ours.CA, ""},
		"authority not named":      {false, "", "unknown authority"},
		"another authority":        {false, "cacertfile=" + other.CA, "unknown authority"},
		"no such file":             {false, "cacertfile=/nowhere/ca.pem", "/nowhere/ca.pem"},
		"client with certificate":  {true, "cacertfile=" + ours.CA + "&certfile=" + cert + "&keyfile=" + key, ""},
		"client without":           {true, "cacertfile=" + ours.CA, "certificate required"},
		"client of someone else's": {true, "cacertfile=" + ours.CA + "&certfile=" + wrong + "&keyfile=" + wrongKey, "tls: "},
	} {
		u.Host, u.RawQuery = ours.Front(service, c.clients, false), c.settings
		err := bridge.Ping(t.Context(), u.String())
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
	}
	u.RawQuery = ""
	u.Scheme, u.Host = "amqp", ours.Front(service, false, false)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorContains(t, bridge.Ping(ctx, u.String()), "connect to rabbitmq", "without TLS")
}

// RABBITMQ_MANAGEMENT_URL names them as RABBITMQ_URL does.
func TestManagementByTLS(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(servicetest.Address(t, "RABBITMQ_MANAGEMENT_URL"))
	require.NoError(t, err)
	service := u.Host
	u.Scheme = "https"
	ours, other := servicetest.NewAuthority(t), servicetest.NewAuthority(t)
	cert, key := ours.Issue("client")
	for name, c := range map[string]struct {
		clients  bool // need a certificate
		settings string
		says     string // "" when it works
	}{
		"private authority":       {false, "cacertfile=" + ours.CA, ""},
		"authority not named":     {false, "", "unknown authority"},
		"another authority":       {false, "cacertfile=" + other.CA, "unknown authority"},
		"no such file":            {false, "cacertfile=/nowhere/ca.pem", "RABBITMQ_MANAGEMENT_URL: read cacertfile: open /nowhere/ca.pem"},
		"no certificate":          {false, "cacertfile=" + key, "there is no certificate in " + key},
		"key without certificate": {true, "keyfile=" + key, "read certfile and keyfile"},
		"another setting":         {false, "cafile=" + ours.CA, "has settings other than cacertfile"},
		"client with certificate": {true, "cacertfile=" + ours.CA + "&certfile=" + cert + "&keyfile=" + key, ""},
		"client without":          {true, "cacertfile=" + ours.CA, "certificate required"},
	} {
		u.Host, u.RawQuery = ours.Front(service, c.clients, false), c.settings
		i, err := bridge.NewInspector(options(servicetest.Address(t, "RABBITMQ_URL")), u.String())
		if err == nil {
			_, err = i.Rates(t.Context())
			i.Close()
		}
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
	}
	u.Scheme, u.RawQuery = "http", "cacertfile="+ours.CA
	_, err = bridge.NewInspector(options(servicetest.Address(t, "RABBITMQ_URL")), u.String())
	require.ErrorContains(t, err, "for https:// only")
}
