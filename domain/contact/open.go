package contact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/mtlrent/conveyor/domain/fault"
)

// The containers of a file.
const (
	Plain = "plain"
	Gzip  = "gzip"
	Zip   = "zip" // of one file
	XLSX  = "xlsx"
)

// The encodings that are recognized. A person may name any other that the WHATWG standard knows.
const (
	UTF8        = "utf-8"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Windows1252 = "windows-1252"
	Macintosh   = "macintosh"
	IBM850      = "ibm850" // of DOS in Western Europe; WHATWG has no name for it
)

// Bounds against files that unpack to more than anyone has contacts.
const (
	MaxText      = 4 << 30  // bytes that a file may unpack to
	maxRatio     = 200      // times its compressed size, beyond the first ratioFrom bytes; text has up to 30
	ratioFrom    = 16 << 20 // bytes
	maxZipMember = 100      // files in a zip that are looked at
	maxZipFiles  = 10_000   // in all: a workbook has one a picture
	// maxZipDirectory is how many bytes are read to find the files of a zip.
	maxZipDirectory = 4 << 20
)

const utf8BOM = "\uFEFF"

// Copied says that the text is not the file itself: offsets of chunks are those of a copy, which the splitter keeps.
func (p Plan) Copied() bool {
	return p.Format.Container != Plain || p.Format.Encoding != UTF8 || p.Format.Wrapped || p.Format.Cards
}

// Open returns the text of a file in UTF-8, unpacked and decoded, from its beginning. It reads src as it is read
// itself; size is the number of bytes of src. A file that cannot be unpacked, or unpacks to too much, is fault.Invalid,
// also from Read.
func (p Plan) Open(src io.ReaderAt, size int64) (io.Reader, error) {
	return p.Format.open(src, size)
}

func (f Format) open(src io.ReaderAt, size int64) (io.Reader, error) {
	r, err := f.unpack(src, size)
	if err != nil {
		return nil, err
	}
	if f.Container != XLSX && f.Encoding != UTF8 {
		enc, err := encodingOf(f.Encoding)
		if err != nil {
			return nil, err
		}
		r = enc.NewDecoder().Reader(unmarked(r))
	}
	if f.Cards {
		r = newCards(unmarked(r))
	}
	if f.Wrapped {
		r = newUnwrapper(r, f.Newline)
	}
	return r, nil
}

// encodingOf is the encoding of a name, a label of the WHATWG standard.
func encodingOf(name string) (encoding.Encoding, error) {
	switch name {
	case UTF8:
		return encoding.Nop, nil
	case UTF16LE:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	case UTF16BE:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM), nil
	case Windows1252:
		return charmap.Windows1252, nil
	case IBM850:
		return charmap.CodePage850, nil
	}
	enc, err := htmlindex.Get(name)
	if err != nil || enc == encoding.Replacement {
		return nil, fault.Newf(fault.Invalid, "encoding %q is not known; use utf-8, utf-16le, utf-16be, windows-1252, "+
			"or another label of the WHATWG Encoding Standard", name)
	}
	return enc, nil
}

// unpack returns the bytes in the container.
func (f Format) unpack(src io.ReaderAt, size int64) (io.Reader, error) {
	switch f.Container {
	case Plain:
		return io.NewSectionReader(src, 0, size), nil
	case Gzip:
		in := &counted{src: io.NewSectionReader(source{src, size}, 0, size)}
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, broken("gzip file", err)
		}
		return &bounded{src: z, what: "gzip file", in: func() int64 { return in.n }}, nil
	case Zip:
		z, err := openZip(src, size)
		if err != nil {
			return nil, err
		}
		member, err := only(z)
		if err != nil {
			return nil, err
		}
		return openMember(member)
	case XLSX:
		z, err := openZip(src, size)
		if err != nil {
			return nil, err
		}
		return openSheet(z, f.Sheet)
	}
	return nil, fault.Newf(fault.Invalid, "container %q is not known; use plain, gzip, zip or xlsx", f.Container)
}

