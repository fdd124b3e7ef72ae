package devstack

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// chromium is a headless Chromium with an open DevTools port on the loopback, without a password: every process of this
// machine may use it. Its profile begins empty each time.
func (s *Stack) chromium() ([]*service, error) {
	data := filepath.Join(s.opts.Dir, "data", Chromium)
	at := "http://" + addr(s.ports.Chromium)
	sandbox := true
	return []*service{{
		name: Chromium,
		at:   at,
		prepare: func(ctx context.Context) error {
			sandbox = chromium.Sandboxed(ctx, s.tools.chromium)
			if !sandbox && os.Geteuid() != 0 {
				s.log.Warn("Chromium runs without its sandbox: the kernel or the container allows no user namespaces")
			}
			return os.MkdirAll(data, 0o755) // the folders above are those of services with other users too
		},
		command: func() *exec.Cmd {
			_ = os.RemoveAll(data) // of the last one, which is gone
			_ = os.MkdirAll(data, 0o755)
			args := append(chromium.Args(data, sandbox), "--remote-debugging-port="+strconv.Itoa(s.ports.Chromium))
			cmd := exec.Command(s.tools.chromium, args...)
			cmd.Dir = data
			return cmd
		},
		probe:  func(ctx context.Context) error { return pingHTTP(ctx, at+"/json/version") },
		stopBy: syscall.SIGTERM,
		grace:  5 * time.Second,
		within: 60 * time.Second,
	}}, nil
}
