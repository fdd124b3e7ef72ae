package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// prefix is what the names of a cluster's network namespaces begin with: each folder has its own.
func prefix(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "cv" + hex.EncodeToString(sum[:4]) + "-"
}

// spaces is where iproute2 keeps the names of network namespaces. Tests have another.
var spaces = "/run/netns"

const theSwitch = "switch"

// wires are the links of a cluster: each host has an interface eth0, whose other end is a port of the bridge in the
// namespace of the switch.
type wires struct {
	prefix string
	seed   uint64

	mu     sync.Mutex
	away   map[string]bool // cut
	relays map[string]*relay
}

func (w *wires) path(host string) string { return filepath.Join(spaces, w.prefix+host) }

// killAll ends every process in the network namespace at path, whoever started it: a backend of Postgres outlives its
// postmaster for as long as its statement takes.
func killAll(path string) {
	space, err := os.Stat(path)
	if err != nil {
		return
	}
	all, _ := filepath.Glob("/proc/[0-9]*") // fails for a malformed pattern only
	for _, dir := range all {
		of, err := os.Stat(filepath.Join(dir, "ns", "net"))
		if err != nil || !os.SameFile(space, of) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func port(host string) string { return "p-" + host }

// lay removes what a killed driver has left, and connects all hosts. It is called on the switch. What it made before an
// error is there to be removed.
func lay(ctx context.Context, dir string, seed uint64) (*wires, error) {
	w := &wires{prefix: prefix(dir), seed: seed, away: map[string]bool{}, relays: map[string]*relay{}}
	if err := w.clear(ctx); err != nil {
		return w, err
	}
	// The bridge has an address of its own: by default it takes the lowest of its ports', which come and go.
	lines := []string{
		"link set lo up",
		"link add br0 address 02:c0:00:00:00:01 type bridge forward_delay 0 mcast_snooping 0",
		"addr add " + Address("") + "/24 dev br0",
		"link set br0 up",
	}
	for _, n := range nodes {
		if err := ip(ctx, "netns", "add", w.prefix+n.name); err != nil {
			return w, err
		}
		lines = append(lines,
			// A port that is off the bridge, see slow, must not answer for the switch.
			"link add "+port(n.name)+" arp off type veth peer name eth0 netns "+w.prefix+n.name,
			"link set "+port(n.name)+" master br0 up")
	}
	if err := batch(ctx, nil, lines); err != nil {
		return w, err
	}
	for _, n := range nodes {
		if err := batch(ctx, []string{"-n", w.prefix + n.name}, []string{
			"link set lo up",
			"addr add " + Address(n.name) + "/24 dev eth0",
			"link set eth0 up",
		}); err != nil {
			return w, err
		}
	}
	return w, nil
}

// clear removes the links of the switch, and the namespaces of the hosts.
func (w *wires) clear(ctx context.Context) error {
	all, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}
	for _, i := range all {
		if i.Name == "br0" || strings.HasPrefix(i.Name, "p-") || strings.HasPrefix(i.Name, "t-") {
			if err := ip(ctx, "link", "del", i.Name); err != nil {
				return err
			}
		}
	}
	return removeSpaces(ctx, w.prefix, w.prefix+theSwitch)
}

// removeSpaces deletes the namespaces whose names begin so, but for one, and ends what is left in them.
func removeSpaces(ctx context.Context, prefix, but string) error {
	names, err := filepath.Glob(filepath.Join(spaces, prefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range names {
		if name := filepath.Base(path); name != but {
			if !strings.HasSuffix(name, "-"+theSwitch) { // where this process may be
				killAll(path)
			}
			if err := ip(ctx, "netns", "del", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove ends the relays and deletes every namespace. That of the switch lasts as long as this process, without a name.
func (w *wires) remove(ctx context.Context) error {
	w.release()
	return errors.Join(w.clear(ctx), removeSpaces(ctx, w.prefix, ""))
}

// release makes every link whole. What cannot be, is going to be removed.
func (w *wires) release() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, n := range nodes {
		_ = w.heal(ctx, n.name)
	}
}

func (w *wires) cut(ctx context.Context, host string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away[host] = true
	return ip(ctx, "link", "set", port(host), "down")
}

func (w *wires) isCut(host string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away[host]
}

// heal puts the port back on the bridge, and up, whatever it was.
func (w *wires) heal(ctx context.Context, host string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeRelay(host)
	delete(w.away, host)
	return ip(ctx, "link", "set", port(host), "master", "br0", "up")
}

func (w *wires) closeRelay(host string) {
	if r := w.relays[host]; r != nil {
		r.close()
		delete(w.relays, host)
	}
}

// slow takes the port off the bridge, and has a relay carry the frames between them. On an error the link is fast.
func (w *wires) slow(ctx context.Context, host string, delay time.Duration, loss float64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeRelay(host)
	w.seed++ // of each relay another, in the same order with the same first one
	r, err := newRelay(port(host), "t-"+host, delay/2, loss, w.seed)
	if err == nil {
		err = batch(ctx, nil, []string{
			"link set t-" + host + " master br0 up",
			"link set " + port(host) + " nomaster",
		})
		if err != nil {
			r.close()
		}
	}
	if err != nil { // if it was slow before, its port is off the bridge
		back := ip(context.WithoutCancel(ctx), "link", "set", port(host), "master", "br0")
		return errors.Join(fmt.Errorf("slow the link of %s, which is fast now: %w", host, err), back)
	}
	w.relays[host] = r
	r.run()
	return nil
}

// describe says how the link of a host is.
func (w *wires) describe(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := w.relays[host]; {
	case w.away[host]:
		return "cut"
	case r != nil:
		return fmt.Sprintf("slow: %s, %g %% lost", 2*r.delay, 100*r.loss)
	}
	return "up"
}

func ip(ctx context.Context, args ...string) error {
	return runIP(exec.CommandContext(ctx, "ip", args...))
}

// batch runs lines of iproute2 in one process.
func batch(ctx context.Context, flags, lines []string) error {
	cmd := exec.CommandContext(ctx, "ip", append(flags, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	return runIP(cmd)
}

func runIP(cmd *exec.Cmd) error {
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
