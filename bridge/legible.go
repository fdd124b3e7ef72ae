package bridge

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/internal/certificate"
)

// The client library closes its connection, with all sessions on it, when it reads headers beyond limits of its own,
// which the broker does not have: 32 tables or arrays in each other, 8192 fields in one, or a frame larger than agreed,
// which the broker sends when it adds to headers that fill one. The message would come back and do so again.
const (
	deepestHeaders = 32
	mostHeaders    = 4096      // half of the library's: a dead letter has more headers
	frameSize      = 128 << 10 // that is asked for, and the broker's default
	frameRoom      = 16 << 10  // for headers that are added: the broker's, and those of a dead letter
	smallHeader    = 1 << 10   // size of a value that is kept where all are too large
)

// A legible connection replaces headers of messages that the client library could not read by leftOut, and drops those
// beyond the limits. All else passes as it is, so that a message costs only its own headers.
type legible struct {
	net.Conn
	in    *bufio.Reader
	ready []byte // is handed on first
	pass  int    // bytes that are handed on then, as they come
	most  int    // size of a frame, as agreed
}

func newLegible(conn net.Conn) *legible {
	return &legible{Conn: conn, in: bufio.NewReaderSize(conn, 32<<10), most: frameSize}
}

func (l *legible) Read(p []byte) (int, error) {
	if len(l.ready) == 0 && l.pass == 0 {
		if err := l.frame(); err != nil {
			return 0, err
		}
	}
	if len(l.ready) > 0 {
		n := copy(p, l.ready)
		l.ready = l.ready[n:]
		return n, nil
	}
	n, err := l.in.Read(p[:min(len(p), l.pass)])
	l.pass -= n
	return n, err
}

// Of a frame: its head (type, channel, size of the payload) and the byte that ends it. Types are methods and headers.
const (
	frameHead, frameEnd       = 7, 1
	methodsFrame, headerFrame = 1, 2
)

// The method by which the broker says how large a frame may be, and where in its frame.
const (
	tuneMethod         = 10<<16 | 30 // connection.tune
	tuneSize, tuneMost = 12, frameHead + 6
)

// frame begins the next frame.
func (l *legible) frame() error {
	head, err := l.in.Peek(frameHead)
	if err != nil {
		return err
	}
	kind, size := head[0], int(binary.BigEndian.Uint32(head[3:]))
	l.pass = frameHead + size + frameEnd
	switch {
	case kind == methodsFrame && size == tuneSize:
		tune, err := l.in.Peek(l.pass)
		if err != nil {
			return err
		}
		if most := int(binary.BigEndian.Uint32(tune[tuneMost:])); most > 0 &&
			binary.BigEndian.Uint32(tune[frameHead:]) == tuneMethod {
			l.most = min(l.most, most)
		}
	case kind == headerFrame && size < 8*frameSize: // the broker adds little
		whole := make([]byte, l.pass)
		if _, err := io.ReadFull(l.in, whole); err != nil {
			return err
		}
		l.ready, l.pass = l.headers(whole), 0
	}
	return nil
}

// Where the properties of a message are in their frame, and the bits that say which there are: before its headers come
// two short texts.
const (
	propertyFlags                           = frameHead + 12
	hasType, hasEncoding, hasHeaders uint16 = 1 << 15, 1 << 14, 1 << 13
)

// headers returns the frame as the client library can read it.
func (l *legible) headers(frame []byte) []byte {
	at := propertyFlags + 2
	if len(frame) < at {
		return frame
	}
	flags := binary.BigEndian.Uint16(frame[propertyFlags:])
	for _, text := range []uint16{hasType, hasEncoding} {
		if flags&text != 0 && at < len(frame) {
			at += 1 + int(frame[at])
		}
	}
	table := at + 4
	if flags&hasHeaders == 0 || table > len(frame) {
		return frame
	}
	end := table + int(binary.BigEndian.Uint32(frame[at:]))
	room := l.most - min(frameRoom, l.most/2)
	if end > len(frame) || len(frame) <= room && readable('F', frame[table:end], 0) {
		return frame
	}
	kept := fit(frame[table:end], room-(len(frame)-(end-table)), len(frame) > room)
	out := append([]byte{}, frame[:at]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(kept)))
	out = append(append(out, kept...), frame[end:]...)
	binary.BigEndian.PutUint32(out[3:], uint32(len(out)-frameHead-frameEnd))
	return out
}

