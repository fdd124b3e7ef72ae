package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/mtlrent/conveyor/internal/launch"
)

// A frontend that is cut off is given up after both of these; by the client's defaults it would take 45 s. A frontend
// takes no shorter interval (frontend.keepAliveMinTime), and grpc-go counts from the last answer, so its pings are
// further apart than that. Where a server demands more, it says so, and grpc-go doubles the interval.
const (
	temporalProbe = 10 * time.Second // of a connection on which nothing was received
	temporalGrace = 5 * time.Second  // for the answer
)

// temporalOptions are those of TEMPORAL_* and of the profile file, as the temporal CLI reads them. TEMPORAL_ADDRESS may
// name several frontends by commas, too: calls go to all that answer.
func temporalOptions() (client.Options, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return o, fmt.Errorf("read settings of temporal: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = "conveyor"
	}
	o.ConnectionOptions.KeepAliveTime, o.ConnectionOptions.KeepAliveTimeout = temporalProbe, temporalGrace
	// Calls have a few kilobytes: compressing them and their answers, the client's default, costs both ends more CPU than
	// it spares the network.
	o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	o.WorkerHeartbeatInterval = launch.HeartbeatEvery
	if strings.Contains(o.HostPort, ",") {
		return o, frontends(&o)
	}
	return o, nil
}

// frontends has the client balance its calls over the addresses of a list; by itself it does over those of a DNS name.
func frontends(o *client.Options) error {
	var all resolver.State
	for address := range strings.SplitSeq(o.HostPort, ",") {
		address = strings.TrimSpace(address)
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("read TEMPORAL_ADDRESS: %q is no host:port", address)
		}
		// Each certificate is checked with its own name, unless TEMPORAL_TLS_SERVER_NAME says another.
		all.Addresses = append(all.Addresses, resolver.Address{Addr: address, ServerName: host})
	}
	const scheme = "frontends"
	list := manual.NewBuilderWithScheme(scheme)
	list.InitialState(all)
	o.HostPort = scheme + ":///temporal"
	o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, grpc.WithResolvers(list))
	return nil
}
