// Package blob keeps files by the hash of their content: in a folder, or in S3, Google Cloud Storage or Azure by URL.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://container
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob" // gs://bucket
	_ "gocloud.dev/blob/s3blob"  // s3://bucket?region=…
	"gocloud.dev/gcerrors"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Store is safe for concurrent use, by several processes too.
type Store struct {
	bucket *blob.Bucket
	dir    string // of a folder; "" = a cloud's
	spare  func(ctx context.Context, key string) error
	marked atomic.Bool // the folder's mark was seen

	reserve int64                       // bytes that stay free in the folder
	beside  func(context.Context) int64 // bytes that are free elsewhere; nil = that does not count

	mu     sync.Mutex
	looked time.Time // at the bucket
	found  error     // then

	kept func(*os.File) // called before the disk keeps a file or folder, in tests

	seeing sync.Mutex
	seen   *sight // of the folder, under way; nil = none is
}

// Open opens a store by URL: a folder's path or file:// URL (it is created), s3://, gs:// or azblob:// with the
// parameters of gocloud.dev/blob, such as ?region= and ?prefix=. Reachable says whether a cloud bucket exists.
func Open(ctx context.Context, location string) (*Store, error) {
	dir, isDir, err := folder(location)
	var bucket *blob.Bucket
	switch {
	case err != nil:
		return nil, err
	case isDir:
		// No sidecar files, for the key says all; temporary files next to the real ones, for a rename must not cross disks.
		bucket, err = fileblob.OpenBucket(dir, &fileblob.Options{
			CreateDir: true, DirFileMode: 0o750, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
		})
	default:
		bucket, err = blob.OpenBucket(ctx, location)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	s := &Store{bucket: bucket, dir: dir}
	s.marked.Store(s.hasMark())
	return s, nil
}

// mark is a file of a folder that makes it known also while nothing is stored in it. No key has its form.
const mark = ".conveyor"

// Mark makes the folder of a store known, so that Mounted tells it from an empty one in its place. It may be repeated;
// a bucket needs none.
func (s *Store) Mark() error {
	if s.dir == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(s.dir, mark), os.O_CREATE|os.O_WRONLY, 0o640)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("mark the folder of files: %w", err)
	}
	s.marked.Store(true)
	return nil
}

// Mounted returns nil while the store is a bucket, or a folder with anything in it. One that was marked has its mark.
func (s *Store) Mounted() error { return s.mounted(context.Background()) }

// A bucket is looked into as often at most. The answer of a bucket or a folder is waited for as long.
const (
	lookEvery  = 10 * time.Second
	lookWithin = 2 * time.Second
)

