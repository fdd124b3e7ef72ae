package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"iter"
)

// strip takes off all that a picture holds beside what its display needs: Exif with the place where it was taken and
// the camera's number, XMP, IPTC, comments, a smaller copy, and what follows its end. Pixels, color profile and frames
// stay as they are, byte for byte, and of Exif the orientation. It is for pictures that were decoded.
func strip(data []byte, format string) ([]byte, Orientation) {
	switch format {
	case "jpeg":
		return stripJPEG(data)
	case "png":
		return stripPNG(data)
	case "gif":
		return stripGIF(data), 0
	case "webp":
		return stripWebP(data)
	}
	return data, 0
}

// The markers of JPEG that matter here.
const (
	sof0, sof2, dht, jpg, dac, sof15 = 0xc0, 0xc2, 0xc4, 0xc8, 0xcc, 0xcf
	rst0, soi, eoi, sos              = 0xd0, 0xd8, 0xd9, 0xda
	app0, app1, app2, app14, app15   = 0xe0, 0xe1, 0xe2, 0xee, 0xef
	com                              = 0xfe
)

var exifMark = []byte("Exif\x00\x00")

// A segment is a part of a JPEG: a marker and its body or, of a scan, the compressed pixels that follow as well.
type segment struct {
	marker byte
	body   []byte // without its length; of a scan, its header
	raw    []byte // all of it
}

// frame says that the segment begins a frame: it has the size and the components.
func (s segment) frame() bool {
	return s.marker >= sof0 && s.marker <= sof15 && s.marker != dht && s.marker != jpg && s.marker != dac
}

// segments yields the parts of a JPEG after its first marker and before its end. Bytes between them are left out.
func segments(data []byte) iter.Seq[segment] {
	return func(yield func(segment) bool) {
		for at := 2; at+4 <= len(data); {
			marker := data[at+1]
			switch {
			case data[at] != 0xff || marker == 0xff || marker == 0:
				at++ // between segments, or fill
				continue
			case marker == eoi:
				return
			case marker >= rst0 && marker <= soi || marker == 1: // they have no body
				at += 2
				continue
			}
			end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
			if end > len(data) || end < at+4 {
				return
			}
			s := segment{marker: marker, body: data[at+4 : end]}
			if marker == sos {
				end += scan(data[end:])
			}
			s.raw = data[at:end]
			if !yield(s) {
				return
			}
			at = end
		}
	}
}

// scan is how long the compressed pixels are that data begins with: up to a marker that is no restart.
func scan(data []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], 0xff)
		if i < 0 || at+i+1 >= len(data) {
			return len(data)
		}
		at += i
		if next := data[at+1]; next != 0 && next != 0xff && (next < rst0 || next > rst0+7) {
			return at
		}
		at++
	}
}

func stripJPEG(data []byte) ([]byte, Orientation) {
	var turn Orientation
	head, rest := []byte{0xff, soi}, make([]byte, 0, len(data))
	for s := range segments(data) {
		switch {
		case s.marker == app1 && bytes.HasPrefix(s.body, exifMark):
			if turn == 0 {
				turn = orientation(s.body)
			}
		case s.marker == app0 && len(rest) == 0: // it must be the first
			head = append(head, s.raw...)
		case s.marker == app2 && bytes.HasPrefix(s.body, []byte("ICC_PROFILE\x00")),
			s.marker == app14 && bytes.HasPrefix(s.body, []byte("Adobe")),
			(s.marker < app0 || s.marker > app15) && s.marker != com:
			rest = append(rest, s.raw...)
		}
	}
	if exif := turn.exif(); exif != nil {
		body := append(bytes.Clone(exifMark), exif...)
		head = append(head, 0xff, app1)
		head = binary.BigEndian.AppendUint16(head, uint16(len(body)+2))
		head = append(head, body...)
	}
	return append(append(head, rest...), 0xff, eoi), turn
}

