// Package licences lists what the binary contains of others, with their licences: Go modules, npm packages and fonts of
// the console.
package licences

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

//go:generate go run ./collect

// Packed is the list as collect writes it, JSON of List under gzip.
//
//go:embed licences.json.gz
var Packed []byte

// A List is all parts, by kind and name, and the texts that they share: most have one of a few.
type List struct {
	Parts []Part   `json:"parts"`
	Texts []string `json:"texts"`
}

// A Part is one module or package.
type Part struct {
	Kind    string `json:"kind"` // go npm font
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // none: that of the toolchain
	Licence string `json:"licence"`           // SPDX; Unstated where its authors publish none
	Text    *int   `json:"text,omitempty"`    // index in Texts; absent: the package has none with it
}

// Unstated stands for a licence that nobody wrote down.
const Unstated = "none stated"

// maxUnpacked is the most bytes that are unpacked.
const maxUnpacked = 8 << 20

// Unpack reads a list.
func Unpack(packed []byte) (l List, err error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return l, fmt.Errorf("unpack licences: %w", err)
	}
	err = json.NewDecoder(io.LimitReader(z, maxUnpacked)).Decode(&l)
	return l, fault.Wrap(err, "unpack licences")
}

// Write prints the list, and each text once with the parts that it is of.
func (l List) Write(w io.Writer) error {
	var b strings.Builder
	of := make([][]string, len(l.Texts))
	for _, p := range l.Parts {
		name := strings.TrimSpace(p.Name + " " + p.Version)
		fmt.Fprintf(&b, "%-5s %-70s %s\n", p.Kind, name, p.Licence)
		if p.Text != nil {
			of[*p.Text] = append(of[*p.Text], name)
		}
	}
	for i, text := range l.Texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[i], "\n"), text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// kinds are the licences that are known, by words that each has in its text. The first that matches counts.
var kinds = []struct {
	spdx  string
	words []string
}{
	{"copyleft", []string{"gnu general public license"}}, {"copyleft", []string{"gnu lesser general public"}},
	{"copyleft", []string{"gnu affero"}}, {"copyleft", []string{"mozilla public license"}},
	{"copyleft", []string{"eclipse public license"}}, {"copyleft", []string{"server side public license"}},
	{"copyleft", []string{"business source license"}}, {"copyleft", []string{"sharealike"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"OFL-1.1", []string{"sil open font license version 1.1"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "substantial portions of the software"}},
	{"BSD-3-Clause", []string{"redistributions of source code must retain", "neither the name"}},
	{"BSD-3-Clause", []string{"redistributions of source code must retain", "may be used to endorse"}},
	{"BSD-2-Clause", []string{"redistributions of source code must retain"}},
	{"ISC", []string{"to use, copy, modify, and/or distribute this software for any purpose", "above copyright notice"}},
	{"ISC", []string{"to use, copy, modify, and distribute this software for any purpose", "above copyright notice"}},
	{"Unlicense", []string{"free and unencumbered software released into the public domain"}},
	{"CC0-1.0", []string{"cc0 1.0 universal"}},
}

// Of names the licence of a text: SPDX, "copyleft", or "unknown".
func Of(text string) string {
	plain := strings.Join(strings.Fields(strings.ToLower(text)), " ")
next:
	for _, k := range kinds {
		for _, words := range k.words {
			if !strings.Contains(plain, words) {
				continue next
			}
		}
		return k.spdx
	}
	return "unknown"
}
