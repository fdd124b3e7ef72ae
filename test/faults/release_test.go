package faults

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// previousCommit is the release before this one: the newest commit of main whose schema and workflows ran anywhere
// before. Move it when a release is made, and then take out what the ledger forgives the previous one (crawls).
const previousCommit = "bcfec3a"

// previousRelease builds the binary of that commit from the history of this repository. It is kept among the caches of the
// user, for a build is minutes of work.
var previousRelease = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(binary) // removed with it
	cache := dir
	if of, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(of, "conveyor")
	}
	previous := filepath.Join(cache, fmt.Sprintf("conveyor-%s-%s", previousCommit, runtime.Version()))
	if _, err := os.Stat(previous); err == nil {
		return previous, nil
	}
	root := filepath.Join("..", "..")
	if err := exec.Command("git", "-C", root, "cat-file", "-e", previousCommit+"^{commit}").Run(); err != nil {
		return "", fmt.Errorf("the history of this clone has no commit %s, the previous release, which this test builds "+
			"and runs: clone without --depth, or run git fetch --unshallow", previousCommit)
	}
	source := filepath.Join(dir, "previous-source")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	var tree bytes.Buffer
	archive := exec.Command("git", "-C", root, "archive", previousCommit)
	archive.Stdout = &tree
	if err := archive.Run(); err != nil {
		return "", fmt.Errorf("read the previous release from the history: %w", err)
	}
	unpack := exec.Command("tar", "-x", "-C", source)
	unpack.Stdin = &tree
	if out, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack the previous release: %w: %s", err, out)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	// Renamed when it is whole, for another run may do the same. With the flags of other builds, so that what it depends on
	// comes from the build cache.
	built := fmt.Sprintf("%s.%d", previous, os.Getpid())
	build := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/conveyor")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the previous release: %w: %s", err, out)
	}
	return previous, os.Rename(built, previous)
})

// A rollout while every system works loses nothing, in either direction: the previous release runs on the schema of this
// one, both run side by side, and each goes on with what the other has begun. So do builds of a Worker Deployment.
func TestTheLedgerOfReleasesBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with the other short ones
	previous, err := previousRelease()
	require.NoError(t, err)
	b := newBusy(t, release{binary: previous}, releaseContacts, 20*time.Millisecond, nil)
	b.say("seed %d: from %s to this release, back, and forth again", *seed, previousCommit)
	b.flow.feed(*messages / 4)

	b.say("this release migrates, under the previous one")
	require.NoError(t, b.migrate(b.ctx, binary))
	b.begin()
	back := release{name: "the previous release", binary: previous}
	table := []release{
		{name: "this release", binary: binary}, back, ofBuild("this release, as a build of a deployment", "one"),
	}
	if *long {
		table = append(table, back, ofBuild("another build of it", "two"))
	}
	before := release{}
	for _, to := range table {
		b.say("%s …", to.name)
		if before.settings != nil && to.settings == nil { // or workers without a deployment get nothing
			require.NoError(t, b.once(b.ctx, before, "deployment", "set-current", "--unversioned"))
		}
		if to.binary == previous { // as its own rollout does
			require.NoError(t, b.once(b.ctx, to, "migrate"))
			require.NoError(t, b.once(b.ctx, to, "bootstrap"))
		}
		b.flow.feed(*messages / 4)
		b.draft(b.shop.URL)
		b.round()
		for range releaseSingles {
			b.singles.write()
		}
		took, err := b.rollOut(to)
		require.NoError(t, err, to.name)
		b.say("%s: every role runs it; they ended within %s", to.name, took.Round(100*time.Millisecond))
		before = to
	}
	if *long {
		require.NoError(t, b.once(b.ctx, before, "deployment", "drain", "one", "--within=5m"))
	}
	probe := b.flow.probe()
	require.NoError(t, eventually(b.ctx, 2*servicetest.Patience(), func() bool { return b.watch.saw(probe.advert) }))
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	b.reckon(l)
}

// Of a round of releases: so many messages are on their way while roles are replaced.
const (
	releaseContacts = 300
	releaseSingles  = 20
)

// A release is a binary of Conveyor, and the settings that its roles have beside those of the world.
type release struct {
	name     string
	binary   string
	settings []string
}

// ofBuild is this release as a build of a Worker Deployment.
func ofBuild(name, id string) release {
	return release{name, binary, []string{"CONVEYOR_DEPLOYMENT=faults", "CONVEYOR_BUILD_ID=" + id}}
}

