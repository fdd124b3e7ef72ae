package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// An Orientation is how a picture is turned before it is displayed, as Exif has it: 2 to 8; anything else = as it is.
type Orientation int

// swaps says that width and height change places.
func (o Orientation) swaps() bool { return o >= 5 && o <= 8 }

// of turns a picture.
func (o Orientation) of(src *image.RGBA) *image.RGBA {
	if o < 2 || o > 8 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if o.swaps() {
		size = image.Rect(0, 0, h, w)
	}
	dst := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			from := [...]image.Point{
				2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y}, 5: {y, x}, 6: {y, h - 1 - x},
				7: {w - 1 - y, h - 1 - x}, 8: {w - 1 - y, x},
			}[o]
			dst.SetRGBA(x, y, src.RGBAAt(src.Rect.Min.X+from.X, src.Rect.Min.Y+from.Y))
		}
	}
	return dst
}

const tagOrientation = 0x0112

// orientation reads the tag of Exif data, 0 = it has none. The data is a TIFF file; "Exif" and two zeros may be before
// it.
func orientation(exif []byte) Orientation {
	exif = bytes.TrimPrefix(exif, exifMark)
	if len(exif) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	if exif[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 0
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == tagOrientation {
			if o := Orientation(order.Uint16(entries[8:])); o >= 2 && o <= 8 {
				return o
			}
			return 0
		}
		entries = entries[12:]
	}
	return 0
}

// exif is a TIFF file with this tag and nothing else; nil for a picture that is not turned.
func (o Orientation) exif() []byte {
	if o == 0 {
		return nil
	}
	return []byte{
		'I', 'I', '*', 0, 8, 0, 0, 0, // little-endian; the directory is at 8
		1, 0, // entry: the tag, of the type SHORT, one value
		tagOrientation & 0xff, tagOrientation >> 8, 3, 0, 1, 0, 0, 0, byte(o), 0, 0, 0,
		0, 0, 0, 0, // no other directory
	}
}
