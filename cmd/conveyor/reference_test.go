package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// Every command line of the documents, in blocks for a shell and between backticks, has a command and flags that there
// are. Values are not looked at: most stand for others.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	t.Parallel()

	parser, err := kong.New(new(CLI), kong.Name("conveyor"))
	require.NoError(t, err)
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	lines := 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, line := range commandLines(string(text)) {
			lines++
			if err := known(parser.Model.Node, line); err != nil {
				t.Errorf("%s: conveyor %s: %v", filepath.Base(page), strings.Join(line, " "), err)
			}
		}
	}
	require.Greater(t, lines, 200)
	require.ErrorContains(t, known(parser.Model.Node, []string{"crawl", "start", "URL", "--max-page", "3"}), "no flag --max-page")
	require.ErrorContains(t, known(parser.Model.Node, []string{"crawl", "halt"}), `no command "halt"`)
}

// called is how a command line of conveyor begins: where a shell expects a command, with variables before it or not.
var called = regexp.MustCompile("(?m)(?:^ *(?:\\$ )?|[;&|(] *|\\b(?:while|until) +|`)(?:[A-Z_]+=\\S+ +)*(?:bin/)?conveyor ")

// commandLines are the words behind conveyor of each command line of a document.
func commandLines(text string) (lines [][]string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	block, shell := false, false
	for line := range strings.Lines(text) {
		if tag, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			block, shell = !block, !block && tag == "sh"
			continue
		}
		for _, at := range called.FindAllStringIndex(line, -1) {
			if code := line[at[0]] == '`'; code != block && (code || shell) {
				lines = append(lines, commandWords(line[at[1]:]))
			}
		}
	}
	return lines
}

// commandWords are the words of a command line, up to what ends it.
func commandWords(line string) (words []string) {
	word, quote, begun := "", rune(0), false
	for _, c := range line + "\n" {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (strings.ContainsRune(" \n`|;&()<>", c) || c == '#' && !begun):
			if begun {
				words = append(words, word)
			}
			if word, begun = "", false; c != ' ' {
				return words
			}
		default:
			word, begun = word+string(c), true
		}
	}
	return words
}

// known says what of a command line there is not.
func known(node *kong.Node, words []string) error {
	positional := false
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" || word == "…" {
			return nil
		}
		if strings.HasPrefix(word, "-") && word != "-" {
			name, _, given := strings.Cut(word, "=")
			flag := flagOf(node, name)
			if flag == nil {
				return fmt.Errorf("no flag %s", name)
			}
			if !given && !flag.IsBool() {
				i++
			}
			continue
		}
		next := slices.IndexFunc(node.Children, func(n *kong.Node) bool {
			return n.Name == word || slices.Contains(n.Aliases, word)
		})
		switch {
		case positional || next < 0 && (len(node.Positional) > 0 || node.DefaultCmd != nil):
			positional = true
		case next >= 0:
			node = node.Children[next]
		case strings.ToUpper(word) == word: // COMMAND
			return nil
		default:
			return fmt.Errorf("no command %q", word)
		}
	}
	return nil
}

// flagOf is the flag of a command, or of one that it is in, by how it is written.
func flagOf(node *kong.Node, written string) *kong.Flag {
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if written == "--"+f.Name || f.Short != 0 && written == "-"+string(f.Short) ||
				f.Tag.Negatable != "" && written == "--no-"+f.Name {
				return f
			}
		}
	}
	return nil
}