// rollOut replaces every role by that of a release, while others work: in the short form two of them at once, so that
// both releases share the work of each kind for some time. A build of a deployment becomes current when it has a worker.
// It returns the longest time that a role took to end.
func (w *world) rollOut(to release) (longest time.Duration, err error) {
	waves := [][]string{{"bridge-1", "worker-1"}, {"bridge-2", "worker-2", "api"}}
	if *long {
		waves = [][]string{{"api"}, {"bridge-1"}, {"worker-1"}, {"bridge-2"}, {"worker-2"}}
	}
	for _, names := range waves {
		var wave errgroup.Group
		var mu sync.Mutex
		for _, name := range names {
			n := slices.IndexFunc(w.roles, func(r *role) bool { return r.name == name })
			wave.Go(func() error {
				took, err := w.roles[n].retire(w.ctx, to)
				mu.Lock()
				defer mu.Unlock()
				longest = max(longest, took)
				return err
			})
		}
		if err := wave.Wait(); err != nil {
			return longest, err
		}
		if err := eventually(w.ctx, 2*servicetest.Patience(), w.healthy); err != nil {
			return longest, fmt.Errorf("%v run it and are not healthy: %s", names, w.ailing())
		}
		if len(to.settings) > 0 && slices.Contains(names, "worker-1") {
			if err := w.once(w.ctx, to, "deployment", "set-current", "--wait=5m"); err != nil {
				return longest, err
			}
		}
		w.flow.feed(*messages / 20) // for both releases
	}
	return longest, nil
}

// once runs a command of a release that ends.
func (w *world) once(ctx context.Context, of release, command ...string) error {
	cmd := exec.CommandContext(ctx, of.binary, command...)
	cmd.Env = append(w.env("faults"), of.settings...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("conveyor %s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

// endsWithin is how long a role may take to end: as a container may whose grace is twice CONVEYOR_STOP_GRACE, and a
// reserve.
const endsWithin = 2*5*time.Second + 10*time.Second

// retire asks a role to end, as a rollout does, and has its supervisor start a release in its place. It returns how long
// the process took to end, which must be within its grace.
func (r *role) retire(ctx context.Context, in release) (took time.Duration, err error) {
	var old *os.Process
	err = eventually(ctx, endsWithin, func() bool { // another fault may just have killed it
		r.mu.Lock()
		defer r.mu.Unlock()
		if old = r.process; old == nil || old.Signal(syscall.SIGTERM) != nil {
			return false
		}
		r.release, r.retired = in, true
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("%s does not run: %w", r.name, err)
	}
	began := time.Now()
	err = eventually(ctx, endsWithin, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.process != old
	})
	took = time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drains = append(r.drains, took)
	if r.queues == nil {
		r.queues = map[string]time.Duration{}
	}
	for queue, took := range r.log.takeEnds() {
		r.queues[queue] = max(r.queues[queue], took)
	}
	if err != nil {
		return took, fmt.Errorf("%s was asked to end, and did not: %w", r.name, err)
	}
	return took, nil
}

// retire retires a role of a kind while it works, and says how long it took.
func (w *world) retire(command string) (string, error) {
	r := w.any(command)
	pause(w.ctx, w.upTo(time.Second))
	took, err := r.retire(w.ctx, release{binary: binary})
	return fmt.Sprintf(": %s ended within %.1f s", r.name, took.Seconds()), err
}

// drains adds how long roles took to end under load, by kind.
func (l *Ledger) drains(w *world) {
	longest, queues, n := map[string]time.Duration{}, map[string]time.Duration{}, 0
	for _, r := range w.roles {
		r.mu.Lock()
		for _, took := range r.drains {
			longest[r.command] = max(longest[r.command], took)
			n++
		}
		for queue, took := range r.queues {
			queues[queue] = max(queues[queue], took)
		}
		r.mu.Unlock()
	}
	if n == 0 {
		return
	}
	var said []string
	for _, command := range []string{"bridge", "worker", "api"} {
		if took, ok := longest[command]; ok {
			said = append(said, fmt.Sprintf("%s %.1f s", command, took.Seconds()))
		}
	}
	l.row("roles ended by SIGTERM under load", n, "the slowest took: %s", strings.Join(said, ", "))
	said = nil
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		said = append(said, fmt.Sprintf("%s %.1f s", queue, queues[queue].Seconds()))
	}
	if len(said) > 0 {
		l.row("task queues that their workers left", len(said), "the slowest took: %s", strings.Join(said, ", "))
	}
}
