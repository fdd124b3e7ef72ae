package db_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
)

// TestSQL prepares every constant named sql… against the migrated schema, so that a typo or a dropped column fails
// here and not at two in the morning. Constants that are only a piece of another (they do not start a statement) are
// prepared as part of it.
func TestSQL(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	texts := constants(t)
	prepared := 0
	for name, text := range texts {
		start := strings.ToUpper(strings.Fields(text)[0])
		whole := start == "SELECT" || start == "INSERT" || start == "UPDATE" || start == "DELETE" || start == "WITH"
		if !whole || strings.Count(text, "(") != strings.Count(text, ")") {
			continue
		}
		prepared++
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		_, err = conn.Conn().Prepare(t.Context(), name, text)
		require.NoError(t, err, "%s: %s", name, text)
		conn.Release()
	}
	require.Greater(t, prepared, 25)
}

// constants are the values of all sql… constants of the package, with + between them resolved.
func constants(t *testing.T) map[string]string {
	t.Helper()

	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	exprs := map[string]ast.Expr{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "sql") && len(spec.Values) > 0 {
				exprs[spec.Names[0].Name] = spec.Values[0]
			}
			return true
		})
	}
	var value func(ast.Expr) string
	value = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			require.NoError(t, err)
			return s
		case *ast.Ident:
			return value(exprs[e.Name])
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		}
		t.Fatalf("constant of an unknown form %T", e)
		return ""
	}
	out := map[string]string{}
	for name, e := range exprs {
		out[name] = value(e)
	}
	return out
}
