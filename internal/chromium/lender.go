package chromium

import (
	"bufio"
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// LenderOptions are the settings of a Lender. A zero field takes its default.
type LenderOptions struct {
	Executable string // of Chromium. Required
	NoSandbox  bool   // runs Chromium without its own sandbox
	Password   string // of the clients. Required
	Most       int    // Chromiums at once; default 4
	MaxRSS     int64  // bytes of one Chromium; at twice as many its largest page ends, Linux only; default MaxMemory
	Log        *slog.Logger
}

// Lender starts a Chromium for each client that connects and knows the password, and ends it with the connection. The
// client may be on another machine: what breaks out of a Chromium finds nothing of it.
//
// It answers GET /health, which needs no password; GET /json/version, as Chromium does; and the WebSocket that is named
// there, whose messages are those of DevTools. The arguments of Chromium are those of Args, or those that the client
// names: arg=… in the query, as often as there are arguments. Of them those are taken that Playwright gives and that
// package browser does; profile, pipe and sandbox are the Lender's.
type Lender struct {
	o     LenderOptions
	mux   *http.ServeMux
	slots chan struct{}
	ctx   context.Context // ends with Close
	end   context.CancelFunc

	mu     sync.Mutex
	closed bool
	lent   sync.WaitGroup
}

// NewLender starts nothing yet.
func NewLender(o LenderOptions) *Lender {
	if o.Most == 0 {
		o.Most = 4
	}
	if o.MaxRSS == 0 {
		o.MaxRSS = MaxMemory
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l := &Lender{o: o, mux: http.NewServeMux(), slots: make(chan struct{}, o.Most)}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	l.mux.HandleFunc("GET /json/version", guarded(o.Password, l.version))
	l.mux.HandleFunc("GET /devtools/browser", guarded(o.Password, l.lend))
	return l
}

// ServeHTTP implements http.Handler.
func (l *Lender) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.mux.ServeHTTP(w, r) }

// Close ends every Chromium, and returns when nothing is left of them. None is started afterwards.
func (l *Lender) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end()
	l.lent.Wait()
}

