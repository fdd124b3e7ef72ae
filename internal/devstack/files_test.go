package devstack

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/secret"
)

func TestEnvFileCanBeSourced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "env")
	env := map[string]string{
		"DATABASE_URL": "postgres://u:p@127.0.0.1:1/x?sslmode=disable", "RABBITMQ_URL": "amqp://u:it's $HOME `x` &@h/",
		"UNKNOWN": "not ours",
	}
	require.NoError(t, writeEnv(path, env, nil))
	out, err := exec.Command("sh", "-c", `. "$0"; printf '%s\n' "$DATABASE_URL" "$RABBITMQ_URL"`, path).Output()
	require.NoError(t, err)
	require.Equal(t, env["DATABASE_URL"]+"\n"+env["RABBITMQ_URL"]+"\n", string(out))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if first := "DATABASE_URL=" + env["DATABASE_URL"] + "\n"; !strings.HasPrefix(string(text), first) {
		t.Errorf("file starts with %q; want the plain line %q", text, first)
	}
}

func TestPortsFrom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, value string
		want        int
		fails       bool
	}{
		{"unset is the default", "", 16379, false},
		{"set", "7000", 7000, false},
		{"a word", "redis", 0, true},
		{"too large", "70000", 0, true},
		{"zero", "0", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := PortsFrom(func(k string) string {
				if k == "CONVEYOR_REDIS_PORT" {
					return tt.value
				}
				return ""
			})
			if p.Redis != tt.want || (err != nil) != tt.fails {
				t.Errorf("PortsFrom(%q) = %d, %v; want %d, error %t", tt.value, p.Redis, err, tt.want, tt.fails)
			}
		})
	}
}

// A second stack on one machine moves its internal ports: Temporal keeps them in an int2, so not just anywhere.
func TestInternalPortsMove(t *testing.T) {
	t.Parallel()
	p, held, err := freePorts()
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	taken := p
	for _, row := range portTable {
		if row.internal {
			l, err := net.Listen("tcp", addr(*row.field(&p)))
			require.NoError(t, err)
			defer l.Close()
		}
	}
	require.NoError(t, p.moveInternal())
	seen := map[int]bool{}
	for _, row := range portTable {
		n := *row.field(&p)
		if row.internal == (n == *row.field(&taken)) || n > 32767 || seen[n] {
			t.Errorf("%s moved from %d to %d", row.name, *row.field(&taken), n)
		}
		seen[n] = true
	}
	// A public port may be chosen that is an internal one's default: that one moves, though nothing listens there yet.
	chosen, err := PortsFrom(func(k string) string {
		return map[string]string{"CONVEYOR_TEMPORAL_UI_PORT": "8234"}[k]
	})
	if err == nil {
		err = chosen.moveInternal()
	}
	if err != nil || chosen.TemporalUI != 8234 || chosen.TemporalUIBehind == 8234 {
		t.Errorf("the Web UI is at %d, and behind it at %d, %v", chosen.TemporalUI, chosen.TemporalUIBehind, err)
	}
	if _, err := PortsFrom(func(k string) string {
		return map[string]string{"CONVEYOR_TEMPORAL_PORT": "40000"}[k]
	}); err == nil {
		t.Error("a port that Temporal cannot keep is taken")
	}
}

func TestFreePortsDoNotMeet(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 5 {
		p, held, err := freePorts()
		require.NoError(t, err)
		defer func() { _ = held.Close() }()
		for _, row := range portTable {
			if n := *row.field(&p); seen[n] {
				t.Errorf("port %d was given twice", n)
			} else {
				seen[n] = true
			}
		}
	}
}

func TestProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out)
	p.set("postgres", waiting, "")
	p.set("postgres", starting, "")
	p.set("postgres", starting, "")
	p.set("postgres", failed, "no space left\nand more")
	p.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "starting") || !strings.HasSuffix(lines[1], "no space left") {
		t.Errorf("printed %q; want one line for starting and one for the failure", lines)
	}
}

func TestLogIsCapped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log", "a.log")
	f, err := openLog(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	if _, err := io.WriteString(f, strings.Repeat("x", maxLog)+"\nlast\n"); err != nil {
		t.Fatal(err)
	}
	capLog(f)
	if _, err := io.WriteString(f, "new\n"); err != nil {
		t.Fatal(err)
	}
	require.Equal(t, "new", tail(path, 3))
	require.Equal(t, "last", tail(path+".1", 1))
}

// What is sealed with the key of a stack is opened after its next start.
func TestSecretsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := loadSecrets(dir)
	require.NoError(t, err)
	again, err := loadSecrets(dir)
	if err != nil || *again != *first {
		t.Fatalf("%v: the secrets have changed", err)
	}
	require.True(t, first.New)
	older := t.TempDir() // of a version without such files
	require.NoError(t, os.MkdirAll(filepath.Join(older, "data", Postgres), 0o700))
	before, err := loadSecrets(older)
	require.NoError(t, err)
	require.False(t, before.New)
	for had, want := range map[*secrets]string{first: "true", before: ""} {
		s := &Stack{secrets: had, opts: Options{Settings: map[string]string{"CONVEYOR_DEMO": "true"}}}
		for _, setting := range []string{"CONVEYOR_KEY_OPT_OUTS", "CONVEYOR_BIND_TOKENS", "CONVEYOR_DERIVE_KEYS"} {
			require.Equal(t, want, s.addresses()[setting], setting)
		}
		s.opts.External.DatabaseURL = "postgres://elsewhere"
		require.Empty(t, s.addresses()["CONVEYOR_KEY_OPT_OUTS"])
	}
	if box, err := secret.Parse(first.Seal); err != nil || box.Key() != "local" {
		t.Fatalf("the key is none: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "secrets")); err != nil { // for new passwords, as docs/runbook.md says
		t.Fatal(err)
	}
	fresh, err := loadSecrets(dir)
	if err != nil || fresh.Seal != first.Seal || fresh.App == first.App {
		t.Fatalf("%v: want new passwords, and the same key", err)
	}
	if err := os.Remove(filepath.Join(dir, "secret_key")); err != nil { // as in a folder of an older version
		t.Fatal(err)
	}
	if again, err = loadSecrets(dir); err != nil || *again != *fresh {
		t.Fatalf("%v: the key of an older version was not taken over", err)
	}
	info, err := os.Stat(filepath.Join(dir, "secret_key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can read the key", info, err)
	}

	// A key that was lost to a full disk or a loss of power does not take its copy with it.
	kept, err := os.ReadFile(filepath.Join(dir, "secrets"))
	require.NoError(t, err)
	for _, key := range []string{"", "\n", "local:", first.Seal[:20]} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "secret_key"), []byte(key), 0o600))
		if _, err := loadSecrets(dir); err == nil || !strings.Contains(err.Error(), "secret_key holds no key") {
			t.Errorf("a file secret_key with %q: %v; want it refused by its name", key, err)
		}
		now, err := os.ReadFile(filepath.Join(dir, "secret_key"))
		copied, copyErr := os.ReadFile(filepath.Join(dir, "secrets"))
		if errors.Join(err, copyErr) != nil || string(now) != key || !bytes.Equal(copied, kept) {
			t.Errorf("a file secret_key with %q: the files have changed (%v, %v)", key, err, copyErr)
		}
	}
	if err := os.Remove(filepath.Join(dir, "secret_key")); err != nil { // as the error says
		t.Fatal(err)
	}
	if again, err = loadSecrets(dir); err != nil || again.Seal != first.Seal {
		t.Errorf("%v: the copy of the key was not taken", err)
	}
}
