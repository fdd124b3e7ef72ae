package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
)

func TestUploads(t *testing.T) {
	t.Parallel()

	for name, s := range map[string]*blob.Store{
		"folder": open(t, filepath.Join(t.TempDir(), "blobs")), "memory": blob.Over(memblob.OpenBucket(nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			ctx, data := t.Context(), bytes.Repeat([]byte("0123456789abcdef"), 400_000) // 6.1 MiB
			f, err := s.PutUpload(ctx, bytes.NewReader(data))
			require.NoError(t, err)
			require.Regexp(t, `^uploads/[0-9a-f]{32}/file$`, f.Key)
			sum := sha256.Sum256(data)
			require.Equal(t, sum[:], f.SHA256)
			require.Equal(t, int64(len(data)), f.Bytes)
			other, err := s.PutUpload(ctx, bytes.NewReader(data))
			require.NoError(t, err)
			require.NotEqual(t, f.Key, other.Key, "the same bytes are two files, for each goes with its upload")

			r, err := s.OpenRange(ctx, f.Key, 5, 20)
			require.NoError(t, err)
			require.NoError(t, iotest.TestReader(r, data[5:25]))
			require.NoError(t, r.Close())
			rest, err := s.ReadRange(ctx, f.Key, int64(len(data)-3), -1)
			require.NoError(t, err)
			require.Equal(t, "def", string(rest))
			at := s.ReaderAt(ctx, f.Key, f.Bytes)
			section := io.NewSectionReader(at, 1<<20-10, 5<<20)
			got, err := io.ReadAll(section)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data[1<<20-10:6<<20-10], got))
			n, err := at.ReadAt(make([]byte, 10), f.Bytes-4)
			require.Equal(t, 4, n)
			require.ErrorIs(t, err, io.EOF)
			_, err = s.ReaderAt(ctx, f.Key, f.Bytes+1<<20).ReadAt(make([]byte, 10), f.Bytes)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the file is shorter than its row says")

			copied, err := s.PutCopy(ctx, f.Key, strings.NewReader("decoded"))
			require.NoError(t, err)
			for _, n := range []int{0, 7} {
				require.NoError(t, s.PutRows(ctx, f.Key, n, []byte("first")))
				require.NoError(t, s.PutRows(ctx, f.Key, n, []byte("rows")))
			}
			rows, err := s.Rows(ctx, f.Key, 7)
			require.NoError(t, err)
			require.Equal(t, "rows", string(rows))
			require.NoError(t, s.ForgetRows(ctx, f.Key, 7, 8))
			_, err = s.Rows(ctx, f.Key, 7)
			requireClass(t, fault.Gone, err)
			keys, err := s.ListUpload(ctx, f.Key)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{f.Key, copied, strings.TrimSuffix(f.Key, "file") + "rows/0"}, keys)
			require.NoError(t, s.ForgetRows(ctx, f.Key))
			keys, err = s.ListUpload(ctx, f.Key)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{f.Key, copied}, keys)
			for range 2 {
				require.NoError(t, s.DeleteUpload(ctx, f.Key))
			}
			_, err = s.ReadRange(ctx, f.Key, 0, -1)
			requireClass(t, fault.Gone, err)
			_, err = s.ReaderAt(ctx, f.Key, f.Bytes).ReadAt(make([]byte, 1), 0)
			requireClass(t, fault.Gone, err)
			_, err = s.ReadRange(ctx, other.Key, 0, 1)
			require.NoError(t, err)

			// A file whose sender is cut off is none, and the sender's error is told from the store's.
			cut := errors.New("connection reset")
			f, err = s.PutUpload(ctx, io.MultiReader(bytes.NewReader(data), iotest.ErrReader(cut)))
			require.ErrorIs(t, err, cut)
			keys, err = s.ListUpload(ctx, f.Key)
			require.NoError(t, err)
			require.Empty(t, keys)

			for _, key := range []string{"", "uploads/x/file", "../secret", "images/ab/cd/x.jpg", f.Key + "/..", "uploads"} {
				_, err := s.ReadRange(ctx, key, 0, 1)
				requireClass(t, fault.Invalid, err)
				requireClass(t, fault.Invalid, s.DeleteUpload(ctx, key))
				requireClass(t, fault.Invalid, s.PutRows(ctx, key, 1, nil))
				_, err = s.PutCopy(ctx, key, strings.NewReader(""))
				requireClass(t, fault.Invalid, err)
			}
			_, err = s.Open(ctx, other.Key)
			requireClass(t, fault.Invalid, err)
		})
	}
}

func requireClass(t *testing.T, want fault.Class, err error) {
	t.Helper()

	require.Equal(t, want, fault.ClassOf(err), err)
}

// What is removed while the folder is not mounted would be there again once it is.
func TestNothingIsRemovedBelowAMount(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	require.NoError(t, s.Mark())
	f, err := s.PutUpload(t.Context(), strings.NewReader("a;b"))
	require.NoError(t, err)
	require.NoError(t, s.PutRows(t.Context(), f.Key, 1, []byte("x")))
	picture, _, err := s.PutImage(t.Context(), []byte("x"), "gif")
	require.NoError(t, err)
	removals := []func() error{
		func() error { return s.ForgetRows(t.Context(), f.Key, 1) },
		func() error { return s.ForgetRows(t.Context(), f.Key) },
		func() error { return s.ForgetCopy(t.Context(), f.Key) },
		func() error { return s.Delete(t.Context(), picture) },
		func() error { return s.DeleteUpload(t.Context(), f.Key) },
	}
	require.NoError(t, os.Rename(dir, dir+".away"))
	for range 2 { // it is not there, and is another one
		for _, remove := range removals {
			requireClass(t, fault.Transient, remove())
		}
		require.NoError(t, os.MkdirAll(dir, 0o750))
	}
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".away", dir))
	for range 2 {
		for _, remove := range removals {
			require.NoError(t, remove())
		}
	}
	left, err := s.ListUpload(t.Context(), f.Key)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A folder that is not mounted is empty, or not there: what was uploaded is not gone. It is there again later.
