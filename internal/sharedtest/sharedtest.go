// Package sharedtest reads the files that tests read, and finds those that may not be published with the code: real
// pages of sites, and adverts.
package sharedtest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mtlrent/conveyor/domain/web"
)

// Dir is the folder of that data: the one that CONVEYOR_SHARED names, else the folder "shared" beside the repository.
// Where it is missing, the test is skipped and the log says what goes unchecked, a noun: "extraction from real pages";
// with CI set in the environment it fails.
func Dir(t testing.TB, unchecked string) string {
	t.Helper()
	dir, err := find(os.Getenv("CONVEYOR_SHARED"))
	switch {
	case err == nil:
		return dir
	case errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "":
		t.Skipf("%s is missing: %s goes unchecked (CONVEYOR_SHARED may name another folder)", dir, unchecked)
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("%s is missing, so %s cannot be checked: put the shared data there, or set CONVEYOR_SHARED to its folder",
			dir, unchecked)
	}
	t.Fatalf("find the shared data: %v", err)
	return ""
}

// find is the folder that a setting names, else the one beside the repository that the working directory is in. The
// error is fs.ErrNotExist where there is no such folder.
func find(named string) (string, error) {
	dir := named
	if dir == "" {
		root, err := repository()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(filepath.Dir(root), "shared")
	}
	_, err := os.Stat(dir)
	return dir, err
}

var errNoRepository = errors.New("no folder above the working directory has a go.mod")

// repository is the folder of the go.mod above the working directory, which for a test is that of its package.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errNoRepository
		}
		dir = up
	}
}

// Read returns a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Page is a page of a site: a file, as the body of the answer.
func Page(t testing.TB, path, address string) web.Page {
	t.Helper()
	return web.Page{Asked: address, URL: address, Status: 200, Body: Read(t, path)}
}

// Changed is a Page in which every old, of which there must be one, is now.
func Changed(t testing.TB, path, address, old, now string) web.Page {
	t.Helper()
	p := Page(t, path, address)
	if !bytes.Contains(p.Body, []byte(old)) {
		t.Fatalf("%s has no %q", path, old)
	}
	p.Body = bytes.ReplaceAll(p.Body, []byte(old), []byte(now))
	return p
}
