package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Request is what another process asks of the driver of a cluster.
type Request struct {
	Action string        `json:"action"` // status, kill, shut, start, cut, heal, slow, promote
	Node   string        `json:"node,omitempty"`
	Delay  time.Duration `json:"delay,omitempty"`
	Loss   float64       `json:"loss,omitempty"`
}

// socket is the file in a cluster's folder at which its driver listens. Only its user may open it.
const socket = "control"

// short is a path to the socket that fits into the 107 bytes of its address, however deep the folder is. It holds until
// the file is closed.
func short(dir string) (string, *os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), socket), f, nil
}

// Serve does what other processes of this user ask (Ask), until ctx ends.
func (c *Cluster) Serve(ctx context.Context) error {
	if err := os.Remove(filepath.Join(c.opts.Dir, socket)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("listen for commands: %w", err)
	}
	path, dir, err := short(c.opts.Dir)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { _ = dir.Close() }()
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	if err := os.Chmod(filepath.Join(c.opts.Dir, socket), 0o600); err != nil {
		return errors.Join(fmt.Errorf("listen for commands: %w", err), l.Close())
	}
	server := &http.Server{Handler: http.HandlerFunc(c.answer), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen for commands: %w", err)
	}
	return nil
}

func (c *Cluster) answer(w http.ResponseWriter, r *http.Request) {
	var in Request
	if err := json.NewDecoder(io.LimitReader(r.Body, 4096)).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if in.Action == "status" {
		_ = Print(w, c.Status(r.Context()))
		return
	}
	said, err := c.do(r.Context(), in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	_, _ = fmt.Fprintln(w, said)
}

// do does what is asked, and says what has happened.
func (c *Cluster) do(ctx context.Context, in Request) (string, error) {
	began := time.Now()
	took := func() string { return time.Since(began).Round(10 * time.Millisecond).String() }
	switch in.Action {
	case "kill":
		return in.Node + " is killed", c.Kill(ctx, in.Node)
	case "shut":
		err := c.Shut(ctx, in.Node)
		return in.Node + " has stopped, in " + took(), err
	case "start":
		err := c.Revive(ctx, in.Node)
		return in.Node + " is up, after " + took(), err
	case "cut":
		return in.Node + " is cut off", c.Cut(ctx, in.Node)
	case "heal":
		return "the link of " + in.Node + " is whole", c.Heal(ctx, in.Node)
	case "slow":
		return fmt.Sprintf("a round trip to %s takes %s longer, and %g %% of its frames are lost each way",
			in.Node, in.Delay, 100*in.Loss), c.Slow(ctx, in.Node, in.Delay, in.Loss)
	case "promote":
		err := c.Promote(ctx)
		return c.Primary() + " is the primary, after " + took() + "; " + c.Behind().ago(began), err
	}
	return "", fmt.Errorf("there is no %q", in.Action)
}

// Ask has the driver of the cluster in dir do something, and returns what it says.
func Ask(ctx context.Context, dir string, in Request) (string, error) {
	path, f, err := short(dir)
	if err != nil {
		return "", errNone(dir)
	}
	defer func() { _ = f.Close() }()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	defer client.CloseIdleConnections()
	text, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cluster/", bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", errNone(dir)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", fmt.Errorf("read the answer of the cluster: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(string(bytes.TrimSpace(said)))
	}
	return string(said), nil
}

func errNone(dir string) error {
	return fmt.Errorf("no cluster runs in %s: start one with make cluster", dir)
}
