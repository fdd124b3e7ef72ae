package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
)

// List goes through all files once, whatever the size of a page, and leaves out what is not ours.
func TestList(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s := open(t, "file://"+dir)
	var want []string
	for n := range 40 {
		key, _, err := s.PutImage(t.Context(), fmt.Append(nil, n), "png")
		require.NoError(t, err)
		thumb, err := s.PutThumbnail(t.Context(), key, []byte("small"))
		require.NoError(t, err)
		file, _, err := s.PutFile(t.Context(), fmt.Append(nil, n), "html")
		require.NoError(t, err)
		record, err := s.PutRecord(t.Context(), fmt.Append(nil, n))
		require.NoError(t, err)
		require.Regexp(t, `^warc/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{64}\.warc\.gz$`, record)
		want = append(want, key, thumb, file, record)
	}
	var uploads []string
	for range 5 {
		f, err := s.PutUpload(t.Context(), strings.NewReader("a;b"))
		require.NoError(t, err)
		_, err = s.PutCopy(t.Context(), f.Key, strings.NewReader("a,b"))
		require.NoError(t, err)
		for n := range 3 {
			require.NoError(t, s.PutRows(t.Context(), f.Key, n, []byte("a")))
		}
		uploads = append(uploads, f.Key)
	}
	want = append(want, uploads...)
	near := filepath.Join(dir, filepath.Dir(want[0]))
	require.NoError(t, os.WriteFile(filepath.Join(near, "notes.txt"), nil, 0o600))
	for _, most := range []int{1, 2, 1000} {
		var got []string
		for cursor, pages := "", 0; ; pages++ {
			keys, next, err := s.List(t.Context(), cursor, most)
			require.NoError(t, err)
			require.LessOrEqual(t, len(keys), most)
			got = append(got, keys...)
			if cursor = next; next == "" {
				break
			}
			require.Less(t, pages, 2000)
		}
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, want, got)
	}
	for _, cursor := range []string{"x", "-1", "1280", "1 zz"} {
		_, _, err := s.List(t.Context(), cursor, 1)
		require.Equal(t, fault.Invalid, fault.ClassOf(err), cursor)
	}
	for _, key := range uploads {
		require.NoError(t, s.Delete(t.Context(), key))
	}
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "uploads"), func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		require.True(t, d.IsDir(), "%s: an uploaded file goes with what lies beside it", path)
		return nil
	}))
}

// What killed writers leave is found after a day, and deleted by the name that it has.
func TestListFindsPartsOfKilledWriters(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s := open(t, "file://"+dir)
	image, _, err := s.PutImage(t.Context(), []byte("a"), "png")
	require.NoError(t, err)
	var upload string
	_, err = s.PutUpload(t.Context(), readFunc(func([]byte) (int, error) { // the name of a part, as the store makes them
		found, err := filepath.Glob(filepath.Join(dir, "uploads", "*", "*.tmp"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		upload, err = filepath.Rel(dir, found[0])
		require.NoError(t, err)
		return 0, errors.New("cut off")
	}))
	require.ErrorContains(t, err, "cut off")
	old := []string{image + ".1853d0f2c1a2b3c4.tmp", upload, filepath.Join(filepath.Dir(upload), "rows", "7.18.tmp")}
	write := func(name string, age time.Duration) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	for _, name := range old {
		write(name, 25*time.Hour)
	}
	write(image+".1853d0f2c1a2b3c5.tmp", 23*time.Hour)
	write(filepath.Join(filepath.Dir(image), "notes.18.tmp"), 25*time.Hour)
	var got []string
	for cursor := ""; ; {
		keys, next, err := s.List(t.Context(), cursor, 100)
		require.NoError(t, err)
		got = append(got, keys...)
		if cursor = next; next == "" {
			break
		}
	}
	require.ElementsMatch(t, append([]string{image}, old...), got)
	for _, name := range old {
		_, err := s.Open(t.Context(), name)
		require.Error(t, err)
		require.NoError(t, s.Delete(t.Context(), name))
		require.NoFileExists(t, filepath.Join(dir, name))
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// A file is deleted once; other names are not touched.
func TestDelete(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s := open(t, "file://"+dir)
	key, _, err := s.PutImage(t.Context(), []byte("a"), "png")
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, s.Delete(t.Context(), key))
	}
	_, err = s.Open(t.Context(), key)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	require.Error(t, s.Delete(t.Context(), "../"+filepath.Base(dir)))
}

// A file is spared before the store looks whether it is there: only then can a deletion not come in between.
func TestSpareComesFirst(t *testing.T) {
	t.Parallel()

	s := open(t, "file://"+t.TempDir())
	key, _, err := s.PutImage(t.Context(), []byte("a"), "png")
	require.NoError(t, err)
	var spared []string
	s.SpareWith(func(ctx context.Context, key string) error {
		spared = append(spared, key)
		return s.Delete(ctx, key) // a deletion that the spare has waited for
	})
	again, _, err := s.PutImage(t.Context(), []byte("a"), "png")
	require.NoError(t, err)
	require.Equal(t, key, again)
	thumb, err := s.PutThumbnail(t.Context(), key, []byte("small"))
	require.NoError(t, err)
	require.Equal(t, []string{key, thumb}, spared)
	data, err := s.ReadFile(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "a", string(data))

	s.SpareWith(func(context.Context, string) error { return errors.New("the database is away") })
	_, _, err = s.PutImage(t.Context(), []byte("b"), "png")
	require.ErrorContains(t, err, "the database is away")
}
