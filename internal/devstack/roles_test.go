package devstack

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// throwaway starts services of its own in dir.
func throwaway(t *testing.T, dir string, services ...string) *Stack {
	t.Helper()
	s, err := Start(context.Background(), Options{
		Dir: dir, FreePorts: true, Services: services, NoInstall: true, Throwaway: true,
		External: External{Browser: os.Getenv("CONVEYOR_BROWSER"), BrowserDriver: os.Getenv("CONVEYOR_BROWSER_DRIVER")},
		Log:      slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.Stop(context.Background())
		assert.NoError(t, Remove(dir))
	})
	return s
}

// execute connects and runs a statement.
func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// The roles of our own Postgres may do what they are for, and nothing gets in without a password.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := throwaway(t, t.TempDir(), Postgres)
	app, owner := s.Vars()["DATABASE_URL"], s.Vars()["DATABASE_MIGRATE_URL"]
	at := addr(s.Ports().Postgres)
	for _, tt := range []struct {
		name, url, statement string
		refused              string // a part of the error; "" is none
	}{
		{"no password", "postgres://conveyor@" + at + "/conveyor", "SELECT 1", "password authentication failed"},
		{"the old password", "postgres://conveyor:conveyor@" + at + "/conveyor", "SELECT 1", "password authentication failed"},
		{"a superuser without a password", "postgres://postgres@" + at + "/postgres", "SELECT 1",
			"password authentication failed"},
		{"the owner makes a table", owner, "CREATE TABLE things (id bigint GENERATED ALWAYS AS IDENTITY, t text)", ""},
		{"the application reads and writes it", app, "INSERT INTO things (t) VALUES ('a'); UPDATE things SET t = 'b';" +
			"DELETE FROM things; SELECT * FROM things", ""},
		{"the application empties it at once", app, "TRUNCATE things", "permission denied"},
		{"the application changes it", app, "ALTER TABLE things ADD x int", "must be owner"},
		{"the application makes a table", app, "CREATE TABLE mine (id int)", "permission denied"},
		{"the application runs a program", app, "COPY (SELECT 1) TO PROGRAM 'true'", "must be superuser"},
		{"the owner runs a program", owner, "COPY (SELECT 1) TO PROGRAM 'true'", "must be superuser"},
		{"the owner reads a file", owner, "SELECT pg_read_file('/etc/passwd')", "permission denied"},
		{"the owner makes a database", owner, "CREATE DATABASE other", "permission denied"},
		{"an extension that is trusted", owner, "CREATE EXTENSION unaccent", ""},
	} {
		err := execute(t.Context(), tt.url, tt.statement)
		if tt.refused == "" && err != nil || tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.refused)
		}
	}
	if os.Geteuid() == 0 { // then the test's folder is closed to the user of Postgres
		status, err := os.ReadFile(filepath.Join("/proc", itoa(s.Pid(Postgres)), "status"))
		if err != nil || !strings.Contains(string(status), "CapAmb:\t0000000000000000\n") ||
			!strings.Contains(string(status), "CapEff:\t0000000000000000\n") {
			t.Errorf("capabilities of Postgres: %s, %v; want none", grep(string(status), "Cap"), err)
		}
	}
}

// A cluster of the last version, in which everybody was superuser, goes on with its rows, its passwords and its owner.
func TestClusterOfTheLastVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &Stack{opts: Options{Dir: dir}}
	require.NoError(t, findPostgres(&s.tools, debianPostgres))
	attr, err := s.postgresUser()
	require.NoError(t, err)
	data, err := s.postgresData(attr)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(data, 0o700))
	if c := attr.Credential; c != nil {
		require.NoError(t, os.Chown(data, int(c.Uid), int(c.Gid)))
	}
	single := func(database, sql string) {
		cmd := exec.Command(filepath.Join(s.tools.postgres, "postgres"), "--single", "-D", data, database)
		cmd.Dir, cmd.SysProcAttr, cmd.Stdin = "/", attr, strings.NewReader(sql)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "ERROR") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	cmd := exec.Command(filepath.Join(s.tools.postgres, "initdb"), "-D", data, "-U", "conveyor", "--auth=trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = "/", attr
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	single("postgres", "CREATE DATABASE conveyor\n")
	single("conveyor", "CREATE EXTENSION unaccent\nCREATE TYPE mood AS ENUM ('good')\n"+
		"CREATE TABLE things (id bigserial, m mood)\nCREATE VIEW seen AS SELECT * FROM things\n"+
		"INSERT INTO things (m) VALUES ('good')\nCREATE FUNCTION two() RETURNS int LANGUAGE sql AS 'SELECT 2'\n")

	for range 2 { // the second time nothing is left to do
		s := throwaway(t, dir, Postgres)
		app, owner := s.Vars()["DATABASE_URL"], s.Vars()["DATABASE_MIGRATE_URL"]
		for name, err := range map[string]error{
			"read":   execute(t.Context(), app, "DO $$ BEGIN ASSERT (SELECT count(*) FROM seen) = 1; END $$"),
			"change": execute(t.Context(), owner, "ALTER TABLE things ADD IF NOT EXISTS x int; ALTER TYPE mood ADD VALUE IF NOT EXISTS 'bad'"),
			"again":  execute(t.Context(), owner, "CREATE OR REPLACE FUNCTION two() RETURNS int LANGUAGE sql AS 'SELECT 2'"),
			"extend": execute(t.Context(), owner, "CREATE EXTENSION IF NOT EXISTS unaccent"),
		} {
			assert.NoError(t, err, name)
		}
		assert.Error(t, execute(t.Context(), app, "ALTER TABLE things DROP x"), "the application owns the tables")
		if err := execute(t.Context(), "postgres://conveyor@"+addr(s.Ports().Postgres)+"/conveyor", "SELECT 1"); err == nil {
			t.Error("Postgres asks for no password")
		}
		require.NoError(t, s.Stop(context.Background()))
	}
}

