package main

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// healthy opens a client with the settings of the environment, and asks Temporal for as long as within: an error that
// lasts is known at its end only.
func healthy(t *testing.T, within time.Duration) error {
	t.Helper()

	o, err := temporalOptions()
	if err != nil {
		return err
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	_, err = c.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// Of several frontends one is enough, and another one takes over under an open client.
func TestFrontends(t *testing.T) {
	service := servicetest.Address(t, "TEMPORAL_ADDRESS")
	lines := []*bridgetest.Line{bridgetest.NewLine(t, "temporal://"+service), bridgetest.NewLine(t, "temporal://"+service)}
	address := func(l *bridgetest.Line) string { return l.URL[len("temporal://"):] }
	t.Setenv("TEMPORAL_ADDRESS", address(lines[0])+", "+address(lines[1]))
	o, err := temporalOptions()
	require.NoError(t, err)
	c, err := client.NewLazyClient(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for _, l := range lines {
		l.Cut()
		require.Eventually(t, func() bool {
			_, err := c.CheckHealth(t.Context(), &client.CheckHealthRequest{})
			return err == nil
		}, servicetest.Patience(), 10*time.Millisecond)
		l.Mend()
	}
	t.Setenv("TEMPORAL_ADDRESS", "a:7233,b")
	_, err = temporalOptions()
	require.EqualError(t, err, `read TEMPORAL_ADDRESS: "b" is no host:port`)
}

// A frontend that is cut off is noticed in a quarter of a minute, one of several as the only one.
func TestTemporalIsProbed(t *testing.T) {
	for _, address := range []string{"a:7233", "a:7233,b:7233"} {
		t.Setenv("TEMPORAL_ADDRESS", address)
		o, err := temporalOptions()
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, o.ConnectionOptions.KeepAliveTime, "no server takes a shorter one")
		require.Equal(t, 5*time.Second, o.ConnectionOptions.KeepAliveTimeout)
	}
}

// packings records how what a server is sent is compressed, by its calls.
type packings struct {
	mu  sync.Mutex
	all map[string]string
}

func (*packings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (*packings) HandleConn(context.Context, stats.ConnStats) {}

func (*packings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (p *packings) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InHeader); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all[in.FullMethod] = in.Compression
	}
}

// An answer is compressed as its call is, so neither of them is.
func TestTemporalIsNotCompressed(t *testing.T) {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	seen := &packings{all: map[string]string{}}
	server := grpc.NewServer(grpc.StatsHandler(seen))
	workflowservice.RegisterWorkflowServiceServer(server, workflowservice.UnimplementedWorkflowServiceServer{})
	healthpb.RegisterHealthServer(server, &keyHolder{})
	go func() { _ = server.Serve(door) }() // ends with Stop
	t.Cleanup(server.Stop)
	t.Setenv("TEMPORAL_ADDRESS", door.Addr().String())
	o, err := temporalOptions()
	require.NoError(t, err)
	c, err := client.NewLazyClient(o)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "n"})
	require.Error(t, err, "the server knows nothing")
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Contains(t, seen.all, "/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace")
	for call, packed := range seen.all {
		require.Empty(t, packed, call)
	}
}

