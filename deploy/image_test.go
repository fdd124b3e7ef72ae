package deploy_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/require"
)

// instructions are the lines of the Dockerfile without comments, continued lines joined.
func instructions(t *testing.T) []string {
	t.Helper()

	text, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	joined := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(text), "")
	var out []string
	for line := range strings.Lines(joined) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// The image is made of exact versions, has nothing but the binary, and runs as a user without rights.
func TestDockerfile(t *testing.T) {
	t.Parallel()

	last := map[string]string{} // what the final stage says last
	var froms []string
	stages := map[string]map[string]string{} // the same by stage
	for _, line := range instructions(t) {
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "FROM" {
			froms = append(froms, rest)
			last = map[string]string{}
			stages[rest] = last
		}
		last[verb] = rest
	}
	require.Len(t, froms, 3)
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.Regexp(t, `golang:`+regexp.QuoteMeta(string(language[1]))+`\.\d+-bookworm AS build$`, froms[0])
	local, err := os.ReadFile("../internal/devstack/build.go")
	require.NoError(t, err)
	toolchain := regexp.MustCompile(`buildToolchain = "go([\d.]+)"`).FindSubmatch(local)
	require.Contains(t, froms[0], "golang:"+string(toolchain[1])+"-", "one toolchain builds the servers and the image")
	require.Regexp(t, `^gcr\.io/distroless/static-debian\d+:nonroot@sha256:[0-9a-f]{64}$`, froms[2])
	require.Equal(t, "65532:65532", last["USER"], "a number, for Kubernetes cannot tell from a name that it is not root")
	require.Equal(t, `["/conveyor"]`, last["ENTRYPOINT"])
	require.Contains(t, last["LABEL"], "org.opencontainers.image.source=")
	require.Contains(t, last["COPY"], "--chown=65532:65532 /out/data /data", "a new volume takes its owner from here")
	require.NotContains(t, last, "RUN", "there is no shell")

	require.Regexp(t, `^node:\d+\.\d+\.\d+-bookworm-slim AS browser$`, froms[1])
	browser := stages[froms[1]]
	for _, same := range []string{"USER", "ENTRYPOINT", "COPY"} {
		require.Equal(t, last[same], browser[same], same)
	}
	driver := regexp.MustCompile(`"install-browser", "--to=(.+)"`).FindStringSubmatch(browser["RUN"])
	require.NotNil(t, driver, browser["RUN"])
	require.Contains(t, browser["ENV"], "CONVEYOR_BROWSER_DRIVER="+driver[1])
	require.Contains(t, browser["ENV"], "HOME=/tmp", "the only other folder that it may write to")
}

// TestBuildContext copies what .dockerignore lets through, and sees that the package which the Dockerfile builds is
// whole there: every import, every embedded file. A new folder of code must be named in .dockerignore.
func TestBuildContext(t *testing.T) {
	t.Parallel()

	var build string
	for _, line := range instructions(t) {
		if strings.Contains(line, "go build") {
			build = line
		}
	}
	require.Contains(t, build, "CGO_ENABLED=0", "the image has no C library")
	require.True(t, strings.HasSuffix(build, " -o /out/conveyor ./cmd/conveyor"), build)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	tags := regexp.MustCompile(`(?m)^TAGS +:= (\S+)$`).FindSubmatch(makefile)
	require.NotNil(t, tags)
	require.Contains(t, build, " -tags="+string(tags[1])+" ", "the image is what was tested")

	f, err := os.Open("../.dockerignore")
	require.NoError(t, err)
	defer f.Close()
	patterns, err := ignorefile.ReadAll(f)
	require.NoError(t, err)
	ignored, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel("..", path)
		if err != nil || name == "." || d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			if name != "." && err == nil {
				return fs.SkipDir
			}
			return err
		}
		skip, err := ignored.MatchesOrParentMatches(name)
		if err != nil || skip || d.IsDir() {
			return err
		}
		for _, secret := range []string{".env", ".pem", ".key", "_test.go"} {
			require.False(t, strings.HasSuffix(name, secret), "%s goes into the build", name)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	}))
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}", "./cmd/conveyor")
	list.Dir, list.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	out, err := list.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "github.com/mtlrent/conveyor/db\n")
}

// The script creates both databases and brings each to the server's schema, in this order: it may run at every start. What
// a first start has left half-made is made anew, and nothing else. With a tool of Temporal: TestHalfMadeSchemas.
func TestTemporalSchema(t *testing.T) {
	t.Parallel()

	const first = "FIRST create\nSQL setup-schema -v 0.0 --overwrite\n"
	for name, tt := range map[string]struct {
		fails string // a pattern of the runs of the tool that fail, of one database and its mark
		steps string
		ends  bool
	}{
		"new": {"NONE", "SQL create\nSQL setup-schema -v 0.0\nSQL update-schema -v 0.0\n" + first +
			"SQL update-schema\nFIRST setup-schema -v 0.0\nFIRST drop --force\n", true},
		"up to date": {"*update-schema*'-v 0.0@'|*first_start*", "SQL create\nSQL setup-schema -v 0.0\nSQL update-schema -v 0.0\n" +
			"SQL update-schema\nFIRST setup-schema -v 0.0\n", true},
		"an upgrade fails": {"*update-schema*|*first_start*", "SQL create\nSQL setup-schema -v 0.0\nSQL update-schema -v 0.0\n" +
			"SQL update-schema\nFIRST setup-schema -v 0.0\n", false},
	} {
		bin := t.TempDir()
		said := filepath.Join(bin, "said")
		tool := "#!/bin/sh\necho \"$@\" >>" + said + "\ncase \"$*@\" in " + tt.fails + ") exit 1 ;; esac\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, "temporal-sql-tool"), []byte(tool), 0o755))
		script := exec.CommandContext(t.Context(), "sh", "temporal/schema.sh")
		script.Env = []string{"PATH=" + bin}
		out, err := script.CombinedOutput()
		require.Equal(t, tt.ends, err == nil, "%s: %s", name, out)
		got, err := os.ReadFile(said)
		require.NoError(t, err)
		want := ""
		for _, database := range []struct{ name, schema string }{{"temporal", "temporal"}, {"temporal_visibility", "visibility"}} {
			flags := "--plugin postgres12_pgx --db " + database.name
			want += strings.NewReplacer("SQL update-schema", flags+" update-schema --schema-name postgresql/v12/"+database.schema,
				"SQL", flags, "FIRST", flags+"_first_start").Replace(tt.steps)
			if !tt.ends {
				break
			}
		}
		require.Equal(t, want, string(got), name)
	}

	broken := exec.CommandContext(t.Context(), "sh", "temporal/schema.sh")
	broken.Env = []string{"PATH=" + t.TempDir()}
	require.Error(t, broken.Run(), "a step that fails ends it")
}
