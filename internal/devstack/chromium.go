package devstack

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// chromium is a headless Chromium in its sandbox, and a relay of ours to its DevTools, whose password is in the
// address. Its profile begins empty each time.
func (s *Stack) chromium() ([]*service, error) {
	cell, err := chromium.NewCell()
	if err != nil {
		return nil, err
	}
	var relay *chromium.Relay
	profile := filepath.Join(cell.Home(), "profile")
	return []*service{{
		name: Chromium,
		at:   "http://" + s.addr(s.ports.Chromium) + ", with a password: CHROME_DEVTOOLS_URL in the file env",
		prepare: func(ctx context.Context) error {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.addr(s.ports.Chromium))
			if err != nil {
				return err
			}
			relay = chromium.NewRelay(l, s.secrets.DevTools, s.log)
			return nil
		},
		command: func() *exec.Cmd {
			_ = os.RemoveAll(profile) // of the last one, which is gone
			args := append(chromium.Args(profile, !s.opts.NoSandbox), "--remote-debugging-pipe")
			cmd := cell.Command(s.tools.chromium, args...)
			attr := procAttr(syscall.SIGTERM)
			if cmd.SysProcAttr != nil {
				attr.Credential = cmd.SysProcAttr.Credential
			}
			cmd.SysProcAttr = attr
			return cmd
		},
		attach:  func(cmd *exec.Cmd) (func(), error) { return relay.Attach(cmd) },
		probe:   func(ctx context.Context) error { return pingHTTP(ctx, s.env["CHROME_DEVTOOLS_URL"]+"/json/version") },
		explain: unsandboxed,
		tend: func(pid int) {
			if ended := chromium.Trim(pid, chromium.MaxMemory); ended != "" {
				s.log.Warn("Chromium had grown too large", "ended", ended)
			}
		},
		remove: func() {
			if relay != nil {
				relay.Close()
			}
			_ = cell.Remove()
		},
		stopBy: syscall.SIGTERM,
		grace:  5 * time.Second,
		within: 60 * time.Second,
	}}, nil
}

// unsandboxed says what to do about a Chromium that ended because it could not have its sandbox.
func unsandboxed(err error) error {
	if chromium.Unsandboxed(err.Error()) {
		return chromium.ErrNoSandbox
	}
	return err
}
