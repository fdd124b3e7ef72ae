package db_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	goconstant "go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const ours = "github.com/mtlrent/conveyor/"

// A reach is what the functions, fields and variables of this module refer to: which of them a piece of code can get
// to. A call of a method of an interface gets to that method of all types that have the interface. What a field is set
// to is reached where the field is read, and not where it is set, so that the wiring of one process is not that of all.
// Workflows reach nothing, for what they do is done by activities, in other processes.
type reach struct {
	files  *token.FileSet
	info   *types.Info
	refers map[types.Object][]ast.Node // what an object refers to is in these
	named  []*types.Named              // the types that are no interfaces
	known  map[types.Object][]types.Object
	texts  map[types.Object][]string // the string constants in what an object refers to
	lists  map[types.Object]ast.Expr // what a variable was set to last
}

// readModule type-checks the packages of this module that are linked into the command. It reads their files itself, so
// that the cache of tests sees them.
func readModule(t *testing.T) *reach {
	t.Helper()

	type listed struct{ ImportPath, Dir, Export string }
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export", "../cmd/conveyor")
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	var packages []listed // each after those that it imports
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath+"/", ours) {
			packages = append(packages, p)
		}
	}
	r := &reach{
		files: token.NewFileSet(), refers: map[types.Object][]ast.Node{}, known: map[types.Object][]types.Object{},
		texts: map[types.Object][]string{}, lists: map[types.Object]ast.Expr{},
		info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
	}
	done := map[string]*types.Package{}
	others := importer.ForCompiler(r.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		var parsed []*ast.File
		found, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		require.NoError(t, err)
		for _, file := range found {
			in, err := build.Default.MatchFile(p.Dir, filepath.Base(file))
			require.NoError(t, err)
			if !in || strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(r.files, file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
		checker := types.Config{Importer: importerFunc(func(path string) (*types.Package, error) {
			if p := done[path]; p != nil {
				return p, nil
			}
			return others.Import(path)
		})}
		done[p.ImportPath], err = checker.Check(p.ImportPath, r.files, parsed, r.info)
		require.NoError(t, err)
		if p.ImportPath == ours+"workflows" {
			continue
		}
		for _, f := range parsed {
			r.read(f)
		}
		for _, name := range done[p.ImportPath].Scope().Names() {
			if n, ok := done[p.ImportPath].Scope().Lookup(name).Type().(*types.Named); ok && !types.IsInterface(n) {
				r.named = append(r.named, n)
			}
		}
	}
	return r
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// read adds what the functions, variables and fields of a file refer to.
func (r *reach) read(f *ast.File) {
	set := func(to ast.Expr, value ast.Expr) {
		switch to := to.(type) {
		case *ast.Ident:
			if v := r.object(to); v != nil {
				r.lists[v] = value
			}
			if v := r.object(to); v != nil && code(v.Type()) {
				r.refers[v] = append(r.refers[v], value)
			}
		case *ast.SelectorExpr:
			if v := r.object(to.Sel); v != nil && code(v.Type()) {
				r.refers[v] = append(r.refers[v], value)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				o := r.info.Defs[n.Name]
				r.refers[o] = append(r.refers[o], n)
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				o := r.object(name)
				if _, local := o.(*types.Var); len(n.Values) > 0 && o != nil && (!local || o.Parent() == o.Pkg().Scope() || code(o.Type())) {
					r.refers[o] = append(r.refers[o], n.Values[min(i, len(n.Values)-1)])
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				set(to, n.Rhs[min(i, len(n.Rhs)-1)])
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && r.field(kv) != nil {
					r.refers[r.field(kv)] = append(r.refers[r.field(kv)], kv.Value)
				}
			}
		}
		return true
	})
}

// field is the field of a struct of this module that an element of a literal sets, or nil.
func (r *reach) field(kv *ast.KeyValueExpr) types.Object {
	key, ok := kv.Key.(*ast.Ident)
	if !ok {
		return nil
	}
	if v, ok := r.info.Uses[key].(*types.Var); ok && v.IsField() && inModule(v) && code(v.Type()) {
		return v.Origin()
	}
	return nil
}

// code says whether values of a type are functions, or lists of them.
func code(of types.Type) bool {
	switch list := of.Underlying().(type) {
	case *types.Slice:
		of = list.Elem()
	case *types.Map:
		of = list.Elem()
	}
	_, is := of.Underlying().(*types.Signature)
	return is
}

// object is what an identifier means, where that is of this module, and of no instance of a generic one.
func (r *reach) object(id *ast.Ident) types.Object {
	o := r.info.Uses[id]
	if o == nil {
		o = r.info.Defs[id]
	}
	if !inModule(o) {
		return nil
	}
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	case *types.Const:
		return o
	}
	return nil
}

func inModule(o types.Object) bool {
	return o != nil && o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path()+"/", ours)
}

// in returns the objects that a piece of code refers to, and the texts of its string constants.
func (r *reach) in(n ast.Node) (objects []types.Object, texts []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok && r.field(kv) != nil {
			return false // it is reached by way of the field
		}
		if e, ok := n.(ast.Expr); ok {
			if v := r.info.Types[e].Value; v != nil && v.Kind() == goconstant.String {
				texts = append(texts, goconstant.StringVal(v))
				return false // the constants that it is made of are no statements
			}
		}
		if id, ok := n.(*ast.Ident); ok {
			if o := r.object(id); o != nil {
				objects = append(objects, o)
			}
		}
		return true
	})
	return objects, texts
}

// next are the objects that one refers to.
func (r *reach) next(o types.Object) ([]types.Object, []string) {
	if objects, ok := r.known[o]; ok {
		return objects, r.texts[o]
	}
	var objects []types.Object
	var texts []string
	for _, n := range r.refers[o] {
		more, said := r.in(n)
		objects, texts = append(objects, more...), append(texts, said...)
	}
	if f, ok := o.(*types.Func); ok {
		objects = append(objects, r.implementations(f)...)
	}
	r.known[o], r.texts[o] = objects, texts
	return objects, texts
}

// implementations are the methods that a call of a method of an interface of this module may be.
func (r *reach) implementations(f *types.Func) (methods []types.Object) {
	receiver := f.Signature().Recv()
	if receiver == nil || !types.IsInterface(receiver.Type()) {
		return nil
	}
	of, ok := receiver.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for _, n := range r.named {
		if n.TypeParams().Len() == 0 && !types.Implements(types.NewPointer(n), of) {
			continue // of a generic type the name of the method decides
		}
		m, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), false, f.Pkg(), f.Name())
		if m, ok := m.(*types.Func); ok {
			methods = append(methods, m.Origin())
		}
	}
	return methods
}

// from is what can be reached from some objects and pieces of code: the objects, with the string constants in each. Those
// in the code itself are of nobody, nil.
func (r *reach) from(objects []types.Object, nodes ...ast.Node) map[types.Object][]string {
	out := map[types.Object][]string{}
	for _, n := range nodes {
		more, texts := r.in(n)
		objects, out[nil] = append(objects, more...), append(out[nil], texts...)
	}
	for len(objects) > 0 {
		o := objects[len(objects)-1]
		objects = objects[:len(objects)-1]
		if _, seen := out[o]; seen {
			continue
		}
		more, texts := r.next(o)
		objects, out[o] = append(objects, more...), texts
	}
	return out
}

// exported are the methods of a struct that other packages can call.
func exported(of types.Type) (list []types.Object) {
	set := types.NewMethodSet(of)
	for method := range set.Methods() {
		if m, ok := method.Obj().(*types.Func); ok && m.Exported() {
			list = append(list, m.Origin())
		}
	}
	return list
}
