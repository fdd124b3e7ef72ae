package conveyor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bare are the goroutines, by file, that wait, count, or call what survives its own panics.
var bare = map[string]int{
	"activities/beat.go": 1, "activities/crawl_shard.go": 2, "activities/messages_slice.go": 3, "api/events.go": 1,
	"bridge/bridge.go": 4, "bridge/consume.go": 3, "bridge/handle.go": 1, "bridge/listings.go": 1, "bridge/outbox.go": 5,
	"bridge/session.go": 2, "db/tx.go": 1, "internal/blob/folder.go": 1, "workers/beat.go": 1,
}

// A panic that nobody recovers ends the process, with all else that it has in hand: what serves requests, messages and
// activities survives that of each goroutine, by fault.Try or fault.Survive.
func TestGoroutinesSurvive(t *testing.T) {
	t.Parallel()

	found := map[string]int{}
	for _, room := range []string{
		"activities", "api", "bridge", "db", "domain", "workers", "internal/blob", "internal/launch", "internal/limit",
		"internal/notify", "internal/telemetry",
	} {
		require.NoError(t, filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if body := started(n); body != nil && !survives(body) {
					found[filepath.ToSlash(path)]++
				}
				return true
			})
			return nil
		}))
	}
	require.Equal(t, bare, found)
}

// started is what a goroutine does that n starts; nil = it starts none.
func started(n ast.Node) ast.Node {
	if s, ok := n.(*ast.GoStmt); ok {
		return s.Call
	}
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	if of, ok := call.Fun.(*ast.SelectorExpr); !ok || of.Sel.Name != "Go" {
		return nil
	}
	return call.Args[0]
}

// survives says whether something in a body recovers.
func survives(body ast.Node) (yes bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			yes = yes || of != nil && of.Name == "fault" && (n.Sel.Name == "Survive" || n.Sel.Name == "Try")
		case *ast.Ident:
			yes = yes || n.Name == "recover"
		}
		return !yes
	})
	return yes
}
