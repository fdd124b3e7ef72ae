package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each command shows an example in its help, and each example is a command line that is taken. Not parallel: files that
// are named lie in the folder of the process.
func TestEachCommandHasAnExample(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"people.csv", "people.xlsx", "listings.sql", "listings.csv", "drafts.sqlite", "streets.geojson",
	} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	parser, err := kong.New(new(CLI), kong.Name("conveyor"))
	require.NoError(t, err)
	exemplify(parser.Model.Node)
	for _, leaf := range parser.Model.Leaves(true) {
		assert.Contains(t, leaf.Detail, "\n  ", "examples.txt has no line of %s", leaf.Path())
	}
	for line := range strings.Lines(examples) {
		lines := commandLines("```sh\n" + line + "```\n")
		require.Len(t, lines, 1, line)
		parser, err := kong.New(new(CLI), kong.Name("conveyor")) // a parser keeps what it has read
		require.NoError(t, err)
		_, err = parser.Parse(lines[0])
		assert.NoError(t, err, line)
	}
}

// A wrong command line is answered with the command whose help says how it goes.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--sideways":                         "conveyor",
		"crwal list":                         "conveyor",
		"crawl shwo 1":                       "conveyor crawl",
		"crawl start":                        "conveyor crawl start",
		"crawl start https://a.example --no": "conveyor crawl start",
		"platforms search add kijiji":        "conveyor platforms search add",
		"demo --adverts many":                "conveyor demo-site",
	} {
		parser, err := kong.New(new(CLI), kong.Name("conveyor"))
		require.NoError(t, err)
		_, err = parser.Parse(strings.Fields(line))
		require.Error(t, err, line)
		require.Equal(t, want, understood(err), line)
	}
}

// What lists or shows something does so for programs, too.
func TestListsAreForPrograms(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(CLI), kong.Name("conveyor"))
	require.NoError(t, err)
	for _, leaf := range parser.Model.Leaves(true) {
		decides := leaf.Parent.Name == "duplicates" // show chooses there
		if (leaf.Name == "list" || leaf.Name == "show") && !decides {
			assert.NotNil(t, flagOf(leaf, "--json"), "%s has no --json", leaf.Path())
		}
	}
}
