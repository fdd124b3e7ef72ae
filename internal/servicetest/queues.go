package servicetest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// Queues returns the names of the queues that a file of Go declares, in its order: the constants Queue…. For tests that
// look at each queue of domain/contract/queues.go.
func Queues(path string) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("read the queues: %w", err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Queue") {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			name, _ := strconv.Unquote(literal.Value) // the parser has seen that it is one
			names = append(names, name)
		}
		return true
	})
	if len(names) == 0 {
		err = fmt.Errorf("%s declares no queue", path)
	}
	return names, err
}
