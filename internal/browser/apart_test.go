package browser_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/chromium"
)

// lenderPassword makes this test the process that has Chromium, with the password in it.
const lenderPassword = "CONVEYOR_TEST_LENDER"

// lend serves until standard input ends, where this process was started for that. TestMain calls it.
func lend() {
	password := os.Getenv(lenderPassword)
	if password == "" {
		return
	}
	l := chromium.NewLender(chromium.LenderOptions{
		Executable: chromium.Find(), Password: password, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		MaxRSS: 512 << 20, // the least of CONVEYOR_BROWSER_MAX_RSS
	})
	s := httptest.NewServer(l)
	fmt.Println(strings.TrimPrefix(s.URL, "http://"))
	_, _ = io.Copy(io.Discard, os.Stdin)
	l.Close()
	os.Exit(0)
}

// apart starts a process that has Chromium, and nothing of the environment of this one but the PATH. at is its address,
// pid its number, and chromiums are the processes of the Chromiums that it has started.
func apart(t *testing.T) (at string, pid int, chromiums func() []proc) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = []string{lenderPassword + "=s3cr3t", "PATH=" + os.Getenv("PATH")}, os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		assert.NoError(t, cmd.Wait())
	})
	at, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid = cmd.Process.Pid
	return strings.TrimSpace(at), pid, func() (all []proc) {
		family := []int{pid}
		list := procs()
		for grown := true; grown; {
			grown = false
			for _, p := range list {
				if slices.Contains(family, p.parent) && !slices.Contains(family, p.pid) {
					family, all, grown = append(family, p.pid), append(all, p), true
				}
			}
		}
		return all
	}
}

// Pages of both kinds are loaded by a Chromium of another process, which has nothing of this one. What they ask for
// goes through the guard of this one. A Chromium ends with its browser, and one that ends is replaced.
func TestChromiumApart(t *testing.T) {
	t.Parallel()
	s, inside := newSite(t), newSite(t)
	inside.html("/", "<p>inside")
	s.html("/page", fmt.Sprintf(`<p id=a>as sent<script>
		a.textContent = "made";
		fetch("%s/", {mode: "no-cors"}).then(() => a.textContent = "inside", () => 0)
	</script>`, inside.URL))
	at, lender, chromiums := apart(t)
	b := launch(t, browser.Options{URL: "http://conveyor:s3cr3t@" + at}, s)
	loads := func() {
		t.Helper()
		p, err := b.Load(t.Context(), web.Request{URL: s.URL + "/page", Quiet: true})
		require.NoError(t, err)
		require.Contains(t, string(p.Body), "made")
	}
	loads()
	mains := func() []proc {
		return slices.DeleteFunc(chromiums(), func(p proc) bool { // before its exec a child has the line of its parent
			return p.parent != lender || !strings.Contains(p.line, "--user-data-dir")
		})
	}
	require.Len(t, mains(), 1, "Chromium runs elsewhere")
	for _, p := range chromiums() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		require.NotContains(t, string(environ), "s3cr3t")
		require.NotContains(t, p.line, "s3cr3t")
		require.NotContains(t, p.line, "--no-sandbox")
	}
	_, err := b.Load(t.Context(), web.Request{URL: inside.URL + "/"})
	require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
	require.Empty(t, inside.requests(), "the guard of this process was not asked")

	d := drive(t, nil, browser.DevtoolsOptions{URL: "http://conveyor:s3cr3t@" + at}, s)
	require.NoError(t, d.CheckDevtools(t.Context()))
	c, err := d.Capture(t.Context(), s.URL+"/page", "fr-CA", draft.Secrets{})
	require.NoError(t, err)
	require.Contains(t, string(c.HTML), "made")
	require.NotEmpty(t, c.Screenshot)
	require.Empty(t, inside.requests(), "the guard of this process was not asked")
	require.Len(t, mains(), 2, "each has its own")
	d.Close()
	eventually(t, "the end of the Chromium of a client that is gone", func() bool { return len(mains()) == 1 })

	require.NoError(t, syscall.Kill(mains()[0].pid, syscall.SIGKILL))
	loads()
	b.Close()
	eventually(t, "the end of all", func() bool { return len(chromiums()) == 0 })
}

// A Chromium that cannot be had is no fault of the page.
func TestChromiumApartIsAway(t *testing.T) {
	t.Parallel()
	b := launch(t, browser.Options{URL: "http://conveyor:s3cr3t@127.0.0.1:1"})
	_, err := b.Load(context.Background(), web.Request{URL: "http://example.com/"})
	require.ErrorIs(t, err, web.ErrNoBrowser)
	require.NotContains(t, err.Error(), "s3cr3t")
	var f *fault.Error
	require.False(t, errors.As(err, &f) && f.Class.Final(), "%v", err)
}
