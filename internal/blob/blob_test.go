package blob_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gblob "gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func open(t *testing.T, location string) *blob.Store {
	t.Helper()
	s, err := blob.Open(t.Context(), location)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
	})
	return s
}

func TestPutImage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by open")
	stores := map[string]*blob.Store{"folder": open(t, dir), "memory": blob.Over(memblob.OpenBucket(nil))}
	data := []byte("not really a photo")
	h := sha256.Sum256(data)
	wantSum := hex.EncodeToString(h[:])
	for name, s := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for range 20 { // the same picture from many at once
				wg.Go(func() {
					key, sum, err := s.PutImage(t.Context(), data, "jpg")
					want := "images/" + wantSum[:2] + "/" + wantSum[2:4] + "/" + wantSum + ".jpg"
					if err != nil || sum != wantSum || key != want {
						t.Errorf("PutImage = %q, %q, %v; want %q", key, sum, err, want)
					}
				})
			}
			wg.Wait()
			key, _, _ := s.PutImage(t.Context(), data, "jpg")
			if thumb, err := s.PutThumbnail(t.Context(), key, []byte("small")); err != nil || thumb != blob.ThumbnailKey(key) {
				t.Fatalf("PutThumbnail(%q) = %q, %v", key, thumb, err)
			}
			for _, tt := range []struct{ key, content, etag string }{
				{key, string(data), `"` + wantSum + `"`},
				{blob.ThumbnailKey(key), "small", `"` + wantSum + `-5"`},
			} {
				o, err := s.Open(t.Context(), tt.key)
				require.NoError(t, err)
				got, err := io.ReadAll(o)
				if err != nil || string(got) != tt.content || o.Size != int64(len(got)) || o.ContentType != "image/jpeg" ||
					o.ETag != tt.etag || o.ModTime.IsZero() {
					t.Errorf("Open(%q) = %+v, %q, %v; want %+v", tt.key, o, got, err, tt)
				}
				assert.NoError(t, o.Close())
			}
		})
	}
	t.Cleanup(func() {
		var files []string
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		assert.Len(t, files, 2, files)
	})
}

// A file that a power failure cut short is written again.
func TestPutImageMendsShortFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	key, _, err := s.PutImage(t.Context(), []byte("whole"), "png")
	require.NoError(t, err)
	file := filepath.Join(dir, filepath.FromSlash(key))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	if _, _, err := s.PutImage(t.Context(), []byte("whole"), "png"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); string(got) != "whole" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	key, _, err := s.PutImage(t.Context(), []byte("0123456789"), "webp")
	require.NoError(t, err)
	serve := func(header, value string) *httptest.ResponseRecorder {
		o, err := s.Open(t.Context(), key)
		require.NoError(t, err)
		defer func() { _ = o.Close() }()
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set(header, value)
		w.Header().Set("ETag", o.ETag)
		w.Header().Set("Content-Type", o.ContentType)
		http.ServeContent(w, r, "", o.ModTime, o)
		return w
	}
	w := serve("X", "")
	if w.Code != 200 || w.Body.String() != "0123456789" || w.Header().Get("Content-Type") != "image/webp" {
		t.Errorf("served %d %q %v", w.Code, w.Body, w.Header())
	}
	if w := serve("Range", "bytes=2-4"); w.Code != 206 || w.Body.String() != "234" {
		t.Errorf("a range: served %d %q", w.Code, w.Body)
	}
	if w := serve("If-None-Match", serve("X", "").Header().Get("ETag")); w.Code != 304 {
		t.Errorf("known to the browser: served %d", w.Code)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.jpg"), []byte("secret"), 0o600))
	sum := strings.Repeat("ab", 32)
	for _, tt := range []struct {
		key   string
		class fault.Class
	}{
		{"images/ab/ab/" + sum + ".jpg", fault.Gone},
		{"thumbs/ab/ab/" + sum + ".jpg", fault.Gone},
		{"thumbs/ab/ab/" + sum + ".png", fault.Invalid},
		{"images/ab/cd/" + sum + ".jpg", fault.Invalid},
		{"images/ab/ab/" + sum + ".exe", fault.Invalid},
		{"images/ab/ab/" + sum + ".jpg\n", fault.Invalid},
		{"images/ab/ab/" + sum[2:] + ".jpg", fault.Invalid},
		{"images/AB/AB/" + strings.ToUpper(sum) + ".jpg", fault.Invalid},
		{"/images/ab/ab/" + sum + ".jpg", fault.Invalid},
		{"images/../../secret.jpg", fault.Invalid},
		{"../secret.jpg", fault.Invalid},
		{"..%2fsecret.jpg", fault.Invalid},
		{`..\secret.jpg`, fault.Invalid},
		{"images", fault.Invalid},
		{"", fault.Invalid},
		{"\x00", fault.Invalid},
	} {
		o, err := s.Open(t.Context(), tt.key)
		if class, _ := fault.Of(err); o != nil || class != tt.class {
			t.Errorf("Open(%q) = %v, %v; want %s", tt.key, o, err, tt.class)
		}
	}
	for _, ext := range []string{"", "exe", "../jpg", "JPG", "jpg/x"} {
		if key, sum, err := s.PutImage(t.Context(), []byte("x"), ext); key != "" || sum != "" || !invalid(err) {
			t.Errorf("PutImage(%q) = %q, %q, %v; want invalid", ext, key, sum, err)
		}
	}
	for _, key := range []string{"", "../x", "thumbs/ab/ab/" + sum + ".jpg"} {
		if _, err := s.PutThumbnail(t.Context(), key, []byte("x")); !invalid(err) {
			t.Errorf("PutThumbnail(%q) = %v; want invalid", key, err)
		}
	}
}