// leftOut is the value of a header that was replaced.
const leftOut = "(left out: too large, or nested too deeply)"

// fit returns as many fields of a table as have room, with readable values, and with small ones only where it is tight.
func fit(table []byte, room int, tight bool) (out []byte) {
	for range mostHeaders {
		name, value, rest, ok := field('F', table)
		if !ok {
			break // the end, or a type that is not known
		}
		if tight && len(value) > smallHeader || !readable(value[0], contents(value), 1) {
			value = append([]byte{'S', 0, 0, 0, byte(len(leftOut))}, leftOut...)
		}
		if len(out)+len(name)+len(value) <= room {
			out = append(append(out, name...), value...)
		}
		table = rest
	}
	return out
}

// readable says whether the client library can read a value of these contents, which is in so many tables or arrays.
func readable(kind byte, contained []byte, depth int) bool {
	if kind != 'F' && kind != 'A' {
		return true
	}
	if depth > deepestHeaders {
		return false
	}
	for n := 0; len(contained) > 0; n++ {
		_, value, rest, ok := field(kind, contained)
		if !ok || n == mostHeaders || !readable(value[0], contents(value), depth+1) {
			return false
		}
		contained = rest
	}
	return true
}

// contents are those of a value that is a table or an array: what follows its type and length.
func contents(value []byte) []byte { return value[min(5, len(value)):] }

// field takes the first field off a table (F) or an array (A), whose fields have no names. A name has its length before
// it, a value its type.
func field(kind byte, b []byte) (name, value, rest []byte, ok bool) {
	at := 0
	if kind == 'F' && len(b) > 0 {
		at = 1 + int(b[0])
	}
	if at >= len(b) {
		return nil, nil, nil, false
	}
	size := 0
	switch b[at] {
	case 'V':
		size = 1
	case 't', 'b', 'B':
		size = 2
	case 's', 'u':
		size = 3
	case 'I', 'i', 'f':
		size = 5
	case 'D':
		size = 6
	case 'l', 'd', 'T':
		size = 9
	case 'S', 'x', 'A', 'F':
		if at+5 <= len(b) {
			size = 5 + int(binary.BigEndian.Uint32(b[at+1:]))
		}
	}
	if size == 0 || at+size > len(b) {
		return nil, nil, nil, false
	}
	return b[:at], b[at : at+size], b[at+size:], true
}

// bare returns the URL of a node without TLS, its address, and the settings of the TLS to be put below the connection:
// the library would put it above, where nothing is legible. They are nil where there is none.
func bare(node string) (plain, address string, secure *tls.Config, err error) {
	at, err := amqp.ParseURI(node)
	if err != nil {
		return "", "", nil, err
	}
	address = net.JoinHostPort(at.Host, strconv.Itoa(at.Port))
	if at.Scheme != "amqps" {
		return node, address, nil, nil
	}
	if at.CertFile == "" || at.KeyFile == "" { // as the library does
		at.CertFile, at.KeyFile = "", ""
	}
	secure, err = certificate.Config(at.CACertFile, at.CertFile, at.KeyFile)
	if err != nil {
		return "", "", nil, err
	}
	secure.ServerName = cmp.Or(at.ServerName, at.Host)
	return at.Scheme[:len("amqp")] + node[len(at.Scheme):], address, secure, nil
}

// open connects to a node, by TLS where its settings are given.
func open(ctx context.Context, address string, until time.Time, secure *tls.Config) (net.Conn, error) {
	d := net.Dialer{Deadline: until}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	err = conn.SetDeadline(until)
	if err == nil && secure != nil {
		over := tls.Client(conn, secure)
		conn, err = over, over.HandshakeContext(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return newLegible(conn), nil
}
