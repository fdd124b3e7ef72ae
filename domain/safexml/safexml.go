// Package safexml reads XML that strangers wrote. encoding/xml holds a whole token in memory, however long it is, and
// all attributes of a tag, so a file of some kilobytes, unpacked, would take gigabytes: here tokens are bounded before
// they are held.
package safexml

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// The bounds of what a Decoder reads. What goes beyond is fault.Invalid.
const (
	MaxToken = 1 << 20  // bytes of a text, a comment, or a CDATA section
	MaxTag   = 64 << 10 // bytes of a tag, with its attributes
	MaxAttrs = 1000     // attributes of a tag
	MaxDepth = 256      // elements within each other

	maxFaults = 50_000 // that Resume passes over
)

// A Decoder reads tokens, as those of encoding/xml. Its memory is a few MaxToken, whatever the document.
type Decoder struct {
	xml    *xml.Decoder
	src    *meter
	depth  int
	fault  *xml.SyntaxError // that RawToken returned last; nil = another error, or none
	faults int              // that Resume passed over
}

// NewDecoder reads a document from r. With html it reads what browsers forgive (attributes without a value or quotes,
// the entities of HTML), as encoding/xml does without Strict. decode returns a reader of the encoding of a label that
// the document gives itself; without it only UTF-8 is read.
func NewDecoder(r io.Reader, html bool, decode func(label string, r io.Reader) (io.Reader, error)) *Decoder {
	d := &Decoder{src: newMeter(r)}
	d.xml = xml.NewDecoder(d.src)
	d.xml.Strict = !html
	if html {
		d.xml.Entity = xml.HTMLEntity
	}
	declared := false
	d.xml.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if decode == nil {
			return nil, fault.Newf(fault.Invalid, "the XML is in %.40q, and only UTF-8 is read", label)
		}
		if declared { // each declaration would put one more decoder before the text
			return nil, fault.Newf(fault.Invalid, "the XML declares its encoding twice")
		}
		declared = true
		out, err := decode(label, in)
		if err != nil {
			return nil, err
		}
		// The bounds hold for the text: in another encoding a < may be any byte.
		fed := d.src.fed
		d.src = newMeter(out)
		d.src.fed = fed
		return d.src, nil
	}
	return d
}

// RawToken is that of xml.Decoder: namespaces are not resolved, and tags need not match. io.EOF is the end. The bytes
// of a token are valid until the next call.
func (d *Decoder) RawToken() (xml.Token, error) {
	d.src.begin()
	t, err := d.xml.RawToken()
	d.fault = nil
	if d.src.over != nil { // a text that was cut there may seem to be whole, or to be broken
		return nil, d.src.over
	}
	if err != nil {
		errors.As(err, &d.fault)
		return nil, err
	}
	switch t := t.(type) {
	case xml.StartElement:
		if len(t.Attr) > MaxAttrs {
			return nil, fault.Newf(fault.Invalid, "a tag of the XML has more than %d attributes", MaxAttrs)
		}
		if d.depth++; d.depth > MaxDepth {
			return nil, fault.Newf(fault.Invalid, "the elements of the XML are nested more than %d deep", MaxDepth)
		}
	case xml.EndElement:
		d.depth = max(0, d.depth-1)
	}
	return t, nil
}

// Resume lets RawToken go on behind what was no XML, as readers of feeds do: the token with the fault is lost, all of a
// comment, and what follows is read. It is false where there is no going on: at the end of the document, beyond the
// bounds, and after very many faults.
func (d *Decoder) Resume() bool {
	if d.fault == nil || d.faults == maxFaults {
		return false
	}
	d.faults++
	switch {
	case d.xml.InputOffset() < d.src.fed: // the fault is before the byte that was read last
		d.src.again = true
	case strings.Contains(d.fault.Msg, "in comments"):
		d.src.skipComment()
	default:
		d.src.last = 0 // a < with which the fault ends begins no tag
	}
	next := xml.NewDecoder(d.src)
	next.Strict, next.Entity, next.CharsetReader = d.xml.Strict, d.xml.Entity, d.xml.CharsetReader
	d.xml, d.src.fed, d.fault = next, 0, nil
	return true
}

// InputOffset is how many bytes of the document have been read; of one in another encoding, of its text in UTF-8.
func (d *Decoder) InputOffset() int64 { return d.src.read }

// meter gives a document byte by byte, as xml.Decoder asks for it, and ends within a token that is too long.
type meter struct {
	r    *bufio.Reader
	last byte
	n    int   // bytes of this token
	most int   // that it may have
	read int64 // bytes in all
	over error // the token was too long

	fed   int64 // bytes that the decoder which reads now was given
	again bool  // last is given once more
}

func newMeter(r io.Reader) *meter {
	return &meter{r: bufio.NewReader(r), most: MaxToken}
}

// begin is called before each token. The < of a tag after a text has been read with the text.
func (m *meter) begin() {
	m.n, m.most = 0, MaxToken
	if m.last == '<' && !m.again {
		m.n = 1
	}
}

// skipComment passes over the rest of a comment.
func (m *meter) skipComment() {
	dashes := 0
	if m.last == '-' { // the third
		dashes = 2
	}
	for m.last != '>' || dashes < 2 {
		if m.last != '-' {
			dashes = 0
		}
		b, err := m.r.ReadByte()
		if err != nil {
			return
		}
		if m.last = b; b == '-' {
			dashes++
		}
		m.read++
	}
}

// ReadByte is where the decoder reads.
func (m *meter) ReadByte() (byte, error) {
	if m.n > m.most {
		what := "text"
		if m.most == MaxTag {
			what = "tag"
		}
		m.over = fault.Newf(fault.Invalid, "a %s of the XML is longer than %d KiB", what, m.most>>10)
		return 0, m.over
	}
	b := m.last
	if !m.again {
		var err error
		if b, err = m.r.ReadByte(); err != nil {
			return 0, err
		}
		m.read++
	}
	m.again = false
	if m.n == 1 && m.last == '<' && b != '!' { // a tag, or a declaration <?…
		m.most = MaxTag
	}
	m.last = b
	m.n++
	m.fed++
	return b, nil
}

// Read is for decoders of other encodings, which stand between this meter and another.
func (m *meter) Read(p []byte) (int, error) { return m.r.Read(p) }
