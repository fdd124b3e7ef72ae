//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// Bridges that start at once, each on another node of an empty broker, declare the same queues: all of them consume,
// however often that is done, each time in a virtual host of its own.
func TestBridgesDeclareAtOnce(t *testing.T) {
	w := theWorld(t)
	w.becomesWhole(t)
	for n := range *empty {
		began := time.Now()
		var bridges errgroup.Group
		vhost := fmt.Sprintf("empty-%d", n)
		require.NoError(t, w.manage(t.Context(), http.MethodPut, "/api/vhosts/"+vhost))
		ctx, cancel := context.WithTimeout(t.Context(), declareWithin)
		for i := range cluster.Hosts {
			bridges.Go(func() error { return w.bridge(ctx, vhost, i) })
		}
		err := bridges.Wait()
		cancel()
		require.NoError(t, err, vhost)
		t.Logf("%s: all bridges consume after %s", vhost, time.Since(began).Round(10*time.Millisecond))
		require.NoError(t, w.manage(t.Context(), http.MethodDelete, "/api/vhosts/"+vhost))
	}
}

// declareWithin bounds the start of the bridges, on a busy machine.
const declareWithin = 3 * time.Minute

// bridge runs a bridge of a host on one node of the broker, in a virtual host, until it consumes every queue.
func (w *world) bridge(ctx context.Context, vhost string, i int) error {
	node, err := url.Parse(strings.Split(w.Var("RABBITMQ_URL"), ",")[i])
	if err != nil {
		return err
	}
	node.Path = "/" + vhost
	name := vhost + "-" + cluster.Brokers[i]
	log, err := os.Create(filepath.Join(options().Dir, name+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	at := fmt.Sprintf("%s:%d", cluster.Address(""), 9300+i)
	cmd := exec.CommandContext(ctx, options().Binary, "bridge")
	cmd.Env = append(w.Env(), "RABBITMQ_URL="+node.String(), "CONVEYOR_METRICS_ADDRESS="+at,
		"CONVEYOR_HOME="+options().Dir)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for {
		open, closed, err := cluster.Consumers(ctx, "http://"+at+"/metrics")
		if err == nil && open > 0 && closed == 0 {
			return nil
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("%s consumes %d of %d queues: %w; see %s", name, open, open+closed, err, log.Name())
		}
	}
}

// manage calls the management API of a node, with its credentials.
func (w *world) manage(ctx context.Context, method, path string) error {
	base, _, _ := strings.Cut(w.Var("RABBITMQ_MANAGEMENT_URL"), ",")
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return nil
}
