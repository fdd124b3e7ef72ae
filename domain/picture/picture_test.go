package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/picture"
)

func TestThumbnail(t *testing.T) {
	t.Parallel()
	red := color.NRGBA{200, 30, 30, 255}
	paint := func(r image.Rectangle) image.Image {
		m := image.NewNRGBA(r)
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				m.SetNRGBA(x, y, red)
			}
		}
		return m
	}
	for _, tt := range []struct {
		name string
		src  image.Image
		w, h int
		want color.Color
	}{
		{"photo", paint(image.Rect(0, 0, 800, 600)), 320, 240, red},
		{"much larger", paint(image.Rect(0, 0, 4000, 1000)), 320, 80, red},
		{"bounds that do not begin at 0", paint(image.Rect(50, 70, 850, 670)), 320, 240, red},
		{"smaller than a thumbnail", paint(image.Rect(0, 0, 10, 20)), 10, 20, red},
		{"as tall as a tower", paint(image.Rect(0, 0, 100, 12800)), 10, 1280, red},
		{"as flat as a line", paint(image.Rect(0, 0, 6400, 1)), 320, 1, red},
		{"transparent", image.NewNRGBA(image.Rect(0, 0, 640, 640)), 320, 320, color.White},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data, err := picture.Thumbnail(tt.src, 0)
			require.NoError(t, err)
			m, err := jpeg.Decode(bytes.NewReader(data))
			if err != nil || m.Bounds().Dx() != tt.w || m.Bounds().Dy() != tt.h {
				t.Fatalf("Thumbnail is %v, %v; want %d x %d", m.Bounds(), err, tt.w, tt.h)
			}
			r, g, b, _ := m.At(tt.w/2, tt.h/2).RGBA()
			wr, wg, wb, _ := tt.want.RGBA()
			for _, d := range []int{int(r) - int(wr), int(g) - int(wg), int(b) - int(wb)} {
				if d > 0x600 || d < -0x600 {
					t.Errorf("the middle is %v; want %v", m.At(tt.w/2, tt.h/2), tt.want)
				}
			}
		})
	}
	if _, err := picture.Thumbnail(image.NewGray(image.Rect(0, 0, 0, 5)), 0); err == nil {
		t.Error("Thumbnail of nothing is no error")
	}
}

