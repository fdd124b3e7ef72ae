package devstack

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/secret"
)

// secrets are the passwords of a stack's services, made at its first start. Postgres stores its own, so they are kept
// in the file secrets, which only the user of the stack can read. The key that what is stored is encrypted with is in a
// file of its own: without the file secrets there are new passwords, without the key nothing can be decrypted.
type secrets struct {
	Superuser string `json:"postgres_superuser"` // role postgres
	Owner     string `json:"postgres_owner"`     // role conveyor_owner
	App       string `json:"postgres"`           // role conveyor
	Temporal  string `json:"postgres_temporal"`  // role temporal
	RabbitMQ  string `json:"rabbitmq"`           // user conveyor
	Redis     string `json:"redis"`
	DevTools  string `json:"devtools"`
	Cookie    string `json:"erlang_cookie"`       // of the nodes of a cluster
	Seal      string `json:"conveyor_secret_key"` // a copy of the file secret_key, for older versions

	// Cluster says that the Postgres cluster asks for these passwords. It does not in a folder of an older version, or
	// after the file was lost.
	Cluster bool `json:"postgres_is_set_up"`

	// New says that no older version has had the folder: what its roles would not find need not be stored.
	New bool `json:"new_installation"`
}

// loadSecrets reads the file in dir, and writes it with a new password for each that it does not have.
func loadSecrets(dir string) (*secrets, error) {
	s := &secrets{}
	text, err := os.ReadFile(filepath.Join(dir, "secrets"))
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read passwords of the stack: %w", err)
	}
	none := err != nil
	for _, p := range []*string{&s.Superuser, &s.Owner, &s.App, &s.Temporal, &s.RabbitMQ, &s.Redis, &s.DevTools,
		&s.Cookie} {
		if *p == "" {
			*p = rand.Text()
		}
	}
	path := filepath.Join(dir, "secret_key")
	switch key, err := os.ReadFile(path); {
	case err == nil:
		if err := checkKey(string(key)); err != nil { // not to lose the copy, too
			return nil, fmt.Errorf("%s holds no key (%w): put it back from a backup, or delete it to take the copy in the file "+
				"secrets; what is sealed opens with no other", path, err)
		}
		s.Seal = strings.TrimSpace(string(key))
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read key of the stack: %w", err)
	case s.Seal == "":
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails
		s.Seal = "local:" + base64.RawURLEncoding.EncodeToString(key[:])
		_, err := os.Stat(filepath.Join(dir, "data", Postgres))
		s.New = none && errors.Is(err, os.ErrNotExist)
	}
	if err := checkKey(s.Seal); err != nil {
		return nil, fmt.Errorf("read the copy of the key in %s: %w", filepath.Join(dir, "secrets"), err)
	}
	return s, s.save(dir)
}

func checkKey(text string) error {
	box, err := secret.Parse(text)
	if err == nil && box.Key() == "" {
		err = errors.New("it is empty")
	}
	return err
}

// save writes the files, first the key, which cannot be replaced. A reader sees the old ones or the new ones.
func (s *secrets) save(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = keepPrivate(filepath.Join(dir, "secret_key"), []byte(s.Seal+"\n"))
	}
	if err == nil {
		err = keepPrivate(filepath.Join(dir, "secrets"), append(text, '\n'))
	}
	return fault.Wrap(err, "keep passwords of the stack")
}

// keepPrivate writes a file that has changed, so that it is there after a loss of power.
func keepPrivate(path string, text []byte) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode() == 0o600 {
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
			return nil
		}
	}
	if err := writePrivate(path, text); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// writePrivate replaces a file by one that only its owner can read.
func writePrivate(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// private makes a folder that only its owner can list, also where there is one already. One that lets others pass goes
// on doing so: a Postgres may run below it.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o066 == 0 {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// ours makes a folder with a name that is no secret, in a folder that others may write to, and refuses one that another
// user has made.
func ours(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this user's alone (%s): remove it", dir, info.Mode())
	}
	return nil
}
