package chromium

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// MaxData bounds the private memory of each process in a Cell, in bytes (RLIMIT_DATA). An empty page needs half of it,
// most of which is never touched. A page that asks for more ends, alone.
const MaxData = 3 << 29

// MaxMemory bounds a Chromium as a whole, in bytes resident; what its processes share counts for each of them.
const MaxMemory = 2 << 30

// Cell is what a Chromium, or a driver that starts one, gets of this machine: a home of its own that goes with it, an
// environment without anything of ours, a bound on its memory, and, where this process is root's, the user nobody.
type Cell struct {
	lock *os.File // held while the cell is in use
	dir  string   // root's where we are root: what runs in the cell cannot change what we run
	user *syscall.Credential
}

// NewCell makes a cell below the folder of temporary files. Remove it afterwards. What processes that were killed have
// left there is removed on the way.
func NewCell() (*Cell, error) {
	c := &Cell{}
	root := os.TempDir()
	if os.Geteuid() == 0 {
		var err error
		if c.user, err = Unprivileged("nobody"); err != nil {
			return nil, fmt.Errorf("find a user for Chromium, which is not run as root: %w", err)
		}
		if Closed(root) != "" {
			root = "/tmp"
		}
	}
	sweep(filepath.Join(root, "conveyor-chromium-*"))
	dir, err := os.MkdirTemp(root, "conveyor-chromium-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder for Chromium: %w", err)
	}
	c.dir = dir
	c.lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err == nil {
		err = errors.Join(syscall.Flock(int(c.lock.Fd()), syscall.LOCK_EX), os.Mkdir(c.Home(), 0o700))
	}
	if err == nil && c.user != nil {
		err = errors.Join(os.Chmod(dir, 0o711), os.Chown(c.Home(), int(c.user.Uid), int(c.user.Gid)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a home for Chromium: %w", err), c.Remove())
	}
	return c, nil
}

// sweep removes the cells whose process is gone: the kernel then lets go of their lock.
func sweep(pattern string) {
	locks, _ := filepath.Glob(pattern + "/lock") // fails for a malformed pattern only
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // another user's
		}
		// One that is new has no home before its lock is held.
		_, made := os.Stat(filepath.Join(filepath.Dir(path), "home"))
		if made == nil && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = f.Close()
	}
}

// Unprivileged is the first of these users that there is, for processes that root starts.
func Unprivileged(names ...string) (cred *syscall.Credential, err error) {
	for _, name := range names {
		var u *user.User
		if u, err = user.Lookup(name); err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uerr, gerr)
	}
	return nil, err
}

// Closed returns the first folder on the way to dir, itself included, that other users may not enter, or "".
func Closed(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Home is the cell's folder for its processes.
func (c *Cell) Home() string { return filepath.Join(c.dir, "home") }

// Remove deletes the cell's folder. Its processes must have ended.
func (c *Cell) Remove() error {
	if c == nil || c.dir == "" {
		return nil
	}
	err := os.RemoveAll(c.dir)
	if c.lock != nil {
		_ = c.lock.Close()
	}
	return err
}

// Env is the environment in the cell.
func (c *Cell) Env() []string {
	env := []string{"HOME=" + c.Home(), "TMPDIR=" + c.Home()}
	for _, name := range []string{"PATH", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// bounded runs the program of its further arguments with at most its first kibibytes of private memory.
const bounded = `ulimit -d "$0" && exec "$@"`

// Command is a program that runs in the cell.
func (c *Cell) Command(name string, args ...string) *exec.Cmd {
	line := append([]string{"-c", bounded, strconv.Itoa(MaxData >> 10), name}, args...)
	cmd := exec.Command("/bin/sh", line...)
	cmd.Dir, cmd.Env = c.Home(), c.Env()
	if c.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
	}
	return cmd
}

// Driver prepares Playwright's driver of another folder to run in the cell, with the Chromium that it starts. It
// returns the folder to give to the library: node in it is the shell, and package/cli.js a script for that, so that it
// runs also where the folder of temporary files is mounted noexec. The link origin leads to the other folder.
func (c *Cell) Driver(folder string) (string, error) {
	node, err := filepath.EvalSymlinks(filepath.Join(folder, "node"))
	if err != nil {
		return "", fmt.Errorf("find Node of Playwright's driver: %w", err)
	}
	code, err := filepath.EvalSymlinks(filepath.Join(folder, "package"))
	if err != nil {
		return "", fmt.Errorf("find Playwright's driver: %w", err)
	}
	line := append([]string{"/usr/bin/env", "-i"}, c.Env()...)
	if c.user != nil {
		if closed := Closed(filepath.Dir(node)); closed != "" {
			return "", fmt.Errorf("run Playwright's driver as another user than root: it cannot enter %s, where %s is: "+
				"install nodejs for all users, or do not run this as root", closed, node)
		}
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			return "", fmt.Errorf("run Playwright's driver as another user than root: %w; install util-linux, or do not "+
				"run this as root", err)
		}
		line = append(line, setpriv, fmt.Sprintf("--reuid=%d", c.user.Uid), fmt.Sprintf("--regid=%d", c.user.Gid),
			"--clear-groups", "--")
	}
	line = append(line, node, filepath.Join(c.Code(), "package", "cli.js"))
	for i, word := range line {
		line[i] = quote(word)
	}
	script := fmt.Sprintf("cd %s && ulimit -d %d && exec %s \"$@\"\n",
		quote(c.Home()), MaxData>>10, strings.Join(line, " "))
	err = errors.Join(
		os.Symlink("/bin/sh", filepath.Join(c.dir, "node")), os.Mkdir(filepath.Join(c.dir, "package"), 0o700),
		os.WriteFile(filepath.Join(c.dir, "package", "cli.js"), []byte(script), 0o600),
		os.Symlink(folder, filepath.Join(c.dir, "origin")), os.Mkdir(c.Code(), 0o755),
	)
	switch {
	case err != nil:
	case c.user != nil && Closed(code) != "": // such as /root; 9 MB
		err = errors.Join(os.Chmod(c.Code(), 0o755), c.copy(code))
	default:
		err = errors.Join(os.Chmod(c.Code(), 0o755), os.Symlink(code, filepath.Join(c.Code(), "package")))
	}
	if err != nil {
		return "", fmt.Errorf("prepare Playwright's driver: %w", err)
	}
	return c.dir, nil
}

// Program is a path by which the cell's user can run a program of ours.
func (c *Cell) Program(path string) (string, error) {
	if c.user == nil || Closed(filepath.Dir(path)) == "" {
		return path, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.Code(), "program")
	return path, errors.Join(os.WriteFile(path, text, 0o700), os.Chmod(path, 0o755)) // whatever our umask
}

// Code is the folder of the driver that Node runs.
func (c *Cell) Code() string { return filepath.Join(c.dir, "driver") }

// copy copies the driver's package for all users to read, whatever our umask.
func (c *Cell) copy(code string) error {
	to := filepath.Join(c.Code(), "package")
	if err := os.CopyFS(to, os.DirFS(code)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
}

// quote makes one word of a text for the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
