// Package outdir writes the files of drafts into the folders that their requests name, all below one root: no request
// and no link leads out of it.
package outdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Root is the folder that all others are below. It is safe for concurrent use.
type Root struct{ path string }

// New returns the root at path, which is made when it is first needed.
func New(path string) Root { return Root{path} }

// ResolveOutDir makes the folder dir, draft.DefaultOutDir for "", and returns its cleaned name below the root. A name
// that is absolute or leads out of the root, by .. or by a link, is fault.Invalid.
func (r Root) ResolveOutDir(dir string) (string, error) {
	if dir == "" {
		dir = draft.DefaultOutDir
	}
	if !filepath.IsLocal(dir) {
		return "", fault.Newf(fault.Invalid, "out_dir: %q leads out of the folder of all drafts", dir)
	}
	dir = filepath.Clean(dir)
	err := r.in(func(root *os.Root) error { return root.MkdirAll(dir, 0o755) })
	return dir, explain(dir, err)
}

// WriteOut puts a file into a folder that ResolveOutDir made, in place of the one that is there; without data there is
// none afterwards. A reader sees all of it or none.
func (r Root) WriteOut(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	err := r.in(func(root *os.Root) error {
		if err := root.MkdirAll(dir, 0o755); err != nil { // by another worker, on another disk
			return err
		}
		if len(data) == 0 {
			if err := root.Remove(path); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
		temporary := filepath.Join(dir, "."+name+"."+uuid.NewString())
		if err := root.WriteFile(temporary, data, 0o644); err != nil {
			return errors.Join(err, root.Remove(temporary))
		}
		return root.Rename(temporary, path)
	})
	return explain(path, err)
}

func (r Root) in(f func(*os.Root) error) error {
	if err := os.MkdirAll(r.path, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.path)
	if err != nil {
		return err
	}
	defer root.Close()
	return f(root)
}

// explain makes an error that is due to the name Invalid; the rest, such as a full disk, may pass.
func explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case strings.HasSuffix(err.Error(), "path escapes from parent"): // os has no error to compare with
		return fault.Newf(fault.Invalid, "out_dir: %q leads out of the folder of all drafts, by a link", path)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EEXIST),
		errors.Is(err, syscall.EINVAL):
		return fault.Newf(fault.Invalid, "out_dir: %q cannot be a folder: %w", path, err)
	}
	return fault.Newf(fault.Transient, "write %q: %w", path, err)
}
