package main

import (
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// examples are command lines, one a line. Each is shown by --help of its command.
//
//go:embed examples.txt
var examples string

// exemplify adds to the help of each command its examples, and those of a default command to the help of its group.
func exemplify(root *kong.Node) {
	begun := map[*kong.Node]bool{}
	for line := range strings.Lines(examples) {
		leaf := commandOf(root, line)
		for _, node := range []*kong.Node{leaf, leaf.Parent} {
			if node != leaf && node.DefaultCmd != leaf {
				continue
			}
			if !begun[node] {
				node.Detail += "\n\nExamples:\n"
				begun[node] = true
			}
			node.Detail += "\n  " + strings.TrimSuffix(line, "\n")
		}
	}
}

// commandOf is the command of a command line.
func commandOf(node *kong.Node, line string) *kong.Node {
	words := strings.Fields(line)
	for _, word := range words[slices.Index(words, "conveyor")+1:] {
		next := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if next < 0 {
			break
		}
		node = node.Children[next]
	}
	return node
}

// understood is how far a wrong command line was read: the command whose help says how it is used.
func understood(err error) string {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context == nil {
		return "conveyor"
	}
	return commandLine(wrong.Context)
}

// commandLine is the command of a line, without what it is given.
func commandLine(read *kong.Context) string {
	words := "conveyor"
	for _, step := range read.Path {
		if step.Command != nil {
			words += " " + step.Command.Name
		}
	}
	return words
}