// Certificates are named as for the temporal CLI, for one frontend and for several.
func TestTemporalByTLS(t *testing.T) {
	service := servicetest.Address(t, "TEMPORAL_ADDRESS")
	ours, other := servicetest.NewAuthority(t), servicetest.NewAuthority(t)
	cert, key := ours.Issue("client")
	ca := "TEMPORAL_TLS_SERVER_CA_CERT_PATH"
	for name, c := range map[string]struct {
		clients  bool // need a certificate
		several  bool
		settings map[string]string
		says     string // "" when it works
	}{
		"private authority":       {false, false, map[string]string{ca: ours.CA}, ""},
		"several frontends":       {false, true, map[string]string{ca: ours.CA}, ""},
		"authority not named":     {false, false, map[string]string{"TEMPORAL_TLS": "true"}, "unknown authority"},
		"another authority":       {false, false, map[string]string{ca: other.CA}, "unknown authority"},
		"no such file":            {false, false, map[string]string{ca: "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
		"client with certificate": {true, false, map[string]string{ca: ours.CA, "TEMPORAL_TLS_CLIENT_CERT_PATH": cert, "TEMPORAL_TLS_CLIENT_KEY_PATH": key}, ""},
		"client without":          {true, false, map[string]string{ca: ours.CA}, "certificate required"},
	} {
		t.Run(name, func(t *testing.T) {
			address := ours.Front(service, c.clients, false)
			if c.several {
				address += "," + ours.Front(service, c.clients, false)
			}
			t.Setenv("TEMPORAL_ADDRESS", address)
			for k, v := range c.settings {
				t.Setenv(k, v)
			}
			if c.says == "" {
				require.NoError(t, healthy(t, servicetest.Patience()))
				return
			}
			err := healthy(t, 10*time.Second)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// keyHolder is a frontend that records the authorization and the namespace of each call.
type keyHolder struct {
	workflowservice.UnimplementedWorkflowServiceServer
	healthpb.UnimplementedHealthServer

	key string // that it accepts
}

func (k *keyHolder) check(ctx context.Context) error {
	sent, _ := metadata.FromIncomingContext(ctx)
	if got := sent.Get("authorization"); len(got) != 1 || got[0] != "Bearer "+k.key {
		return status.Error(codes.Unauthenticated, "invalid API key")
	}
	if got := sent.Get("temporal-namespace"); len(got) > 1 || len(got) == 1 && got[0] != "homes.a1b2c" {
		return status.Error(codes.PermissionDenied, "another namespace")
	}
	return nil
}

func (k *keyHolder) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, k.check(ctx)
}

func (k *keyHolder) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest) (
	*workflowservice.GetSystemInfoResponse, error,
) {
	return &workflowservice.GetSystemInfoResponse{}, k.check(ctx)
}

// Temporal Cloud takes an API key with every call, and TLS, which a key turns on by itself. A server of our own knows no
// keys, so a small one answers here.
func TestTemporalByAPIKey(t *testing.T) {
	ours := servicetest.NewAuthority(t)
	pair, err := tls.LoadX509KeyPair(ours.Issue("server"))
	require.NoError(t, err)
	door, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	holder := &keyHolder{key: "right"}
	workflowservice.RegisterWorkflowServiceServer(server, holder)
	healthpb.RegisterHealthServer(server, holder)
	go func() { _ = server.Serve(door) }() // ends with Stop
	t.Cleanup(server.Stop)
	for name, c := range map[string]struct {
		settings map[string]string
		says     string // "" when it works
	}{
		"key":              {map[string]string{"TEMPORAL_API_KEY": "right"}, ""},
		"another key":      {map[string]string{"TEMPORAL_API_KEY": "wrong"}, "invalid API key"},
		"no key":           {nil, "invalid API key"},
		"authority of CLI": {map[string]string{"TEMPORAL_API_KEY": "right", "TEMPORAL_TLS_SERVER_CA_CERT_PATH": "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TEMPORAL_ADDRESS", door.Addr().String())
			t.Setenv("TEMPORAL_NAMESPACE", "homes.a1b2c")
			t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ours.CA)
			for k, v := range c.settings {
				t.Setenv(k, v)
			}
			if c.says == "" {
				require.NoError(t, healthy(t, servicetest.Patience()))
				return
			}
			err := healthy(t, 10*time.Second)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "wrong")
		})
	}
	t.Setenv("TEMPORAL_ADDRESS", door.Addr().String())
	t.Setenv("TEMPORAL_API_KEY", "right")
	require.ErrorContains(t, healthy(t, 10*time.Second), "unknown authority", "a key turns TLS on, so it is never sent in clear")
}