// Reachable returns nil while a folder is Mounted, or a bucket is there and lets us list it, as of ten seconds ago at
// most.
func (s *Store) Reachable(ctx context.Context) error {
	if s.dir != "" {
		return s.mounted(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked.IsZero() || time.Since(s.looked) >= lookEvery {
		s.found = s.look(ctx)
		s.looked = time.Now()
	}
	return s.found
}

// look is Reachable as of now. Others wait for its answer, so that it does not end with the request of one.
func (s *Store) look(ctx context.Context) error {
	if s.dir != "" {
		return s.mounted(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	switch there, err := s.bucket.IsAccessible(ctx); {
	case err != nil:
		return fault.Newf(fault.Transient, "the bucket of files cannot be listed: %w", err)
	case !there:
		return fault.Newf(fault.Transient, "there is no such bucket of files")
	}
	return nil
}

// writable returns nil where a file may be written, and is removed if it is not there: not in another folder in whose
// place the marked one was, for that hides what was written, and has what was removed, once it is mounted again. A
// folder of which this process never saw a mark is written to.
func (s *Store) writable() error {
	switch {
	case s.hasMark():
		s.marked.Store(true)
		return nil
	case s.marked.Load():
		return fault.Newf(fault.Transient, "%s has lost its mark: it may not be mounted, or conveyor bootstrap was not run "+
			"where it is", s.dir)
	}
	return nil
}

func (s *Store) hasMark() bool {
	if s.dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(s.dir, mark))
	return err == nil
}

// folder returns the path that a location without a scheme, or with file://, names.
func folder(location string) (dir string, ok bool, err error) {
	if !strings.Contains(location, "://") {
		if location == "" {
			return "", false, fault.Newf(fault.Invalid, "open blob store: no location given")
		}
		return filepath.Clean(location), true, nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", false, fault.Newf(fault.Invalid, "open blob store: location is not a URL")
	}
	if u.Scheme != "file" {
		return "", false, nil
	}
	if u.Host == "." { // file://./data is relative
		return filepath.Clean("." + u.Path), true, nil
	}
	if u.Path == "" || u.Host != "" && u.Host != "localhost" {
		return "", false, fault.Newf(fault.Invalid, "open blob store: %q is not file:///path or file://./path", location)
	}
	return filepath.Clean(u.Path), true, nil
}

// SpareWith has f called before a file is looked for and written, so that a deletion of unused files leaves it alone,
// or is over. Its error is that of the Put. Call it before the store is used.
func (s *Store) SpareWith(f func(ctx context.Context, key string) error) { s.spare = f }

// Close ends the use of the store.
func (s *Store) Close() error {
	return fault.Wrap(s.bucket.Close(), "close blob store")
}

// keys is the form of every key that this package makes; it opens no other. Two folder levels keep folders small.
var keys = regexp.MustCompile(`^(images|thumbs|files|warc)/([0-9a-f]{2})/([0-9a-f]{2})/([0-9a-f]{64})\.([a-z.]{3,7})$`)

// The extensions that a folder may hold, with their content types.
var (
	pictures = map[string]string{"jpg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}
	files    = map[string]string{"html": "text/html; charset=utf-8", "png": "image/png", "json": "application/json"}
	folders  = map[string]map[string]string{
		"images": pictures, "thumbs": {"jpg": "image/jpeg"}, "files": files, "warc": {"warc.gz": "application/warc"},
	}
)

// PutImage stores a picture under its SHA-256, which it returns in lower-case hex, and returns the key, of the form
// images/ab/cd/abcd….jpg. ext is jpg, png, gif or webp; anything else is fault.Invalid. The same bytes twice are stored
// once. A reader sees all of a file or none. A full disk is fault.Transient, and one that has less than the reserve of
// KeepFree fault.Limited.
func (s *Store) PutImage(ctx context.Context, data []byte, ext string) (key, sum string, err error) {
	if pictures[ext] == "" {
		return "", "", fault.Newf(fault.Invalid, "store image: bad extension %.20q", ext)
	}
	return s.putAs(ctx, "images", data, ext)
}

// PutFile stores a file of a draft as PutImage stores a picture, but for the reserve; ext is html, png or json. The key
// is of the form files/ab/cd/abcd….html.
func (s *Store) PutFile(ctx context.Context, data []byte, ext string) (key, sum string, err error) {
	if files[ext] == "" {
		return "", "", fault.Newf(fault.Invalid, "store file: bad extension %.20q", ext)
	}
	return s.putAs(ctx, "files", data, ext)
}

// PutRecord stores a WARC record of a crawl, compressed, as PutImage stores a picture. The key is of the form
// warc/ab/cd/abcd….warc.gz.
func (s *Store) PutRecord(ctx context.Context, data []byte) (key string, err error) {
	key, _, err = s.putAs(ctx, "warc", data, "warc.gz")
	return key, err
}

func (s *Store) putAs(ctx context.Context, folder string, data []byte, ext string) (key, sum string, err error) {
	h := sha256.Sum256(data)
	sum = hex.EncodeToString(h[:])
	key = fmt.Sprintf("%s/%s/%s/%s.%s", folder, sum[:2], sum[2:4], sum, ext)
	return key, sum, s.put(ctx, key, data)
}

// ReadFile returns a whole file by its key, with the faults of Open.
func (s *Store) ReadFile(ctx context.Context, key string) ([]byte, error) {
	f, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, classify("read", key, err)
	}
	return data, nil
}

// PutThumbnail stores the JPEG thumbnail of the picture at key under ThumbnailKey(key), which it returns. Bytes of
// another length replace what is there. A key that is not a picture's is fault.Invalid.
func (s *Store) PutThumbnail(ctx context.Context, key string, data []byte) (thumbnailKey string, err error) {
	thumb := ThumbnailKey(key)
	if thumb == "" {
		return "", fault.Newf(fault.Invalid, "store thumbnail: bad key %.120q", key)
	}
	return thumb, s.put(ctx, thumb, data)
}

// ThumbnailKey is where the thumbnail of a picture lies: thumbs/ab/cd/abcd….jpg for images/ab/cd/abcd….png. It is ""
// for anything but the key of a picture.
func ThumbnailKey(key string) string {
	sum, ext, _, err := parse(key)
	if err != nil || !strings.HasPrefix(key, "images/") {
		return ""
	}
	return "thumbs/" + strings.TrimSuffix(strings.TrimPrefix(key, "images/"), sum+"."+ext) + sum + ".jpg"
}

// put writes unless the same is there. It compares lengths too: a machine that lost its power may have left a short
// file.
func (s *Store) put(ctx context.Context, key string, data []byte) error {
	_, _, contentType, err := parse(key)
	if err != nil {
		return err
	}
	if s.spare != nil {
		if err := s.spare(ctx, key); err != nil {
			return err
		}
	}
	attrs, err := s.bucket.Attributes(ctx, key)
	if err == nil && attrs.Size == int64(len(data)) {
		return nil
	}
	if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return classify("look for", key, err)
	}
	if !strings.HasPrefix(key, "files/") {
		if err := s.leaves(ctx, int64(len(data)), s.reserve); err != nil {
			return err
		}
	}
	if err := s.write(ctx, key, contentType, data); err != nil {
		return classify("write", key, err)
	}
	return nil
}

// write is all or nothing. Bucket.WriteAll is not: when a write fails half way, its Close still publishes the half.
func (s *Store) write(ctx context.Context, key, contentType string, data []byte) error {
	if err := s.writable(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: contentType, CacheControl: "public, max-age=31536000, immutable",
	})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		cancel() // before Close: that makes it an abort
		_ = w.Close()
		return err
	}
	return w.Close()
}

