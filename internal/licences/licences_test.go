package licences_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/licences"
)

func list(t *testing.T) licences.List {
	t.Helper()

	l, err := licences.Unpack(licences.Packed)
	require.NoError(t, err)
	return l
}

// permissive says whether a licence, or several in an SPDX expression that has no OR, may be in the binary.
func permissive(spdx string) bool {
	for _, one := range strings.Split(strings.Trim(spdx, "()"), " AND ") {
		switch strings.Trim(one, "()") {
		case "Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "Zlib", "OFL-1.1", "Unlicense", "CC0-1.0":
		default:
			return false
		}
	}
	return true
}

// Everything in the binary may be given on under terms that ask for no more than its notice.
func TestOnlyPermissiveLicences(t *testing.T) {
	t.Parallel()
	l := list(t)
	require.Greater(t, len(l.Parts), 150)
	require.Less(t, len(licences.Packed), 256<<10)
	stated := 0
	for _, p := range l.Parts {
		if p.Licence == licences.Unstated {
			stated++
			continue
		}
		require.Truef(t, permissive(p.Licence), "%s %s: %s is not permissive, or not known", p.Kind, p.Name, p.Licence)
		if p.Kind == "go" {
			require.NotNil(t, p.Text, p.Name)
		}
	}
	require.Equal(t, 1, stated, "modules without a licence")
	for spdx, may := range map[string]bool{
		"MIT": true, "(MIT AND Zlib)": true, "MIT AND BSD-3-Clause": true, "GPL-3.0": false, "MIT AND MPL-2.0": false,
		"": false, "unknown": false, "copyleft": false,
	} {
		require.Equal(t, may, permissive(spdx), spdx)
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "unknown", "All rights reserved.": "unknown",
		"GNU GENERAL PUBLIC\nLICENSE, Apache License Version 2.0": "copyleft",
		"Mozilla Public License Version 2.0":                      "copyleft",
		"Apache License\n   Version 2.0, January 2004":            "Apache-2.0",
	} {
		require.Equal(t, want, licences.Of(text), text)
	}
}

// The list is of the versions that go.mod and package-lock.json name, and has every package of the console.
func TestTheListIsFresh(t *testing.T) {
	t.Parallel()
	const stale = "run go generate ./internal/licences, with the packages of make web installed, and commit the list"
	listed := map[string]string{}
	for _, p := range list(t).Parts {
		listed[p.Name] = p.Version
	}
	b, err := os.ReadFile("../../web/package-lock.json")
	require.NoError(t, err)
	var lock struct {
		Packages map[string]struct {
			Version string
			Dev     bool
		}
	}
	require.NoError(t, json.Unmarshal(b, &lock))
	versions := map[string]string{"std": ""}
	for path, p := range lock.Packages {
		if path != "" && !p.Dev {
			name := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
			versions[name] = p.Version
			require.Equal(t, p.Version, listed[name], "%s: %s", name, stale)
		}
	}
	b, err = os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(b), -1) {
		versions[m[1]] = m[2]
	}
	for name, version := range listed {
		require.Contains(t, versions, name, stale)
		require.Equal(t, versions[name], version, "%s: %s", name, stale)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	at := 0
	l := licences.List{Texts: []string{"Permission is hereby granted"}, Parts: []licences.Part{
		{Kind: "go", Name: "example.org/a", Version: "v1.2.3", Licence: "MIT", Text: &at},
		{Kind: "npm", Name: "b", Version: "2.0.0", Licence: "ISC"},
	}}
	require.NoError(t, l.Write(&b))
	require.Contains(t, b.String(), "go    example.org/a v1.2.3")
	require.Contains(t, b.String(), "\nexample.org/a v1.2.3\n\nPermission is hereby granted\n")
}