// openZip reads the directory of a zip, within bounds: zip.NewReader makes room for as many files as the end of the zip
// says, and reads them whatever it says.
func openZip(src io.ReaderAt, size int64) (*zip.Reader, error) {
	files, err := zipFiles(source{src, size}, size)
	if err != nil {
		return nil, broken("zip file", err)
	}
	few := &metered{source: source{src, size}, left: maxZipDirectory}
	var z *zip.Reader
	if files <= maxZipFiles {
		if z, err = zip.NewReader(few, size); err != nil {
			return nil, broken("zip file", err)
		}
		files = uint64(len(z.File))
	}
	if files > maxZipFiles {
		return nil, fault.Newf(fault.Invalid, "the zip has more than %d files; upload the one with the contacts by itself", maxZipFiles)
	}
	few.left = math.MaxInt64
	for _, f := range z.File { // what a file takes in the zip is what the zip says of it, and no more than there is
		f.CompressedSize64 = min(f.CompressedSize64, uint64(size))
		f.Name = strings.TrimPrefix(slashed(f.Name), "/")
	}
	return z, nil
}

// zipFiles is how many files the end of a zip says that there are; 0 where there is no end that zip.NewReader finds.
func zipFiles(src io.ReaderAt, size int64) (uint64, error) {
	const end, locator, end64 = 22, 20, 56 // bytes of the records
	tail := make([]byte, min(size, locator+65<<10))
	if n, err := src.ReadAt(tail, size-int64(len(tail))); n < len(tail) {
		return 0, err
	}
	i := bytes.LastIndex(tail[:max(0, len(tail)-end+4)], []byte("PK\x05\x06"))
	if i < 0 {
		return 0, nil
	}
	files := uint64(binary.LittleEndian.Uint16(tail[i+10:]))
	if i < locator || !bytes.HasPrefix(tail[i-locator:], []byte("PK\x06\x07")) {
		return files, nil
	}
	big := make([]byte, end64)
	at := int64(binary.LittleEndian.Uint64(tail[i-locator+8:]))
	if n, err := src.ReadAt(big, at); n < len(big) {
		return 0, err
	}
	return max(files, binary.LittleEndian.Uint64(big[32:])), nil
}

// metered is a source of which a few bytes are read.
type metered struct {
	source
	left int64
}

// ReadAt reads from the file.
func (m *metered) ReadAt(p []byte, offset int64) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, fault.Newf(fault.Invalid, "the zip has more than %d files, or too long names; upload the one with the contacts "+
			"by itself", maxZipFiles)
	}
	return m.source.ReadAt(p, offset)
}

// only is the one file of a zip. What macOS and Windows put beside it does not count.
func only(z *zip.Reader) (*zip.File, error) {
	var names []string
	var found *zip.File
	for _, f := range z.File {
		base := path.Base(f.Name)
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(f.Name, "__MACOSX/") || strings.HasPrefix(base, ".") ||
			strings.EqualFold(base, "Thumbs.db") || strings.EqualFold(base, "desktop.ini") {
			continue
		}
		found = f
		if names = append(names, fmt.Sprintf("%q", f.Name)); len(names) == maxZipMember {
			break
		}
	}
	if len(names) == 0 {
		return nil, fault.Newf(fault.Invalid, "the zip has no file in it")
	}
	if len(names) > 1 {
		return nil, fault.Newf(fault.Invalid, "the zip has %d files (%s); upload each of them by itself",
			len(names), strings.Join(names[:min(len(names), 5)], ", "))
	}
	return found, nil
}

