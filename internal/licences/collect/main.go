// Command collect writes licences.json.gz: the Go modules of the binary as the go command lists them, and the packages
// of web/package-lock.json that are not for development. It is run by go generate, without Node: the text of an npm
// package that is not installed is that of the last run.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/internal/licences"
)

const (
	file    = "licences.json.gz" // go generate runs in the folder of the package
	web     = "../../web"
	maxText = 128 << 10 // bytes of a file
)

// unstated are modules whose authors publish no licence. Each was looked at: an entry here is a decision.
var unstated = []string{
	"github.com/nexus-rpc/nexus-proto-annotations", // options of protobuf, of Temporal's authors; go.temporal.io/api needs it
}

func main() {
	log.SetFlags(0)
	if err := collect(); err != nil {
		log.Fatal("collect licences: ", err)
	}
}

// A found part has its text itself.
type found struct {
	licences.Part
	text string
}

func collect() error {
	last, err := licences.Unpack(licences.Packed)
	if err != nil {
		last = licences.List{} // there was none
	}
	parts, err := modules()
	if err != nil {
		return err
	}
	more, err := packages(last)
	if err != nil {
		return err
	}
	parts = append(parts, more...)
	slices.SortFunc(parts, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	var l licences.List
	for _, p := range parts {
		if p.text != "" {
			at := slices.Index(l.Texts, p.text)
			if at < 0 {
				at, l.Texts = len(l.Texts), append(l.Texts, p.text)
			}
			p.Text = &at
		}
		l.Parts = append(l.Parts, p.Part)
	}
	doc, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if before, err := json.Marshal(last); err == nil && bytes.Equal(before, doc) {
		return nil // another version of Go may compress it otherwise
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(doc); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, packed.Bytes(), 0o644)
}

// modules are those that the binary of Linux links, also without the tags of the Makefile.
func modules() (out []found, err error) {
	cmd := exec.Command("go", "list", "-tags=", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}",
		"../../cmd/conveyor")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go distribution: %w", err)
	}
	main, text, err := textIn(strings.TrimSpace(string(root)))
	if err != nil {
		return nil, err
	}
	out = []found{{licences.Part{Kind: "go", Name: "std", Licence: licences.Of(main)}, text}}
	lines := strings.Fields(strings.ReplaceAll(string(list), "\n", " "))
	seen := map[string]bool{}
	for i := 0; i+2 < len(lines); i += 3 {
		name, version, dir := lines[i], lines[i+1], lines[i+2]
		if seen[name] {
			continue
		}
		seen[name] = true
		if main, text, err = textIn(dir); err != nil {
			return nil, err
		}
		p := found{licences.Part{Kind: "go", Name: name, Version: version, Licence: licences.Of(main)}, text}
		if text == "" && slices.Contains(unstated, name) {
			p.Licence = licences.Unstated
		}
		out = append(out, p)
	}
	return out, nil
}

// packages are those of the console that are not for development.
func packages(last licences.List) (out []found, err error) {
	b, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		return nil, fmt.Errorf("read package-lock.json: %w", err)
	}
	for path, p := range lock.Packages {
		if path == "" || p.Dev {
			continue
		}
		one := found{Part: licences.Part{
			Kind: "npm", Name: path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):], Version: p.Version,
			Licence: p.License,
		}}
		if strings.HasPrefix(one.Name, "@fontsource") {
			one.Kind = "font"
		}
		_, one.text, err = textIn(filepath.Join(web, path))
		if errors.Is(err, fs.ErrNotExist) {
			one.text, err = textOf(last, one.Part)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// textOf is the text of a part as it was found before.
func textOf(last licences.List, p licences.Part) (string, error) {
	for _, known := range last.Parts {
		if known.Kind == p.Kind && known.Name == p.Name && known.Version == p.Version {
			if known.Text == nil {
				return "", nil
			}
			return last.Texts[*known.Text], nil
		}
	}
	return "", fmt.Errorf("npm package %s %s is new and not installed: run make web", p.Name, p.Version)
}

var (
	named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense|ofl)`)
	whole = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense|ofl)(\.(txt|md))?$`) // the licence of all, not of a part
)

// textIn is what the files of a folder say about its licence, and the file of them that is of all; "" where there is
// none.
func textIn(dir string) (main, text string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", "", err
	}
	var all []string
	for _, f := range files {
		if f.IsDir() || !named.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return "", "", err
		}
		one := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(b), "\r\n", "\n"), "\ufffd"))
		if len(one) > maxText {
			return "", "", fmt.Errorf("%s of %s has %d bytes, more than %d", f.Name(), filepath.Base(dir), len(one), maxText)
		}
		if all = append(all, one); whole.MatchString(f.Name()) {
			main = one
		}
	}
	return main, strings.Join(all, "\n\n"), nil
}
