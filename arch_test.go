// Package conveyor_test keeps the import table of docs/architecture.md true.
package conveyor_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mtlrent/conveyor/"

// may lists, for each folder, the folders of this module it may import. cmd, test and bench may import anything;
// nobody imports them.
var may = map[string][]string{
	"domain":          {},
	"bridge/contract": {},
	"activities":      {"domain", "bridge/contract"},
	"workflows":       {"domain", "activities"},
	"workers":         {"domain", "activities", "workflows"},
	"db":              {"domain", "bridge/contract"},
	"bridge":          {"domain", "bridge/contract", "db", "internal"},
	"api":             {"domain", "bridge/contract", "db", "internal"},
	"internal":        {"domain"},
	"internal/launch": {"domain", "workflows"},
	"cmd":             nil,
	"test":            nil,
	"bench":           nil,
}

// free folders import what they like; all others are held to the table.
var free = []string{"cmd", "test", "bench"}

// never lists what a folder imports from nobody: pure folders read no clock, file, network or dice, and the determinism
// of workflows is fenced by what they cannot reach.
var never = map[string][]string{
	"domain":          impure,
	"workflows":       append([]string{"time/tzdata", "github.com/jackc", "github.com/rabbitmq"}, impure...),
	"bridge/contract": impure,
	"activities":      {"github.com/jackc", "github.com/rabbitmq", "github.com/gin-gonic", "database/sql"},
	"db":              {"go.temporal.io", "github.com/rabbitmq"},
}

var impure = []string{"database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "net/http", "os", "os/exec"}

func TestImports(t *testing.T) {
	t.Parallel()

	// Reading the files ourselves, not through "go list", lets the test cache see them: a cached pass is a real pass.
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || !strings.Contains(path, "/") {
			return nil
		}
		seen++
		check(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

// check holds one file to the tables.
func check(t *testing.T, path string) {
	t.Helper()

	from := folder(filepath.ToSlash(filepath.Dir(path)))
	allowed, ruled := may[from]
	if !ruled {
		t.Errorf("%s: folder %s is not in the table; say in arch_test.go what it may import", path, from)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		to, ours := strings.CutPrefix(name, module)
		to = folder(to)
		switch {
		case ours && slices.Contains(free, to):
			t.Errorf("%s must not import %s: nobody does", path, name)
		case ours && !slices.Contains(free, from) && to != from && !slices.Contains(allowed, to):
			// internal/launch is internal to those who may import internal.
			if to == "internal/launch" && slices.Contains(allowed, "internal") {
				continue
			}
			t.Errorf("%s must not import %s", path, name)
		case !ours && slices.ContainsFunc(never[from], func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") }):
			t.Errorf("%s must not import %s", path, name)
		}
	}
}

// folder is the row of the table that a package belongs to.
func folder(path string) string {
	if path == "bridge/contract" || path == "internal/launch" {
		return path
	}
	top, _, _ := strings.Cut(path, "/")
	return top
}
