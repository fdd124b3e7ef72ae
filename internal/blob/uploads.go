package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/mtlrent/conveyor/domain/fault"
)

// What belongs to an uploaded file of contacts lies in a folder of its own, under a name that says nothing: the file,
// its decoded copy, and the rows of its chunks while they wait to be stored.
var uploadKeys = regexp.MustCompile(`^(uploads/[0-9a-f]{32}/)(file|copy|rows/[0-9]{1,9})$`)

// An UploadFile is a file that PutUpload has stored.
type UploadFile struct {
	Key    string // of the form uploads/0123…/file
	Bytes  int64
	SHA256 []byte
}

// PutUpload stores a file under a new key while it is read from src; the disk has it when it returns. When src or the
// store fails, nothing is stored, and the error of src is in the chain of what is returned.
func (s *Store) PutUpload(ctx context.Context, src io.Reader) (UploadFile, error) {
	var name [16]byte
	_, _ = rand.Read(name[:]) // it never fails
	f := UploadFile{Key: "uploads/" + hex.EncodeToString(name[:]) + "/file"}
	sum := sha256.New()
	n, err := s.stream(ctx, f.Key, io.TeeReader(src, sum))
	f.Bytes, f.SHA256 = n, sum.Sum(nil)
	return f, err
}

// PutCopy stores the decoded copy of an uploaded file beside it, and returns its key. It replaces one that was there;
// a reader sees all of it or nothing. The errors are those of PutUpload, and fault.Limited once the reserve of KeepFree
// is not free any more.
func (s *Store) PutCopy(ctx context.Context, file string, src io.Reader) (key string, err error) {
	key = strings.TrimSuffix(file, "file") + "copy"
	_, err = s.stream(ctx, key, &sparing{Reader: src, room: func() error { return s.Room(ctx) }})
	return key, err
}

// sparing fails once there is no room: a short file unpacks to more than a disk has, and others need it, too.
type sparing struct {
	io.Reader
	room func() error
	left int64 // to be read before room is asked again
}

// spareEvery is how many bytes are read between two looks at what is free.
const spareEvery = 1 << 20

func (r *sparing) Read(p []byte) (int, error) {
	if r.left <= 0 {
		if err := r.room(); err != nil {
			return 0, err
		}
		r.left = spareEvery
	}
	n, err := r.Reader.Read(p)
	r.left -= int64(n)
	return n, err
}

// ForgetCopy removes the decoded copy of an uploaded file. One that is not there is removed already.
func (s *Store) ForgetCopy(ctx context.Context, file string) error {
	key := strings.TrimSuffix(file, "file") + "copy"
	if err := checkUpload(key); err != nil {
		return err
	}
	return s.remove(ctx, key)
}

// Bytes is the size of an uploaded file, or of what lies beside it. A key that is not there is fault.Gone.
func (s *Store) Bytes(ctx context.Context, key string) (int64, error) {
	if err := checkUpload(key); err != nil {
		return 0, err
	}
	is, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return 0, classify("read", key, err)
	}
	return is.Size, nil
}

// PutRows keeps the rows of a chunk of an uploaded file beside it, and replaces what was there. It is fault.Limited
// where it leaves less than half the reserve of KeepFree: the other half is for imports that run. Their rows are
// removed as they are stored, and their copies at their end; where they waited, none would make room for another.
func (s *Store) PutRows(ctx context.Context, file string, n int, data []byte) error {
	key := rowsKey(file, n)
	if err := checkUpload(key); err != nil {
		return err
	}
	if err := s.leaves(ctx, int64(len(data)), s.reserve/2); err != nil {
		return err
	}
	if err := s.write(ctx, key, "application/octet-stream", data); err != nil {
		return classify("write", key, err)
	}
	return nil
}

// Rows returns what PutRows has kept, with the faults of OpenRange.
func (s *Store) Rows(ctx context.Context, file string, n int) ([]byte, error) {
	return s.ReadRange(ctx, rowsKey(file, n), 0, -1)
}

// ForgetRows removes the rows of chunks that PutRows has kept; without numbers, those of all chunks. What is not
// there is removed already.
func (s *Store) ForgetRows(ctx context.Context, file string, numbers ...int) error {
	if len(numbers) == 0 {
		return s.deleteBelow(ctx, file, "rows/")
	}
	for _, n := range numbers {
		key := rowsKey(file, n)
		if err := checkUpload(key); err != nil {
			return err
		}
		if err := s.remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func rowsKey(file string, n int) string {
	return strings.TrimSuffix(file, "file") + "rows/" + strconv.Itoa(n)
}

func (s *Store) stream(ctx context.Context, key string, src io.Reader) (n int64, err error) {
	if err := checkUpload(key); err != nil {
		return 0, err
	}
	if err := s.writable(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // where the store is a folder
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream", BeforeWrite: func(as func(any) bool) error {
			as(&file)
			return nil
		},
	})
	if err != nil {
		return 0, classify("write", key, err)
	}
	from := &source{Reader: src}
	if n, err = io.Copy(w, from); err != nil {
		cancel() // before Close: that makes it an abort
		_ = w.Close()
		if from.err != nil {
			return n, from.err
		}
		return n, classify("write", key, err)
	}
	if file != nil {
		err = s.keep(file)
	}
	if err != nil {
		cancel()
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	if err == nil && s.dir != "" {
		err = s.sync(key)
	}
	if err != nil {
		return n, classify("write", key, err)
	}
	return n, nil
}

// sync has the disk keep the name of a file, in folders that may be new: what was uploaded is not to be lost with the
// power once it is answered.
func (s *Store) sync(key string) error {
	for at := path.Dir(key); ; at = path.Dir(at) {
		d, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(at)))
		if err != nil {
			return err
		}
		err = s.keep(d)
		_ = d.Close()
		if err != nil || at == "." {
			return err
		}
	}
}

