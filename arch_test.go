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

	"github.com/stretchr/testify/require"
)

const module = "github.com/mtlrent/conveyor/"

// may lists, for each folder, the folders of this module it may import. A folder within another is a row of its own where
// it may import something else; what may import the outer one may import it too. cmd, test and bench may import
// anything; nothing imports them.
var may = map[string][]string{
	"domain":          {"domain/contract"},
	"domain/contract": {},
	"activities":      {"domain"},
	"workflows":       {"domain", "activities"},
	"workers":         {"domain", "activities", "workflows"},
	"db":              {"domain"},
	"db/dbtest":       {"domain", "db", "internal"},
	"bridge":          {"domain", "db", "internal"},
	"api":             {"domain", "db", "internal", "web"},
	"cli":             {"domain", "api"},
	"internal":        {"domain"},
	"internal/launch": {"domain", "workflows"},
	"sim":             {"domain", "internal"},
	"web":             {},
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
	"domain/contract": impure,
	"activities":      {"github.com/jackc", "github.com/rabbitmq", "github.com/gin-gonic", "database/sql"},
	"db":              {"go.temporal.io", "github.com/rabbitmq"},
}

// sliced are a core and a package a system: no system imports another one's of any of them, nor does a core import a
// system's. What serves tests may.
var sliced = []string{"db", "api"}

// only lists who may import a folder, where that is less than the table says.
var only = map[string]string{"domain/listing/prose": "domain/platform"}

var impure = []string{"database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "net/http", "os", "os/exec"}

func TestImports(t *testing.T) {
	t.Parallel()

	// Reading the files ourselves, not through "go list", lets the test cache see them: a cached pass is a real pass.
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" ||
			d.Name() == "bin" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || !strings.Contains(path, "/") {
			return nil
		}
		seen++
		check(t, path)
		return nil
	})
	require.NoError(t, err)
	if seen < 50 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

// check holds one file to the tables.
func check(t *testing.T, path string) {
	t.Helper()

	own := filepath.ToSlash(filepath.Dir(path))
	from := folder(own)
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
		if importer, ruled := only[to]; ruled && !strings.HasPrefix(filepath.ToSlash(path), importer+"/") {
			t.Errorf("%s must not import %s: only %s does", path, name, importer)
		}
		if of := system(to); ours && of != "" && slices.Contains(sliced, within(own)) && system(own) != of &&
			!strings.HasSuffix(own, "test") {
			t.Errorf("%s must not import %s: a system has its tables and its operations to itself", path, name)
		}
		to = folder(to)
		switch {
		case ours && slices.Contains(free, to):
			t.Errorf("%s must not import %s: nobody does", path, name)
		case ours && !slices.Contains(free, from) && to != from && !slices.Contains(allowed, to) &&
			!slices.Contains(allowed, within(to)):
			t.Errorf("%s must not import %s", path, name)
		case from == "domain/contract" && strings.Contains(name, "."):
			t.Errorf("%s must not import %s: other teams import it, with the standard library only", path, name)
		case !ours && slices.ContainsFunc(never[from], func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") }):
			t.Errorf("%s must not import %s", path, name)
		}
	}
}

// system is the one whose package in a sliced folder a path is: "" for the core, and for what serves tests.
func system(path string) string {
	for _, top := range sliced {
		if name, in := strings.CutPrefix(path, top+"/"); in && !strings.HasSuffix(name, "test") {
			return name
		}
	}
	return ""
}

// folder is the row of the table that a package belongs to: its own, or that of the folder at the top.
func folder(path string) string {
	if _, own := may[path]; own {
		return path
	}
	return within(path)
}

// within is the folder at the top that a package lies in.
func within(path string) string {
	top, _, _ := strings.Cut(path, "/")
	return top
}