// shownPNG are the chunks of a PNG that its display needs, beside those that are critical.
var shownPNG = map[string]bool{
	"tRNS": true, "gAMA": true, "cHRM": true, "sRGB": true, "iCCP": true, "sBIT": true, "bKGD": true, "pHYs": true,
	"cICP": true, "mDCV": true, "cLLI": true, "acTL": true, "fcTL": true, "fdAT": true,
}

func stripPNG(data []byte) ([]byte, Orientation) {
	const signature, head, sum = 8, 8, 4
	var turn Orientation
	out := append(make([]byte, 0, len(data)), data[:signature]...)
	for at := signature; at+head+sum <= len(data); {
		kind := string(data[at+4 : at+head])
		end := int64(at) + int64(binary.BigEndian.Uint32(data[at:])) + head + sum
		if end > int64(len(data)) {
			break
		}
		switch raw := data[at:end]; {
		case kind == "eXIf" && turn == 0:
			turn = orientation(raw[head : len(raw)-sum])
		case kind == "IEND":
			return append(appendChunk(out, "eXIf", turn.exif()), raw...), turn
		case kind[0]&0x20 == 0 || shownPNG[kind]:
			out = append(out, raw...)
		}
		at = int(end)
	}
	return out, turn
}

// appendChunk adds a chunk of a PNG, unless it is empty.
func appendChunk(out []byte, kind string, body []byte) []byte {
	if len(body) == 0 {
		return out
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	from := len(out)
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
}

// shownWebP are the chunks of a WebP that its display needs.
var shownWebP = map[string]bool{
	"VP8X": true, "VP8 ": true, "VP8L": true, "ALPH": true, "ICCP": true, "ANIM": true, "ANMF": true,
}

func stripWebP(data []byte) ([]byte, Orientation) {
	const signature, head = 12, 8
	const flagXMP, flagExif = 0x04, 0x08
	var turn Orientation
	out := append(make([]byte, 0, len(data)), data[:signature]...)
	for at := signature; at+head <= len(data); {
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		end := int64(at) + head + size
		if end > int64(len(data)) {
			break
		}
		switch kind := string(data[at : at+4]); {
		case kind == "EXIF" && turn == 0:
			turn = orientation(data[at+head : end])
		case shownWebP[kind]:
			out = append(out, data[at:end]...)
			if size%2 != 0 {
				out = append(out, 0)
			}
		}
		at = int(end + size%2)
	}
	extended := len(out) > signature+head && string(out[signature:signature+4]) == "VP8X"
	if !extended {
		turn = 0 // a simple file can have no Exif
	}
	if extended {
		out[signature+head] &^= flagXMP | flagExif
	}
	if exif := turn.exif(); exif != nil {
		out[signature+head] |= flagExif
		out = append(out, "EXIF"...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(exif)))
		out = append(out, exif...)
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, turn
}

// stripGIF drops the comments, and the extensions of applications but for the one that repeats a film.
func stripGIF(data []byte) []byte {
	const imageBlock, extension, application, comment, trailer = 0x2c, 0x21, 0xff, 0xfe, 0x3b
	table := func(flags byte) int { // of colors
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	if len(data) < 13 {
		return data
	}
	at := 13 + table(data[10])
	if at > len(data) {
		return data
	}
	out := append(make([]byte, 0, len(data)), data[:at]...)
	for at < len(data) {
		body := at + 2
		switch {
		case data[at] == imageBlock && at+10 < len(data):
			body = at + 10 + table(data[at+9]) + 1
		case data[at] != extension || body >= len(data):
			return append(out, trailer) // the end, also of a file that was cut off behind its first frame
		}
		end := body
		for end < len(data) && data[end] != 0 {
			end += int(data[end]) + 1
		}
		if end >= len(data) {
			return append(out, trailer)
		}
		end++
		shown := data[at] == imageBlock || data[at+1] != comment && data[at+1] != application
		if shown || bytes.Contains(data[body:min(end, body+12)], []byte("NETSCAPE2.0")) {
			out = append(out, data[at:end]...)
		}
		at = end
	}
	return append(out, trailer)
}