func BenchmarkThumbnail(b *testing.B) {
	for name, r := range map[string]image.Rectangle{
		"800x600": image.Rect(0, 0, 800, 600), "4000x3000": image.Rect(0, 0, 4000, 3000),
	} {
		b.Run(name, func(b *testing.B) {
			src := image.NewYCbCr(r, image.YCbCrSubsampleRatio420)
			for b.Loop() {
				if _, err := picture.Thumbnail(src, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// plain is a picture of black pixels as a JPEG whose scan has only the beginnings of blocks: frame is sof0 or, of a
// progressive one, sof2; each component has the sampling factors of a byte.
func plain(frame byte, w, h int, sampling ...byte) []byte {
	var b bytes.Buffer
	add := func(marker byte, body ...byte) {
		b.Write([]byte{0xff, marker})
		_ = binary.Write(&b, binary.BigEndian, uint16(len(body)+2))
		b.Write(body)
	}
	b.Write([]byte{0xff, 0xd8})
	if len(sampling) == 4 {
		add(0xee, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0)
	}
	add(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	components, scan := []byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), byte(len(sampling))}, []byte{byte(len(sampling))}
	blocks, hmax, vmax := 0, 0, 0
	for i, s := range sampling {
		components = append(components, byte(i+1), s, 0)
		scan = append(scan, byte(i+1), 0)
		blocks, hmax, vmax = blocks+int(s>>4)*int(s&15), max(hmax, int(s>>4)), max(vmax, int(s&15))
	}
	add(frame, components...)
	for _, class := range []byte{0, 0x10} { // one code, a zero bit: no difference, no more coefficients
		add(0xc4, append([]byte{class, 1}, make([]byte, 16)...)...)
	}
	bits, last := 1, byte(0)
	if frame == 0xc0 {
		bits, last = 2, 63
	}
	add(0xda, append(scan, 0, last, 0)...)
	mcus := ((w + 8*hmax - 1) / (8 * hmax)) * ((h + 8*vmax - 1) / (8 * vmax))
	b.Write(make([]byte, (mcus*blocks*bits+7)/8))
	b.Write([]byte{0xff, 0xd9})
	return b.Bytes()
}

// used is how many bytes f allocates at most.
func used(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A picture is refused for the memory that it would take before it takes any, and what is taken stays in the bound.
func TestReadBoundsMemory(t *testing.T) { // not parallel: it measures memory
	for _, tt := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"0.4 MB of progressive CMYK", plain(0xc2, 7070, 7070, 0x11, 0x11, 0x11, 0x11), false},
		{"progressive 4:4:4, 50 megapixels", plain(0xc2, 7070, 7070, 0x11, 0x11, 0x11), false},
		{"progressive 4:2:0, 50 megapixels", plain(0xc2, 7070, 7070, 0x22, 0x11, 0x11), false},
		{"progressive 4:2:0, 33 megapixels", plain(0xc2, 5770, 5770, 0x22, 0x11, 0x11), true},
		{"progressive CMYK, 10 megapixels", plain(0xc2, 3200, 3200, 0x11, 0x11, 0x11, 0x11), true},
		{"baseline 4:2:0, 50 megapixels", plain(0xc0, 7070, 7070, 0x22, 0x11, 0x11), true},
		{"a 16-bit PNG, 40 megapixels", header(t, 6400, 6400, 16), false},
		{"a PNG above all bounds", header(t, 30_000, 30_000, 8), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			took := used(func() { _, err = picture.Read(tt.data) })
			if (err == nil) != tt.ok {
				t.Errorf("Read of %d bytes = %v; want ok = %v", len(tt.data), err, tt.ok)
			}
			if class, _ := fault.Of(err); err != nil && class != fault.Invalid {
				t.Errorf("Read = %v (%s); want invalid", err, class)
			}
			most := uint64(1 << 20)
			if tt.ok {
				most = picture.MaxMemory + 32<<20 // the bound, and the thumbnail
			}
			if took > most {
				t.Errorf("Read took %d MiB, want at most %d", took>>20, most>>20)
			}
		})
	}
}

// header is a PNG that ends after its header.
func header(t *testing.T, w, h uint32, depth byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	var ihdr []byte
	ihdr = binary.BigEndian.AppendUint32(ihdr, w)
	ihdr = binary.BigEndian.AppendUint32(ihdr, h)
	b.Write(pngChunk("IHDR", append(ihdr, depth, 6, 0, 0, 0)))
	return b.Bytes()
}

func pngChunk(kind string, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// gps is Exif data with an orientation, a camera and a place, in big-endian order as cameras write it.
func gps(turn byte) []byte {
	return append([]byte{
		'M', 'M', 0, '*', 0, 0, 0, 8, 0, 2,
		0x01, 0x0f, 0, 2, 0, 0, 0, 4, 'S', 'E', 'C', 0, // the camera
		0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, turn, 0, 0,
		0, 0, 0, 0,
	}, "SECRET 45.5231 -73.5817"...)
}

// flag is a picture with a red left half and a blue right one, three times as wide as high.
func flag() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 96, 32))
	for y := range 32 {
		for x := range 96 {
			m.SetNRGBA(x, y, color.NRGBA{A: 255, R: byte(255 * (1 - x/48)), B: byte(255 * (x / 48))})
		}
	}
	return m
}

func segmentOf(marker byte, body string) []byte {
	return append([]byte{0xff, marker, byte((len(body) + 2) >> 8), byte(len(body) + 2)}, body...)
}

// Pictures of all formats with a secret in every place that metadata may be in.
func tainted(t *testing.T, turn byte) map[string][]byte {
	t.Helper()
	var j, p, g bytes.Buffer
	for _, err := range []error{jpeg.Encode(&j, flag(), nil), png.Encode(&p, flag()), gif.Encode(&g, flag(), nil)} {
		require.NoError(t, err)
	}
	withJPEG := bytes.Clone(j.Bytes()[:2])
	for _, s := range [][]byte{
		segmentOf(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"), segmentOf(0xe1, "Exif\x00\x00"+string(gps(turn))),
		segmentOf(0xe1, "http://ns.adobe.com/xap/1.0/\x00SECRET"), segmentOf(0xe2, "ICC_PROFILE\x00\x01\x01color"),
		segmentOf(0xe2, "MPF\x00SECRET"), segmentOf(0xed, "Photoshop 3.0\x00SECRET"), segmentOf(0xfe, "SECRET"),
	} {
		withJPEG = append(withJPEG, s...)
	}
	withJPEG = append(append(withJPEG, j.Bytes()[2:]...), "\xff\xd8SECRET: a second picture"...)

	withPNG := bytes.Clone(p.Bytes()[:33])
	for _, kind := range []string{"eXIf", "tEXt", "zTXt", "iTXt", "tIME", "prVt"} {
		body := []byte("Comment\x00SECRET")
		if kind == "eXIf" {
			body = gps(turn)
		}
		withPNG = append(withPNG, pngChunk(kind, body)...)
	}
	withPNG = append(append(withPNG, p.Bytes()[33:]...), "SECRET"...)

	withGIF := bytes.TrimSuffix(bytes.Clone(g.Bytes()), []byte{0x3b})
	withGIF = append(withGIF, "\x21\xfe\x06SECRET\x00\x21\xff\x0bXMP DataXMP\x06SECRET\x00\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00;SECRET"...)

	chunk := func(kind string, body []byte) []byte {
		out := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(body)))
		out = append(out, body...)
		return append(out, make([]byte, len(body)%2)...)
	}
	webp := append([]byte("WEBP"), chunk("VP8X", []byte{0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0})...)
	webp = append(webp, tinyWebP[12:]...)
	webp = append(append(webp, chunk("EXIF", gps(turn))...), chunk("XMP ", []byte("SECRET!"))...)
	return map[string][]byte{"jpeg": withJPEG, "png": withPNG, "gif": withGIF, "webp": chunk("RIFF", webp)}
}