// keep has the disk keep what a file or folder has.
func (s *Store) keep(f *os.File) error {
	if s.kept != nil {
		s.kept(f)
	}
	return f.Sync()
}

// source keeps the error of a reader, to tell it from one of the store.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func checkUpload(key string) error {
	if !uploadKeys.MatchString(key) {
		return fault.Newf(fault.Invalid, "read blob key: %.120q is none of an upload", key)
	}
	return nil
}

// OpenRange reads length bytes of an uploaded file, or of what lies beside it, from an offset on; a length below 0 is
// all the rest. A key that is not there is fault.Gone, but fault.Transient in a store that is not there: its folder is
// not mounted, or its bucket gone. Failures while reading are fault.Transient.
func (s *Store) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkUpload(key); err != nil {
		return nil, err
	}
	r, err := s.bucket.NewRangeReader(ctx, key, offset, length, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		if away := s.look(ctx); away != nil {
			return nil, fault.Newf(fault.Transient, "open %s: %w: %w", key, away, err)
		}
	}
	if err != nil {
		return nil, classify("open", key, err)
	}
	return ranged{r, key}, nil
}

type ranged struct {
	*blob.Reader
	key string
}

func (r ranged) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = classify("read", r.key, err)
	}
	return n, err
}

// ReadRange returns what OpenRange reads.
func (s *Store) ReadRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	r, err := s.OpenRange(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// ReaderAt reads an uploaded file of size bytes anywhere, as archives are read. It asks the store for whole blocks and
// keeps the last few of them. It is safe for concurrent use until ctx ends.
func (s *Store) ReaderAt(ctx context.Context, key string, size int64) io.ReaderAt {
	return &readerAt{ctx: ctx, store: s, key: key, size: size}
}

const (
	blockBytes = 1 << 20
	blocksKept = 4
)

type readerAt struct {
	ctx   context.Context //nolint:containedctx // of the reads, which have no parameter for it
	store *Store
	key   string
	size  int64

	mu     sync.Mutex
	blocks []block // the last used is the last
}

type block struct {
	n    int64
	data []byte
}

// ReadAt implements io.ReaderAt.
func (r *readerAt) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		if offset >= r.size {
			return n, io.EOF
		}
		data, err := r.block(offset / blockBytes)
		if err != nil {
			return n, err
		}
		from := offset % blockBytes
		if from >= int64(len(data)) { // the file is shorter than it was
			return n, io.ErrUnexpectedEOF
		}
		k := copy(p[n:], data[from:])
		n, offset = n+k, offset+int64(k)
	}
	return n, nil
}

func (r *readerAt) block(n int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range r.blocks {
		if b.n == n {
			r.blocks = append(append(r.blocks[:i], r.blocks[i+1:]...), b)
			return b.data, nil
		}
	}
	data, err := r.store.ReadRange(r.ctx, r.key, n*blockBytes, min(blockBytes, r.size-n*blockBytes))
	if err != nil {
		return nil, err
	}
	if len(r.blocks) == blocksKept {
		r.blocks = append(r.blocks[:0], r.blocks[1:]...)
	}
	r.blocks = append(r.blocks, block{n, data})
	return data, nil
}

// isUpload says that a key is that of an uploaded file.
func isUpload(key string) bool { return strings.HasSuffix(key, "/file") && uploadKeys.MatchString(key) }

// DeleteUpload removes an uploaded file and all that lies beside it. What is not there is removed already. The file
// itself is the last one, so that a deletion that was interrupted can be repeated.
func (s *Store) DeleteUpload(ctx context.Context, file string) error {
	if err := s.ForgetRows(ctx, file); err != nil {
		return err
	}
	return s.deleteBelow(ctx, file, "")
}

func (s *Store) deleteBelow(ctx context.Context, file, folder string) error {
	return s.below(ctx, file, folder, func(key string) error { return s.remove(ctx, key) })
}

// below calls each for what lies in a folder beside an uploaded file. A folder of the store that is not mounted has
// nothing, which is fault.Transient.
func (s *Store) below(ctx context.Context, file, folder string, each func(key string) error) error {
	m := uploadKeys.FindStringSubmatch(file)
	if m == nil {
		return checkUpload(file)
	}
	list := s.bucket.List(&blob.ListOptions{Prefix: m[1] + folder})
	for {
		o, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s.writable()
		}
		if err != nil {
			return classify("list", file, err)
		}
		if err := each(o.Key); err != nil {
			return err
		}
	}
}

// ListUpload returns the keys of an uploaded file and of all that lies beside it.
func (s *Store) ListUpload(ctx context.Context, file string) ([]string, error) {
	var keys []string
	err := s.below(ctx, file, "", func(key string) error {
		keys = append(keys, key)
		return nil
	})
	return keys, err
}
