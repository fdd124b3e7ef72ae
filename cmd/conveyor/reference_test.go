package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// referenceRows are the rows of the tables of docs/reference.md, each as what is written as code in its first column.
func referenceRows(t *testing.T) (rows [][]string) {
	t.Helper()

	page, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	code := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") {
			var row []string
			for _, m := range code.FindAllStringSubmatch(cells[0], -1) {
				row = append(row, m[1])
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// Every operation of the API has its row: by its path, or by "…" and the end of it, behind another one of the same kind.
func TestReferenceHasTheAPI(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../api/testdata/openapi.golden.yaml")
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]any
	}
	require.NoError(t, yaml.Unmarshal(text, &document))
	rows, parameter := referenceRows(t), regexp.MustCompile(`\{\w+\}`)
	bare := func(path string) string {
		path, _, _ = strings.Cut(path, "?")
		return parameter.ReplaceAllString(path, "{}")
	}
	root := func(path string) string { return strings.SplitN(path, "/", 3)[1] }
	for path, operations := range document.Paths {
		for method := range operations {
			named := func(row []string) bool {
				about, verb, said := "", "", false
				for _, span := range row {
					for _, word := range strings.Fields(span) {
						switch end, short := strings.CutPrefix(word, "…"); {
						case strings.HasPrefix(word, "/"):
							about = root(word)
							said = said || bare(word) == bare(path)
						case short:
							said = said || about == root(path) && strings.HasSuffix(bare(path), bare(end))
						case strings.EqualFold(word, method):
							verb = word
						}
					}
				}
				return said && verb != ""
			}
			if !slices.ContainsFunc(rows, named) {
				t.Errorf("docs/reference.md has no row of %s %s", strings.ToUpper(method), path)
			}
		}
	}
}

// Every command has its row.
func TestReferenceHasTheCommands(t *testing.T) {
	t.Parallel()

	parser, err := kong.New(new(CLI))
	require.NoError(t, err)
	rows := referenceRows(t)
	for _, leaf := range parser.Model.Leaves(true) {
		var words []string
		for n := leaf; n.Parent != nil; n = n.Parent {
			words = append([]string{n.Name}, words...)
		}
		named := func(row []string) bool {
			all := strings.Fields(strings.Join(row, " "))
			return len(all) > 1 && all[0] == "conveyor" && slices.Contains(all, words[0]) &&
				(slices.Contains(all, words[len(words)-1]) || leaf.Parent.DefaultCmd == leaf)
		}
		if !slices.ContainsFunc(rows, named) {
			t.Errorf("docs/reference.md has no row of conveyor %s", strings.Join(words, " "))
		}
	}
}
