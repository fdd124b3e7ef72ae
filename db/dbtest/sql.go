package dbtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// SQL prepares each statement of the package in the working directory against the migrated schema, so that a typo or a
// dropped column fails here and not at two in the morning. Constants that are only a piece of another (they do not
// start a statement) are prepared as part of it. A statement begins with a comment, its constant's name, which traces
// use. Fewer than atLeast statements are an error: then some are not seen.
func SQL(t *testing.T, atLeast int) {
	t.Helper()

	pool := New(t)
	prepared := 0
	for name, text := range parse(t, ".").texts(t) {
		comment := "/* " + named(name) + " */"
		start := strings.ToUpper(strings.Fields(strings.TrimPrefix(text, comment))[0])
		whole := start == "SELECT" || start == "INSERT" || start == "UPDATE" || start == "DELETE" || start == "WITH"
		if !whole || strings.Count(text, "(") != strings.Count(text, ")") {
			continue
		}
		prepared++
		require.True(t, strings.HasPrefix(text, comment), "%s does not begin with %s", name, comment)
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		_, err = conn.Conn().Prepare(t.Context(), name, text)
		conn.Release()
		require.NoError(t, err, "%s: %s", name, text)
	}
	require.GreaterOrEqual(t, prepared, atLeast)
}

// Statements are the texts of the statements of db and of the packages below it, by the names that traces have for
// them. It is called in the folder of any of them.
func Statements(t testing.TB) map[string]string {
	t.Helper()

	root := "."
	if parse(t, root).name != core {
		root = ".."
	}
	tests, err := filepath.Glob(filepath.Join(root, "*", "sql_test.go"))
	require.NoError(t, err)
	out := map[string]string{}
	for _, file := range append(tests, filepath.Join(root, "sql_test.go")) {
		for name, text := range parse(t, filepath.Dir(file)).texts(t) {
			require.NotContains(t, out, named(name), "two packages have a statement of this name")
			out[named(name)] = text
		}
	}
	return out
}

// named is what traces call the statement of a constant: one that other packages use is a statement like the others.
func named(constant string) string { return "sql" + constant[len("sql"):] }

// core is the package whose constants those of the packages below it are made of.
const core = "db"

// constants are those named sql… or SQL… of a package, and of the core where it is below that.
type constants struct {
	name  string // of the package
	own   map[string]ast.Expr
	above map[string]ast.Expr
}

func parse(t testing.TB, dir string) (c constants) {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	c.own = map[string]ast.Expr{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		c.name = f.Name.Name
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if ok && strings.EqualFold(spec.Names[0].Name[:min(3, len(spec.Names[0].Name))], "sql") && len(spec.Values) > 0 {
				c.own[spec.Names[0].Name] = spec.Values[0]
			}
			return true
		})
	}
	if above := filepath.Join(dir, ".."); c.name != core {
		c.above = parse(t, above).own
	}
	return c
}

// texts are the values of the package's own, with + between them resolved.
func (c constants) texts(t testing.TB) map[string]string {
	t.Helper()

	out := map[string]string{}
	for name, e := range c.own {
		out[name] = value(t, e, c.own, c.above)
	}
	return out
}

// value is that of an expression of constants of own, with those of above behind a package's name.
func value(t testing.TB, e ast.Expr, own, above map[string]ast.Expr) string {
	t.Helper()

	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		require.NoError(t, err)
		return s
	case *ast.Ident:
		return value(t, own[e.Name], own, above)
	case *ast.SelectorExpr:
		return value(t, above[e.Sel.Name], above, nil)
	case *ast.BinaryExpr:
		return value(t, e.X, own, above) + value(t, e.Y, own, above)
	}
	t.Fatalf("constant of an unknown form %T", e)
	return ""
}