func TestUploadsNotMounted(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	f, err := s.PutUpload(t.Context(), strings.NewReader("a;b"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(dir, dir+".away"))
	_, err = s.ReadRange(t.Context(), f.Key, 0, 3)
	requireClass(t, fault.Transient, err)
	require.NoError(t, os.Mkdir(dir, 0o750))
	_, err = s.ReadRange(t.Context(), f.Key, 0, 3)
	requireClass(t, fault.Transient, err)
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".away", dir))
	got, err := s.ReadRange(t.Context(), f.Key, 0, 3)
	require.NoError(t, err)
	require.Equal(t, "a;b", string(got))
	require.NoError(t, s.DeleteUpload(t.Context(), f.Key))
	_, err = s.ReadRange(t.Context(), f.Key, 0, 3)
	requireClass(t, fault.Gone, err)
}

// While the reserve is not free, nothing is stored that can wait, and what is there stays.
func TestReserveIsLeft(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s := open(t, dir)
	f, err := s.PutUpload(t.Context(), strings.NewReader("x"))
	require.NoError(t, err)
	picture, _, err := s.PutImage(t.Context(), []byte("there"), "png")
	require.NoError(t, err)
	free, err := s.Free(t.Context())
	require.NoError(t, err)
	writes := map[string]func(text string) error{
		"copy":      func(text string) error { _, err := s.PutCopy(t.Context(), f.Key, strings.NewReader(text)); return err },
		"picture":   func(text string) error { _, _, err := s.PutImage(t.Context(), []byte(text), "png"); return err },
		"thumbnail": func(text string) error { _, err := s.PutThumbnail(t.Context(), picture, []byte(text)); return err },
		"record":    func(text string) error { _, err := s.PutRecord(t.Context(), []byte(text)); return err },
		"rows":      func(text string) error { return s.PutRows(t.Context(), f.Key, 1, []byte(text)) },
		"draft":     func(text string) error { _, _, err := s.PutFile(t.Context(), []byte(text), "json"); return err },
	}
	for i, tt := range []struct {
		reserve int64
		stored  []string
	}{
		{0, []string{"copy", "picture", "thumbnail", "record", "rows", "draft"}},
		{free / 2, []string{"copy", "picture", "thumbnail", "record", "rows", "draft"}},
		{free + free/2, []string{"rows", "draft"}}, // rows of imports that run have half of it
		{math.MaxInt64, []string{"draft"}},
	} {
		s.KeepFree(tt.reserve)
		for what, write := range writes {
			err := write(what + strings.Repeat("!", i)) // of another length each time: what is there already needs no room
			if slices.Contains(tt.stored, what) {
				require.NoError(t, err, "%s beside %d", what, tt.reserve)
				continue
			}
			class, after := fault.Of(err)
			require.Equal(t, fault.Limited, class, "%s beside %d", what, tt.reserve)
			require.GreaterOrEqual(t, after, time.Second, what)
			require.ErrorContains(t, err, "CONVEYOR_UPLOAD_RESERVE; it waits for room", what)
		}
	}
	requireClass(t, fault.Limited, s.Room(t.Context()))
	_, _, err = s.PutImage(t.Context(), []byte("there"), "png")
	require.NoError(t, err, "it takes no room")
	there, err := os.ReadDir(filepath.Dir(filepath.Join(dir, f.Key)))
	require.NoError(t, err)
	require.Len(t, there, 3, "the file, its rows and the copy before, and no part of another")
	s.KeepFree(0)
	require.NoError(t, s.Room(t.Context()))

	// So it is where less is free elsewhere, of a bucket too, which has no end.
	elsewhere := int64(100)
	s.Beside(func(context.Context) int64 { return elsewhere })
	s.KeepFree(101)
	requireClass(t, fault.Limited, s.Room(t.Context()))
	left, err := s.Free(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 100, left)
	elsewhere = math.MaxInt64
	require.NoError(t, s.Room(t.Context()))
}

// What is uploaded is not lost with the power: before it is answered, the disk has the file, with all that is in it, its
// name, and the names of its folders, which are new.
func TestUploadsAreSynced(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	for _, put := range []func() (string, error){
		func() (string, error) {
			f, err := s.PutUpload(t.Context(), strings.NewReader("uploaded"))
			return f.Key, err
		},
		func() (string, error) {
			return s.PutCopy(t.Context(), "uploads/00000000000000000000000000000000/file", strings.NewReader("uploaded"))
		},
	} {
		var kept []string
		s.Kept(func(f *os.File) {
			is, err := f.Stat()
			require.NoError(t, err)
			name, err := filepath.Rel(dir, f.Name())
			require.NoError(t, err)
			if !is.IsDir() {
				require.EqualValues(t, len("uploaded"), is.Size())
				name = "file"
			}
			kept = append(kept, filepath.ToSlash(name))
		})
		key, err := put()
		require.NoError(t, err)
		require.Equal(t, []string{"file", path.Dir(key), "uploads", "."}, kept)
	}
}