func invalid(err error) bool {
	class, _ := fault.Of(err)
	return class == fault.Invalid
}

// A folder in whose place an empty one is, as where it is not mounted, is told from one in which nothing is stored yet.
func TestMounted(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	require.ErrorContains(t, s.Mounted(), "may not be mounted")
	require.NoError(t, s.Mark())
	require.NoError(t, s.Mark())
	require.NoError(t, s.Mounted())
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.Error(t, s.Mounted())
	require.NoError(t, os.Mkdir(dir, 0o750))
	require.Error(t, s.Mounted())
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".away", dir))
	require.NoError(t, s.Mounted())
	old := open(t, t.TempDir())
	_, _, err := old.PutImage(t.Context(), []byte("x"), "gif")
	require.NoError(t, err)
	require.NoError(t, old.Mounted(), "one from before marks has files")
}

// Nothing is written into the folder below while that of the store is not mounted, where it would be lost. A folder that
// never had a mark is written to.
func TestNothingIsWrittenBelowAMount(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	writes := map[string]func() error{
		"picture":   func() error { _, _, err := s.PutImage(t.Context(), []byte("x"), "gif"); return err },
		"file":      func() error { _, _, err := s.PutFile(t.Context(), []byte("x"), "json"); return err },
		"record":    func() error { _, err := s.PutRecord(t.Context(), []byte("x")); return err },
		"upload":    func() error { _, err := s.PutUpload(t.Context(), strings.NewReader("x")); return err },
		"thumbnail": func() error { _, err := s.PutThumbnail(t.Context(), thumbnailOf, []byte("x")); return err },
		"rows":      func() error { return s.PutRows(t.Context(), rowsOf, 1, []byte("x")) },
		"copy":      func() error { _, err := s.PutCopy(t.Context(), rowsOf, strings.NewReader("x")); return err },
	}
	all := func(when string) {
		t.Helper()
		for what, write := range writes {
			require.NoError(t, write(), "%s: %s", when, what)
		}
	}
	all("without a mark")
	require.NoError(t, os.RemoveAll(dir))
	all("without a mark, and without a folder")
	require.NoError(t, open(t, dir).Mark()) // as another process
	all("with a mark")
	require.NoError(t, os.Rename(dir, dir+".away"))
	for _, below := range []string{"no folder", "an empty folder"} {
		for what, write := range writes {
			err := write()
			require.ErrorContains(t, err, "may not be mounted", "%s: %s", below, what)
			require.Equal(t, fault.Transient, fault.ClassOf(err), what)
		}
		if below == "no folder" {
			require.NoDirExists(t, dir)
			require.NoError(t, os.Mkdir(dir, 0o750))
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	_, _, err = open(t, dir).PutImage(t.Context(), []byte("x"), "gif")
	require.NoError(t, err, "by a process that was started meanwhile")
	_, _, err = s.PutImage(t.Context(), []byte("y"), "gif")
	require.ErrorContains(t, err, "may not be mounted", "by one that knows better")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Rename(dir+".away", dir))
	all("mounted again")
}

const (
	thumbnailOf = "images/ab/cd/abcd000000000000000000000000000000000000000000000000000000000000.gif"
	rowsOf      = "uploads/0123456789abcdef0123456789abcdef/file"
)

func TestOpenLocations(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ location, file string }{
		{"plain", "plain"},
		{"./data/blobs/", "data/blobs"},
		{"file://./relative", "relative"},
	} {
		s := open(t, tt.location)
		if _, _, err := s.PutImage(t.Context(), []byte("x"), "gif"); err != nil {
			t.Errorf("PutImage in %q: %v", tt.location, err)
		}
		if _, err := os.Stat(filepath.Join(tt.file, "images")); err != nil {
			t.Errorf("Open(%q) did not use %s: %v", tt.location, tt.file, err)
		}
	}
	for _, location := range []string{"", "file://host/path", "file://", "nothing://bucket", "s3://%zz"} {
		if s, err := blob.Open(t.Context(), location); err == nil {
			t.Errorf("Open(%q) = %v", location, s)
		}
	}
	// The cloud drivers are linked in, and open without a connection.
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	for _, location := range []string{
		"s3://bucket?region=ca-central-1&prefix=conveyor/", "gs://bucket?anonymous=true", "azblob://container",
	} {
		open(t, location)
	}
}