// What a picture says beside its pixels goes, and the pixels stay as they are.
func TestReadStrips(t *testing.T) {
	t.Parallel()
	for name, data := range tainted(t, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			photo, err := picture.Read(data)
			require.NoError(t, err)
			for _, s := range []string{"SEC", "Exif", "EXIF", "eXIf", "XMP", "45.5231"} {
				if bytes.Contains(photo.Data, []byte(s)) {
					t.Errorf("%q is still there:\n%q", s, photo.Data)
				}
			}
			if name == "jpeg" && !bytes.Contains(photo.Data, []byte("ICC_PROFILE")) ||
				name == "gif" && !bytes.Contains(photo.Data, []byte("NETSCAPE2.0")) {
				t.Error("what the display needs is gone")
			}
			before, _, err := image.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			after, _, err := image.Decode(bytes.NewReader(photo.Data))
			require.NoError(t, err)
			for y := range before.Bounds().Dy() {
				for x := range before.Bounds().Dx() {
					if before.At(x, y) != after.At(x, y) {
						t.Fatalf("pixel %d,%d was %v and is %v", x, y, before.At(x, y), after.At(x, y))
					}
				}
			}
			again, err := picture.Read(photo.Data)
			if err != nil || !bytes.Equal(again.Data, photo.Data) {
				t.Errorf("stripped again it is another: %v", err)
			}
		})
	}
}

// A picture that is turned stays so: the original by its orientation, which is all that is left of its Exif, and the
// thumbnail by its pixels.
func TestReadTurns(t *testing.T) {
	t.Parallel()
	for turn := byte(1); turn <= 8; turn++ {
		data := tainted(t, turn)
		for _, format := range []string{"jpeg", "png"} {
			photo, err := picture.Read(data[format])
			require.NoError(t, err)
			thumb, err := jpeg.Decode(bytes.NewReader(photo.Thumbnail))
			require.NoError(t, err)
			// The picture's left half is red: where is it displayed?
			w, h, red := 96, 32, image.Pt(5, 16)
			switch turn {
			case 2, 3:
				red = image.Pt(90, 16)
			case 5, 6:
				w, h, red = 32, 96, image.Pt(16, 5)
			case 7, 8:
				w, h, red = 32, 96, image.Pt(16, 90)
			}
			if photo.Width != w || photo.Height != h || thumb.Bounds().Dx() != w || thumb.Bounds().Dy() != h {
				t.Errorf("%s, orientation %d: is %d x %d, thumbnail %v; want %d x %d", format, turn, photo.Width, photo.Height,
					thumb.Bounds(), w, h)
				continue
			}
			if r, _, b, _ := thumb.At(red.X, red.Y).RGBA(); r < 0xc000 || b > 0x4000 {
				t.Errorf("%s, orientation %d: %v is %v, want red", format, turn, red, thumb.At(red.X, red.Y))
			}
			if bytes.Contains(photo.Data, []byte("SEC")) {
				t.Errorf("%s, orientation %d: metadata is left", format, turn)
			}
			again, err := picture.Read(photo.Data)
			if err != nil || again.Width != w || !bytes.Equal(again.Data, photo.Data) ||
				!bytes.Equal(again.Thumbnail, photo.Thumbnail) {
				t.Errorf("%s, orientation %d: the original has lost its orientation (%v)", format, turn, err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range tainted(&testing.T{}, 6) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		photo, err := picture.Read(data)
		if err != nil {
			return
		}
		again, err := picture.Read(photo.Data)
		require.NoError(t, err, "a good picture is broken")
		if !bytes.Equal(again.Data, photo.Data) || again.Width != photo.Width {
			t.Error("stripped again it is another")
		}
	})
}

func TestReadNames(t *testing.T) {
	t.Parallel()
	for text, data := range map[string]string{
		"it is text/html, not JPEG": "<!DOCTYPE html><html>", "damaged or cut off": string(plain(0xc0, 8, 8, 0x11)[:30]),
		"unsupported type": "\xff",
	} {
		if _, err := picture.Read([]byte(data)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Read(%q) = %v; want %q", data, err, text)
		}
	}
}

// tinyWebP is one lossless pixel.
var tinyWebP = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00" +
	"\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
