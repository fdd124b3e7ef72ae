// Package npm gets packages of the npm registry, or of its mirror that npm is set to, by their checksums.
package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// maxFile bounds a file of a package, in bytes; the largest that is used has 1.5 MB.
const maxFile = 32 << 20

// A Package is one version of a package.
type Package struct {
	Name   string // such as playwright-core@1.52.0
	SHA256 string // of its archive, in hex
}

// Unpack gets the package and writes its files below dir, which exists, in the folder package. The archive does not
// stay.
func (p Package) Unpack(ctx context.Context, dir string) error {
	npm := exec.CommandContext(ctx, "npm", "pack", "--silent", p.Name)
	npm.Dir = dir
	npm.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // npm ends with all that it runs
	npm.Cancel = func() error { return syscall.Kill(-npm.Process.Pid, syscall.SIGTERM) }
	npm.WaitDelay = time.Minute
	if out, err := npm.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("npm could not get %s (%w): %s; it needs a npm registry: check the network and npm's settings, "+
			"then run again", p.Name, err, strings.TrimSpace(lines[len(lines)-1]))
	}
	archive := filepath.Join(dir, strings.ReplaceAll(p.Name, "@", "-")+".tgz")
	if err := p.unpack(archive, dir); err != nil {
		return fmt.Errorf("keep %s: %w", p.Name, err)
	}
	return fault.Wrap(os.Remove(archive), "keep %s", p.Name)
}

// unpack checks the archive and writes its files below dir.
func (p Package) unpack(archive, dir string) error {
	data, err := os.ReadFile(archive)
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return fmt.Errorf("sha256 is %x, expected %s: the registry serves another package", sum, p.SHA256)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(files, maxFile))
		if err == nil {
			err = errors.Join(root.MkdirAll(filepath.Dir(h.Name), 0o755), root.WriteFile(h.Name, content, 0o644))
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}