// Object is a file to be served. It is an io.ReadSeekCloser, as http.ServeContent wants; Close it.
type Object struct {
	io.ReadSeekCloser
	ContentType string // by the key, whatever was stored
	Size        int64  // bytes
	ETag        string // strong, quoted, as the HTTP header has it
	ModTime     time.Time
}

// Open opens a file by its key. A key that no Put of ours made is fault.Invalid, one that is not
// there fault.Gone.
func (s *Store) Open(ctx context.Context, key string) (*Object, error) {
	sum, _, contentType, err := parse(key)
	if err != nil {
		return nil, err
	}
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, classify("open", key, err)
	}
	etag := `"` + sum + `"`
	if strings.HasPrefix(key, "thumbs/") { // named after its picture, so its own length tells two versions apart
		etag = fmt.Sprintf(`"%s-%d"`, sum, r.Size())
	}
	return &Object{
		ReadSeekCloser: r, ContentType: contentType, Size: r.Size(), ETag: etag, ModTime: r.ModTime().UTC(),
	}, nil
}

// Delete removes a file by its key, or what List has found of one; an uploaded file with all that lies beside it. One
// that is not there is removed already.
func (s *Store) Delete(ctx context.Context, key string) error {
	if isUpload(key) {
		return s.DeleteUpload(ctx, key)
	}
	if _, _, _, err := parse(key); err != nil && !isPart(key) {
		return err
	}
	return s.remove(ctx, key)
}

// remove deletes a key. One that is not there is removed already, but not while the store is not there.
func (s *Store) remove(ctx context.Context, key string) error {
	err := s.bucket.Delete(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return s.writable()
	case err != nil:
		return classify("delete", key, err)
	}
	return nil
}

// shards are the folders that List goes through, one after the other: a page of a folder costs what is in it.
const shards = 256

var listed = []string{"files/%02x/", "images/%02x/", "thumbs/%02x/", "warc/%02x/", "uploads/%02x"}

// List returns the keys of up to about most files after cursor ("" = the beginning), and the cursor to go on from: ""
// after the last. A folder that is empty is a page without keys. Of an uploaded file and what lies beside it, it is the
// file. What a process that was killed has left of a file is there too, after a day, under a name that only Delete
// takes. Files that no Put of ours made are left out.
func (s *Store) List(ctx context.Context, cursor string, most int) (keys []string, next string, err error) {
	var shard int
	token := blob.FirstPageToken
	if cursor != "" {
		number, text, _ := strings.Cut(cursor, " ")
		shard, err = strconv.Atoi(number)
		if err == nil && text != "" {
			token, err = hex.DecodeString(text)
		}
	}
	if err != nil || shard < 0 || shard >= shards*len(listed) {
		return nil, "", fault.Newf(fault.Invalid, "list files: bad cursor %.40q", cursor)
	}
	prefix := fmt.Sprintf(listed[shard/shards], shard%shards)
	page, token, err := s.bucket.ListPage(ctx, token, most, &blob.ListOptions{Prefix: prefix})
	if err != nil {
		return nil, "", classify("list", prefix, err)
	}
	for _, o := range page {
		if _, _, _, err := parse(o.Key); err == nil || isUpload(o.Key) || isPart(o.Key) && time.Since(o.ModTime) > partAge {
			keys = append(keys, o.Key)
		}
	}
	switch {
	case len(token) > 0:
		next = fmt.Sprintf("%d %x", shard, token)
	case shard+1 < shards*len(listed):
		next = fmt.Sprintf("%d", shard+1)
	}
	return keys, next, nil
}

// parts are the names under which a folder holds what is being written: the key, and when it was begun.
var parts = regexp.MustCompile(`^(.+)\.[0-9a-f]{1,16}\.tmp$`)

// partAge is more than any file takes to be written.
const partAge = 24 * time.Hour

// isPart says that a name is that of a file of ours which is being written, or was when its process was killed.
func isPart(name string) bool {
	m := parts.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	_, _, _, err := parse(m[1])
	return err == nil || uploadKeys.MatchString(m[1])
}

// parse takes a key of ours apart.
func parse(key string) (sum, ext, contentType string, err error) {
	m := keys.FindStringSubmatch(key)
	if m == nil || m[2] != m[4][:2] || m[3] != m[4][2:4] || folders[m[1]][m[5]] == "" {
		return "", "", "", fault.Newf(fault.Invalid, "read blob key: %.120q is none of ours", key)
	}
	return m[4], m[5], folders[m[1]][m[5]], nil
}

// classify turns an error of the store into a fault. An unknown key is fault.Gone; everything else may pass.
func classify(verb, key string, err error) error {
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fault.Newf(fault.Gone, "%s %s: it is not there: %w", verb, key, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Newf(fault.Transient, "%s %s: the disk is full: %w", verb, key, err)
	}
	return fault.Newf(fault.Transient, "%s %s: %w", verb, key, err)
}
