//go:build tour

// Package tour takes the README's tour: it starts `conveyor up` in a folder of its own, at ports that are free, and
// runs the blocks of the tour one after another, as a newcomer pastes them. `make test-tour` does it, in a quarter of
// an hour.
package tour

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack"
)

// stops are the blocks of the tour: each is known by a text that it has, and has to answer what the words around it
// say.
var stops = []struct{ has, answers string }{
	{"conveyor platforms\n", `(?s)centris.*kangalou.*kijiji`},
	{`"last_cycle"`, `^$`},
	{"picture.jpg", `(?s)"rent_cents".*"images"`},
	{"duplicates list", `(?s)hidden.*REASONS.*MEDIAN.*cheap.geojson`},
	{`"price_cents": 71500`, `(?s)71500.*kijiji`},
	{"searches create cheaper", `(?s)"kind": "price_drop".*"rent_cents": [0-9]+`},
	{`"kind": "429"`, `(?s)kijiji.*state +paused.*pace +2s`},
	{"wasserkocher", `(?s)"EUR".*screenshot.png`},
	{"7b0c1c52", `(?s)"routed":true.*"succeeded".*"129.99"`},
	{"kill -STOP", `(?s)there is no browser.*replayed 1.*Mug`},
	{"crawl export 1", `(?s)COMPLETED.*←.*"visited"`},
	{"search stats", `(?s)some of them follow.*segments.*"snippet"`},
	{"contacts import", `(?s)250 refused.*"columns".*"received"`},
	{"campaigns create", `(?s)paused: wrong text.*Z  read\n.*567 of 567`},
	{"dead-letters replay --reason rent", `rent`},
	{"grep unchanged_total", `unchanged_total`},
	{"keys create me", `"rent_cents"`},
}

// refuses are the commands that end with another exit code than 0 when all is well: rows of the file are refused, a
// frozen browser answers nobody, and what head has not read ends who writes it.
var refuses = regexp.MustCompile(`^(bin/conveyor (contacts import|draft http://\S+/shop/mug)|head)`)

func TestTour(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, tour, found := strings.Cut(string(readme), "\n## The tour\n")
	require.True(t, found)
	tour, _, _ = strings.Cut(tour, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(tour, -1)
	require.Len(t, blocks, len(stops))

	v := arrive(t)
	for i, stop := range stops {
		block := blocks[i][1]
		require.Contains(t, block, stop.has)
		began := time.Now()
		answer, failed := v.run(t, block)
		t.Logf("%.0f s\n%s\n%s", time.Since(began).Seconds(), block, answer)
		assert.Empty(t, failed, "commands that failed, of the block with %s", stop.has)
		assert.Regexp(t, stop.answers, answer, "answers of the block with %s", stop.has)
	}
}

// A visitor has a folder that looks like a checkout, in which `conveyor up` runs.
type visitor struct {
	dir   string
	ports *strings.Replacer // from those of the README, which pictures of step 9 need, to those that are free
	api   string            // URL
}

// arrive starts `conveyor up`, and waits until it has printed all addresses.
func arrive(t *testing.T) *visitor {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	v := &visitor{dir: t.TempDir()}
	for _, name := range []string{"bin", "test"} {
		require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(v.dir, name)))
	}
	up := exec.Command("bin/conveyor", "up")
	up.Dir, up.Env = v.dir, os.Environ()
	ports := map[string]string{}
	readme := map[string]int{"CONVEYOR_API_PORT": 8080, "CONVEYOR_DEMO_PORT": 8090}
	next := 24_000 // below the ports that connections are given
	for _, name := range devstack.PortVariables() {
		if port := strconv.Itoa(readme[name]); readme[name] > 0 && isFree(port) {
			ports[name] = port
		} else {
			ports[name] = free(t, &next)
		}
		up.Env = append(up.Env, name+"="+ports[name])
	}
	v.ports = strings.NewReplacer(":8080", ":"+ports["CONVEYOR_API_PORT"], ":8090", ":"+ports["CONVEYOR_DEMO_PORT"])
	v.api = "http://127.0.0.1:" + ports["CONVEYOR_API_PORT"]
	log, err := os.Create(filepath.Join(v.dir, "up.log"))
	require.NoError(t, err)
	up.Stdout, up.Stderr = log, log
	require.NoError(t, up.Start())
	over := make(chan error, 1)
	go func() { over <- up.Wait() }()
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGINT)
		assert.NoError(t, <-over, "conveyor up, after Ctrl-C")
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("conveyor up said:\n%s", text)
		}
	})
	ready := func() bool {
		answer, err := http.Get(v.api + "/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	require.Eventually(t, ready, 15*time.Minute, time.Second, "the API is not ready")
	return v
}

// free is the next port that nothing listens at.
func free(t *testing.T, next *int) string {
	for *next < 32_000 {
		port := strconv.Itoa(*next)
		*next++
		if isFree(port) {
			return port
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

func isFree(port string) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	return err == nil && l.Close() == nil
}

// paste runs a block as an interactive shell would: what fails does not end it, and what it exports is there in the
// next block. What goes on until a person ends it is ended after a while.
const paste = `
touch exported; . ./exported
set -o pipefail
trap 'echo "$BASH_COMMAND" >> failed' ERR
BLOCK
export -p > exported
`

var endless = regexp.MustCompile(`(?m)^bin/conveyor status$`)

// run returns what a block printed, and which of its commands failed.
func (v *visitor) run(t *testing.T, block string) (answer string, failed []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	block = endless.ReplaceAllString(v.ports.Replace(block), "timeout --signal INT 20 $0 || true")
	shell := exec.CommandContext(ctx, "bash", "-c", strings.Replace(paste, "BLOCK", block, 1))
	shell.Dir, shell.Env = v.dir, append(os.Environ(), "CONVEYOR_API_URL="+v.api)
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(filepath.Join(v.dir, "failed"))
	_ = os.Remove(filepath.Join(v.dir, "failed"))
	if err != nil {
		return string(out), nil
	}
	for line := range strings.Lines(string(text)) {
		if !refuses.MatchString(line) {
			failed = append(failed, line)
		}
	}
	return string(out), failed
}