// What a stack writes is for its user alone. Only the user of Postgres may pass, and finds its own folder.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o755); err != nil { // of an older version
		t.Fatal(err)
	}
	throwaway(t, dir, Postgres, Redis)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		if info.Mode().Perm()&0o066 != 0 && !strings.Contains(path, "/bin") {
			t.Errorf("%s is %s; want it closed to others", path, info.Mode())
		}
		return nil
	})
	require.NoError(t, err)
}

// Other users of the machine get nothing out of Redis, RabbitMQ and DevTools.
func TestPasswords(t *testing.T) {
	t.Parallel()
	s := throwaway(t, t.TempDir(), Redis, RabbitMQ, Chromium)
	out, err := exec.Command("redis-cli", "-p", itoa(s.Ports().Redis), "CONFIG", "GET", "dir").CombinedOutput()
	if err == nil && !strings.Contains(string(out), "NOAUTH") {
		t.Errorf("Redis says %s", out)
	}
	if err := pingAMQP("amqp://mtlrent:mtlrent@" + addr(s.Ports().RabbitMQ) + "/"); err == nil {
		t.Error("RabbitMQ takes the old password")
	}
	require.Error(t, pingAMQP("amqp://guest:guest@"+addr(s.Ports().RabbitMQ)+"/"), "RabbitMQ takes guest")
	for _, tt := range []struct {
		method, url string
		want        int
	}{
		{"GET", "http://" + addr(s.Ports().Management) + "/api/overview", 401},
		{"GET", s.Vars()["RABBITMQ_MANAGEMENT_URL"] + "/api/overview", 200},
		{"GET", "http://" + addr(s.Ports().Chromium) + "/json/version", 401},
		{"PUT", "http://" + addr(s.Ports().Chromium) + "/json/new?file:///etc/passwd", 401},
		{"GET", "http://" + addr(s.Ports().Chromium) + "/devtools/browser", 401},
		{"GET", "http://conveyor:wrong@" + addr(s.Ports().Chromium) + "/json/list", 401},
		{"GET", s.Vars()["CHROME_DEVTOOLS_URL"] + "/json/version", 200},
		{"PUT", s.Vars()["CHROME_DEVTOOLS_URL"] + "/json/new?file:///etc/passwd", 404},
		{"GET", s.Vars()["CHROME_DEVTOOLS_URL"] + "/json/list", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s %s: %s %.100s; want %d", tt.method, req.URL.Redacted(), resp.Status, body, tt.want)
		}
	}
	// Chromium itself listens nowhere: every listening socket of its processes would be in its group's descriptors.
	for _, pid := range groupMembers(s.Pid(Chromium)) {
		env, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "environ"))
		if strings.Contains(string(env), "PASSWORD") || strings.Contains(string(env), "_URL=") {
			t.Errorf("process %d has secrets in its environment", pid)
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
		if strings.Contains(string(cmdline), "no-sandbox") || strings.Contains(string(cmdline), "remote-debugging-port") {
			t.Errorf("process %d runs as %q", pid, cmdline)
		}
		info, err := os.Stat(filepath.Join("/proc", itoa(pid)))
		if err == nil && os.Geteuid() == 0 && info.Sys().(*syscall.Stat_t).Uid == 0 {
			t.Errorf("process %d runs as root: %q", pid, cmdline)
		}
	}
}

// A folder whose name is no secret is not taken from another user.
func TestFoldersOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, open, mine := filepath.Join(dir, "link"), filepath.Join(dir, "open"), filepath.Join(dir, "mine")
	require.NoError(t, os.Symlink("/etc", link))
	require.NoError(t, os.Mkdir(open, 0o755))
	for path, want := range map[string]bool{link: false, open: false, mine: true} {
		for range 2 {
			if err := ours(path); (err == nil) != want {
				t.Errorf("ours(%s) = %v", path, err)
			}
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	require.NoError(t, os.Chown(mine, 65534, 65534))
	require.Error(t, ours(mine), "a folder of another user is ours")
}

// A Chromium that cannot have its sandbox does not start, and the error says what to do.
func TestNoSandboxIsAnError(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "conveyor-test-*")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	fake := filepath.Join(dir, "chromium")
	script := "#!/bin/sh\ncase \"$*\" in *--no-sandbox*) echo off;; *) echo 'ERROR: No usable sandbox! If …';; esac\nexit 1\n"
	require.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.WriteFile(fake, []byte(script), 0o755)))
	for off, want := range map[bool]string{false: chromium.ErrNoSandbox.Error(), true: "chromium ended before it was ready"} {
		_, err = Start(t.Context(), Options{
			Dir: t.TempDir(), FreePorts: true, Services: []string{Chromium}, NoInstall: true, NoSandbox: off,
			External: External{Browser: fake, BrowserDriver: os.Getenv("CONVEYOR_BROWSER_DRIVER")},
			Log:      slog.New(slog.DiscardHandler),
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start = %v; want %q", err, want)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func grep(text, part string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, ", ")
}

// groupMembers are the processes of a process group.
func groupMembers(group int) (out []int) {
	for _, dir := range glob("/proc/[0-9]*") {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if g, err := syscall.Getpgid(pid); err == nil && g == group {
			out = append(out, pid)
		}
	}
	return out
}