// openMember returns the bytes of a file in a zip, bounded.
func openMember(f *zip.File) (io.Reader, error) {
	if f.Flags&1 != 0 {
		return nil, fault.Newf(fault.Invalid, "%q in the zip has a password; upload it without", f.Name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, broken("zip file", err)
	}
	packed := int64(f.CompressedSize64) // as openZip bounds it
	return &bounded{src: r, what: "zip file", in: func() int64 { return packed }}, nil
}

// counted counts what is read of a reader.
type counted struct {
	src io.Reader
	n   int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded ends with fault.Invalid when more comes out of a container than may be.
type bounded struct {
	src  io.Reader
	what string
	in   func() int64 // bytes, compressed, that went in
	out  int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.out += int64(n)
	if b.out > MaxText || b.out > ratioFrom && b.out > maxRatio*b.in() {
		return 0, fault.Newf(fault.Invalid, "the %s unpacks to more than %d GiB or %d times its size; upload the file unpacked",
			b.what, MaxText>>30, maxRatio)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, broken(b.what, err)
	}
	return n, err
}

// broken is the fault of a container that cannot be read. A failure of the file beneath stays what it is.
func broken(what string, err error) error {
	if beneath, ok := errors.AsType[*sourceError](err); ok {
		return beneath.error
	}
	if class, _ := fault.Of(err); class == fault.Invalid {
		return err
	}
	return fault.Newf(fault.Invalid, "the %s is damaged (%w); pack or export it once more", what, err)
}

// source is the file that a container is read from. It marks its own failures, which may pass: all others are the
// container's.
type source struct {
	at   io.ReaderAt
	size int64
}

type sourceError struct{ error }

var errBeyond = errors.New("it points to bytes that it does not have")

// ReadAt reads from the file.
func (s source) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset > s.size {
		return 0, errBeyond
	}
	n, err := s.at.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &sourceError{err}
	}
	return n, err
}

// container says what the first bytes of a file are, and for what cannot be read, what to do.
func container(head []byte) (string, error) {
	refuse := func(what, todo string) (string, error) {
		return "", fault.Newf(fault.Invalid, "the file is %s; %s", what, todo)
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return Gzip, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return Zip, nil // or XLSX: its list of files says
	case bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return refuse("an empty zip", "upload the file itself")
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return refuse("an old Office file (.xls, .doc), or one with a password", "save the table as CSV or XLSX without a password")
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return refuse("a PDF", "export the table as CSV or XLSX")
	case bytes.HasPrefix(head, []byte("BZh")), bytes.HasPrefix(head, []byte("\xfd7zXZ")),
		bytes.HasPrefix(head, []byte("7z\xbc\xaf")), bytes.HasPrefix(head, []byte("Rar!")),
		bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return refuse("packed in a way that is not read here", "unpack it, or pack it with zip or gzip")
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return refuse("UTF-32", "save it as UTF-8")
	case bytes.HasPrefix(head, []byte("\x89PNG")), bytes.HasPrefix(head, []byte("\xff\xd8\xff")),
		bytes.HasPrefix(head, []byte("GIF8")):
		return refuse("an image", "upload the table itself, as CSV or XLSX")
	}
	return Plain, nil
}

// tags are how a page of HTML begins, or a part of one that some sites send under the name of .xls.
var tags = []string{"<!doctype", "<!--", "<?xml", "<html", "<head", "<body", "<table", "<thead", "<tbody", "<tr>",
	"<tr ", "<meta", "<style", "<script", "<link", "<title", "<div", "<center", "<font", "<p>", "<br", "<svg"}

// document refuses a text that is of a format of its own, by its beginning, without a byte order mark.
func document(text []byte) error {
	trimmed := bytes.ToLower(bytes.TrimSpace(text[:min(len(text), 512)]))
	begins := func(with string) bool { return bytes.HasPrefix(trimmed, []byte(with)) }
	var what, todo string
	switch {
	case slices.ContainsFunc(tags, begins):
		what = "HTML or XML"
		todo = "open it in a spreadsheet and save it as CSV or XLSX; some sites send a page where a login is needed"
	case begins("mime-version:"):
		what, todo = "a web page (MHTML)", "open it in a spreadsheet and save it as CSV or XLSX"
	case begins(`{\rtf`):
		what, todo = "a document (RTF), not a table", "save the table as CSV or XLSX"
	case begins("dn:"), begins("version: 1\n") && bytes.Contains(trimmed, []byte("\ndn:")):
		what, todo = "LDIF", "export the contacts as CSV"
	case begins("insert into "), begins("create table "), begins("-- ") && (bytes.Contains(trimmed, []byte(" dump")) ||
		bytes.Contains(trimmed, []byte("insert into ")) || bytes.Contains(trimmed, []byte("create table "))):
		what, todo = "SQL", "export the table as CSV"
	case begins("{"), begins("[") && bytes.IndexAny(bytes.TrimSpace(trimmed[1:]), "{[\"") == 0:
		what, todo = "JSON", "convert it to CSV"
	default:
		return nil
	}
	return fault.Newf(fault.Invalid, "the file is %s; %s", what, todo)
}
