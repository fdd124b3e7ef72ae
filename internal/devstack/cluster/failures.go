package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/devstack"
)

// part reads NODE or NODE/SERVICE, such as host1/worker.
func (c *Cluster) part(name string) (host, service string, s *devstack.Stack, err error) {
	host, service, _ = strings.Cut(name, "/")
	if s = c.stack(host); s == nil {
		return "", "", nil, fmt.Errorf("there is no host %q; there are %s", host, strings.Join(Names(), ", "))
	}
	if service != "" && !slices.Contains(s.Names(), service) {
		return "", "", nil, fmt.Errorf("%s has no %q; it has %s", host, service, strings.Join(s.Names(), ", "))
	}
	return host, service, s, nil
}

// Kill ends every process of a host, or one (host1/worker), as a loss of power does. It stays away until Revive.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	c.change.Lock()
	defer c.change.Unlock()
	host, service, s, err := c.part(name)
	if err != nil {
		return err
	}
	if err := s.Down(ctx, service, true); err != nil {
		return err
	}
	if service == "" {
		killAll(c.wires.path(host))
	}
	return nil
}

// Shut ends every process of a host, or one, as an operator does.
func (c *Cluster) Shut(ctx context.Context, name string) error {
	c.change.Lock()
	defer c.change.Unlock()
	_, service, s, err := c.part(name)
	if err != nil {
		return err
	}
	return s.Down(ctx, service, false)
}

// Revive starts what Kill or Shut ended. A Postgres that was the primary before a promotion comes back as the replica
// of the new one, with a copy of its data.
func (c *Cluster) Revive(ctx context.Context, name string) error {
	c.change.Lock()
	defer c.change.Unlock()
	host, service, s, err := c.part(name)
	if err != nil {
		return err
	}
	if host == c.standby() {
		if c.wires.isCut(host) {
			return fmt.Errorf("%s is cut off from the primary that it is to copy: heal it first", host)
		}
		c.members[host].Follow(c.at(c.Primary()))
	}
	if err := s.Up(ctx, service); err != nil {
		return err
	}
	if host == c.standby() && c.opts.Synchronous { // no longer since the promotion, if there was one
		return c.stack(c.Primary()).Synchronous(ctx, true)
	}
	return nil
}

// Cut takes a host off the switch. Its connections seem open on both sides.
func (c *Cluster) Cut(ctx context.Context, host string) error {
	if c.stack(host) == nil {
		return fmt.Errorf("there is no host %q; there are %s", host, strings.Join(Names(), ", "))
	}
	return c.wires.cut(ctx, host)
}

// Heal makes the link of a host whole and fast again.
func (c *Cluster) Heal(ctx context.Context, host string) error {
	if c.stack(host) == nil {
		return fmt.Errorf("there is no host %q; there are %s", host, strings.Join(Names(), ", "))
	}
	return c.wires.heal(ctx, host)
}

// Slow makes a round trip to a host take longer by delay, half of it each way, and loses a share of the frames, 0 to 1,
// each way.
func (c *Cluster) Slow(ctx context.Context, host string, delay time.Duration, loss float64) error {
	if c.stack(host) == nil {
		return fmt.Errorf("there is no host %q; there are %s", host, strings.Join(Names(), ", "))
	}
	if delay < 0 || delay > time.Minute || loss < 0 || loss > 1 {
		return errors.New("slow a link: the delay is 0 to 1m, the loss 0 to 1")
	}
	return c.wires.slow(ctx, host, delay, loss)
}

// Primary is the host of the Postgres that takes writes.
func (c *Cluster) Primary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

// standby is the host of the other Postgres.
func (c *Cluster) standby() string {
	if c.Primary() == "pg1" {
		return "pg2"
	}
	return "pg1"
}

// Promote makes the replica of Postgres the primary. The old one is ended first, if it runs: it may only be cut off,
// and would come back as a second primary. Revive then makes it the replica. Without a replica that answers, nothing is
// changed. Behind says how far it was behind.
func (c *Cluster) Promote(ctx context.Context) error {
	c.change.Lock()
	defer c.change.Unlock()
	old, next := c.Primary(), c.standby()
	if err := isStandby(ctx, c.stack(next).SuperURL("postgres")); err != nil {
		return fmt.Errorf("%s stays the primary: %s cannot take its place: %w", old, next, err)
	}
	if err := c.stack(old).Down(ctx, devstack.Postgres, true); err != nil {
		return fmt.Errorf("fence %s: %w", old, err)
	}
	killAll(c.wires.path(old))
	if err := c.stack(next).Promote(ctx); err != nil {
		return fmt.Errorf("%s: %w", next, err)
	}
	c.mu.Lock()
	c.primary = next
	c.mu.Unlock()
	return fault.Wrap(os.WriteFile(c.primaryFile(), []byte(next+"\n"), 0o600), "note the new primary")
}

const sqlInRecovery = "SELECT pg_is_in_recovery()"

// isStandby fails where the Postgres at url does not answer in time, or is a primary.
func isStandby(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var standby bool
	switch err := askRow(ctx, url, sqlInRecovery, nil, &standby); {
	case err != nil:
		return err
	case !standby:
		return errors.New("it is no standby")
	}
	return nil
}

// Synchronous makes each commit wait for the replica of Postgres from now on, or no longer.
func (c *Cluster) Synchronous(ctx context.Context, on bool) error {
	c.change.Lock()
	defer c.change.Unlock()
	c.opts.Synchronous = on
	return c.stack(c.Primary()).Synchronous(ctx, on)
}

func (c *Cluster) primaryFile() string { return filepath.Join(c.opts.Dir, "primary") }

// readPrimary reads which Postgres was the primary at last. The other is a replica, or becomes one.
func (c *Cluster) readPrimary() error {
	text, err := os.ReadFile(c.primaryFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read which Postgres is the primary: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.primary = "pg1"
	if strings.TrimSpace(string(text)) == "pg2" {
		c.primary = "pg2"
	}
	return nil
}