// guarded lets requests with the password pass, with any user name.
func guarded(password string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, pass, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(pass), []byte(password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="DevTools"`)
			http.Error(w, "the address of DevTools has a password", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func (l *Lender) version(w http.ResponseWriter, r *http.Request) {
	if err := Check(l.o.Executable); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"webSocketDebuggerUrl": "ws://" + r.Host + "/devtools/browser"})
}

// lend is the connection of a client, from its beginning to its end.
func (l *Lender) lend(w http.ResponseWriter, r *http.Request) {
	args, err := taken(r.URL.Query()["arg"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		http.Error(w, errAway.Error(), http.StatusServiceUnavailable)
		return
	}
	l.lent.Add(1)
	l.mu.Unlock()
	defer l.lent.Done()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	default:
		http.Error(w, fmt.Sprintf("%d Chromiums run already", l.o.Most), http.StatusServiceUnavailable)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // the answer says why
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxCommand)
	c, err := l.start(args)
	if err != nil {
		l.o.Log.Error("Chromium does not start", "err", err)
		_ = ws.Close(websocket.StatusInternalError, reason(err.Error()))
		return
	}
	if said := c.serve(l.ctx, ws); said != "" {
		l.o.Log.Warn("Chromium ended", "said", said[:min(len(said), 1000)])
	}
}

// reason is as much of a text as the end of a connection may say. That there is no sandbox goes before all.
func reason(said string) string {
	if Unsandboxed(said) {
		said = noSandbox
	}
	return strings.ToValidUTF8(said[:min(len(said), 120)], "")
}

// argument is a switch of Chromium's, with or without a value.
var argument = func() map[string]bool {
	known := map[string]bool{}
	for _, name := range strings.Fields(`
		accept-lang allow-pre-commit-input blink-settings disable-back-forward-cache disable-background-networking
		disable-background-timer-throttling disable-backgrounding-occluded-windows disable-blink-features
		disable-breakpad disable-client-side-phishing-detection disable-component-extensions-with-background-pages
		disable-component-update disable-default-apps disable-dev-shm-usage disable-domain-reliability disable-extensions
		disable-features disable-field-trial-config disable-gpu disable-hang-monitor disable-ipc-flooding-protection
		disable-popup-blocking disable-prompt-on-repost disable-quic disable-remote-fonts disable-renderer-backgrounding
		disable-search-engine-choice-screen disable-site-isolation-trials disable-sync enable-automation
		export-tagged-pdf force-color-profile force-webrtc-ip-handling-policy headless hide-scrollbars js-flags
		metrics-recording-only mute-audio no-default-browser-check no-first-run no-pings no-service-autorun
		no-startup-window password-store proxy-bypass-list proxy-server renderer-process-limit
		unsafely-disable-devtools-self-xss-warnings use-mock-keychain`) {
		known["--"+name] = true
	}
	return known
}()

// taken are the arguments of a client without those that are ours, an error where one is not known.
func taken(args []string) (out []string, err error) {
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); {
		case name == "--user-data-dir" || name == "--remote-debugging-pipe" || name == "--no-sandbox":
		case argument[name]:
			out = append(out, arg)
		default:
			return nil, fmt.Errorf("an argument is not taken: %.100q", arg)
		}
	}
	return out, nil
}

// loan is a Chromium that runs.
type loan struct {
	cmd     *exec.Cmd
	cell    *Cell
	in, out *os.File // its messages, and ours
	said    *ring    // its standard error
	most    int64
	log     *slog.Logger
}

func (l *Lender) start(args []string) (_ *loan, err error) {
	c := &loan{said: &ring{}, most: 2 * l.o.MaxRSS, log: l.o.Log}
	if c.cell, err = NewCell(); err != nil {
		return nil, err
	}
	profile := filepath.Join(c.cell.Home(), "profile")
	if len(args) == 0 {
		args = Args(profile, !l.o.NoSandbox)
	} else {
		args = append(slices.Clone(args), "--user-data-dir="+profile)
		if l.o.NoSandbox {
			args = append(args, "--no-sandbox")
		}
	}
	c.cmd = c.cell.Command(l.o.Executable, append(args, "--remote-debugging-pipe")...)
	if c.cmd.SysProcAttr == nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.cmd.SysProcAttr.Setpgid = true
	c.cmd.Stderr = c.said
	c.cmd.WaitDelay = time.Second
	if c.cmd.ExtraFiles, c.in, c.out, err = pipes(); err == nil {
		err = c.cmd.Start()
		closeAll(c.cmd.ExtraFiles)
		if err != nil {
			closeAll([]*os.File{c.in, c.out})
		}
	}
	if err != nil {
		_ = c.cell.Remove()
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	return c, nil
}

// pipes are the two ends of each of the pipes for DevTools: those of Chromium, as its files 3 and 4, where it expects
// them, and ours.
func pipes() (theirs []*os.File, in, out *os.File, err error) {
	theirIn, out, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make a pipe for DevTools: %w", err)
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{theirIn, out})
		return nil, nil, nil, fmt.Errorf("make a pipe for DevTools: %w", err)
	}
	return []*os.File{theirIn, theirOut}, in, out, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// serve passes messages on until the client is gone, Chromium has ended, or ctx has. Nothing is left of Chromium then.
// It returns what Chromium has said of a failure, which the client is told, too.
func (c *loan) serve(ctx context.Context, ws *websocket.Conn) (said string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	exited, passed := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(passed)
		_ = toSocket(ctx, ws, c.in, c.log) // ends with Chromium
	})
	all.Go(func() {
		defer cancel()
		err := c.cmd.Wait()
		close(exited)
		if ctx.Err() != nil {
			return
		}
		select { // its last messages
		case <-passed:
		case <-time.After(endGrace):
		}
		if err != nil {
			said = fmt.Sprintf("%s; %s", err, c.said)
		}
		_ = ws.Close(websocket.StatusNormalClosure, reason(said))
	})
	all.Go(func() { c.tend(exited) })
	defer context.AfterFunc(ctx, func() {
		select {
		case <-exited:
		case <-time.After(endGrace): // it ends with its pipe, if it can
		}
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		_ = c.in.Close() // which a process that has left the group may hold open
	})()
	_ = fromSocket(ctx, ws, c.out)
	cancel()
	_ = c.out.Close()
	all.Wait()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // processes that it has left
	_ = c.in.Close()
	if err := c.cell.Remove(); err != nil {
		c.log.Warn("files of Chromium are left", "err", err)
	}
	return said
}

// endGrace is how long a Chromium whose pipe is closed may take to end.
const endGrace = 2 * time.Second

// tend bounds the memory and the processes of Chromium.
func (c *loan) tend(exited <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return
		case <-tick.C:
			if ended := Trim(c.cmd.Process.Pid, c.most); ended != "" {
				c.log.Warn("Chromium had grown too large", "ended", ended)
			}
		}
	}
}

// toSocket passes the messages of a pipe on, until one of both ends.
func toSocket(ctx context.Context, ws *websocket.Conn, from *os.File, log *slog.Logger) error {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		message, err := readMessage(in)
		if err != nil {
			return err
		}
		if message == nil {
			log.Warn("a message was dropped", "longer_than_bytes", maxMessage)
			continue
		}
		within, done := context.WithTimeout(ctx, relayWithin)
		err = ws.Write(within, websocket.MessageText, message)
		done()
		if err != nil {
			return err
		}
	}
}

// fromSocket passes messages on to a pipe, until one of both ends.
func fromSocket(ctx context.Context, ws *websocket.Conn, to *os.File) error {
	for {
		_, message, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		if bytes.IndexByte(message, 0) >= 0 {
			return errors.New("a message has a zero byte")
		}
		_ = to.SetWriteDeadline(time.Now().Add(relayWithin))
		if _, err := to.Write(append(message, 0)); err != nil {
			return err
		}
	}
}

// ring keeps the end of what is written to it.
type ring struct {
	mu   sync.Mutex
	text []byte
}

const ringBytes = 8 << 10

// Write implements io.Writer.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	r.text = slices.Clone(r.text[max(0, len(r.text)-ringBytes):])
	return len(p), nil
}

// String is what was written, the last line first, without complaints that there is no desktop.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := strings.Split(strings.ToValidUTF8(strings.TrimSpace(string(r.text)), ""), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, ":dbus/") })
	slices.Reverse(lines)
	return strings.Join(lines, "; ")
}