// A bucket that is gone or forbidden is told from one that is there, also once files were read from it.
func TestReachable(t *testing.T) {
	t.Parallel()
	const key = "uploads/0123456789abcdef0123456789abcdef/file"
	for name, answer := range map[string]struct {
		status int
		body   string
		says   string // "" when it is reachable
	}{
		"there":    {200, `<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>`, ""},
		"gone":     {404, `<Error><Code>NoSuchBucket</Code></Error>`, "there is no such bucket"},
		"not ours": {403, `<Error><Code>AccessDenied</Code></Error>`, "cannot be listed"},
		"expired":  {400, `<Error><Code>ExpiredToken</Code></Error>`, "cannot be listed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looks atomic.Int32
			cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("list-type") {
					looks.Add(1)
					w.WriteHeader(answer.status)
					_, _ = io.WriteString(w, answer.body)
					return
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`)
			}))
			t.Cleanup(cloud.Close)
			s := open(t, "s3://bucket?region=ca-central-1&anonymous=true&use_path_style=true&endpoint="+cloud.URL)
			for range 3 { // one look
				err := s.Reachable(t.Context())
				if answer.says == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, answer.says)
				require.Equal(t, fault.Transient, fault.ClassOf(err))
			}
			require.Equal(t, int32(1), looks.Load())
			_, err := s.OpenRange(t.Context(), key, 0, -1)
			class, _ := fault.Of(err)
			require.Equal(t, answer.says == "", class == fault.Gone, "a file of a bucket that is gone may come back: %v", err)
		})
	}
	folder := open(t, filepath.Join(t.TempDir(), "blobs"))
	require.ErrorContains(t, folder.Reachable(t.Context()), "may not be mounted")
}

// A folder on a mount that hangs is told as away, by everything that asks, and one goroutine at most waits for it. A FIFO
// that nobody writes to stands for the mount: to open it blocks in the kernel.
func TestFolderHangs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hangs")
	s := open(t, dir)
	require.NoError(t, os.Remove(dir))
	require.NoError(t, syscall.Mkfifo(dir, 0o600))
	answers := func() {
		w, err := os.OpenFile(dir, os.O_RDWR, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = w.Close() })
	}
	asks := []func() error{
		s.Mounted, func() error { return s.Reachable(t.Context()) },
		func() error { _, err := s.Free(t.Context()); return err },
	}
	errs := make(chan error)
	for range 20 {
		for _, ask := range asks {
			go func() { errs <- ask() }()
		}
	}
	for range 20 * len(asks) {
		select {
		case err := <-errs:
			require.ErrorContains(t, err, "does not answer")
		case <-time.After(servicetest.Patience()):
			answers()
			require.Fail(t, "it is waited for")
		}
	}
	require.Eventually(t, func() bool {
		stacks := make([]byte, 4<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "blob.empty(") == 1 // tests beside this one look, too
	}, servicetest.Patience(), time.Millisecond)
	answers()
	for _, ask := range asks[:2] {
		require.ErrorContains(t, ask(), "may not be mounted", "it answers again")
	}
}

// full is a disk that has room for a file's name, not for its content.
type full struct {
	driver.Bucket
	published *bool
}

func (f full) NewTypedWriter(ctx context.Context, _, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	return fullWriter{ctx: ctx, published: f.published}, nil
}

func (full) Attributes(context.Context, string) (*driver.Attributes, error) {
	return nil, fs.ErrNotExist
}

func (full) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, fs.ErrNotExist) {
		return gcerrors.NotFound
	}
	return gcerrors.Unknown
}

func (full) Close() error { return nil }

type fullWriter struct {
	ctx       context.Context // how a driver learns of an abort
	published *bool
}

func (fullWriter) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
}

func (w fullWriter) Close() error {
	*w.published = w.ctx.Err() == nil
	return w.ctx.Err()
}

// A full disk may get room again; until then half a file must not be taken for a whole one.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	published := true
	_, _, err := blob.Over(gblob.NewBucket(full{published: &published})).PutImage(t.Context(), []byte("x"), "jpg")
	if class, _ := fault.Of(err); class != fault.Transient || !strings.Contains(fmt.Sprint(err), "the disk is full") {
		t.Errorf("PutImage on a full disk = %v (%s); want transient", err, class)
	}
	require.False(t, published, "half a file was published")
}
