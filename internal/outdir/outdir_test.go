package outdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/outdir"
)

func TestResolveOutDir(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path := filepath.Join(base, "drafts", "all")
	require.NoError(t, os.MkdirAll(path, 0o755))
	require.NoError(t, os.Symlink(base, filepath.Join(path, "away")))
	require.NoError(t, os.Symlink("there", filepath.Join(path, "here")))
	require.NoError(t, os.Mkdir(filepath.Join(path, "there"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
	root := outdir.New(path)
	for _, tt := range []struct{ dir, want string }{
		{"", "out"}, {"shop/a", "shop/a"}, {"./a//b/", "a/b"}, {"a/../b", "b"}, {"...", "..."}, {"here", "here"},
		{"..", ""}, {"../x", ""}, {"a/../../x", ""}, {"/etc", ""}, {"away", ""}, {"away/x", ""}, {"file", ""}, {"file/x", ""},
		{"a\x00b", ""},
	} {
		got, err := root.ResolveOutDir(tt.dir)
		if tt.want == "" {
			require.Equal(t, fault.Invalid, fault.ClassOf(err), "%q: %v", tt.dir, err)
			continue
		}
		require.NoError(t, err, "%q", tt.dir)
		require.Equal(t, tt.want, got)
		info, err := os.Stat(filepath.Join(path, got))
		require.NoError(t, err)
		require.True(t, info.IsDir())
	}
	entries, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Len(t, entries, 1, "something was made outside")
}

func TestWriteOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drafts")
	root := outdir.New(path)
	for _, content := range []string{"first", "second"} {
		require.NoError(t, root.WriteOut("a/b", "page.html", []byte(content)))
		got, err := os.ReadFile(filepath.Join(path, "a", "b", "page.html"))
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
	entries, err := os.ReadDir(filepath.Join(path, "a", "b"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a temporary file stays")
	for range 2 {
		require.NoError(t, root.WriteOut("a/b", "page.html", nil))
		require.NoFileExists(t, filepath.Join(path, "a", "b", "page.html"))
	}
}
