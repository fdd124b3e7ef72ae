// Package picture checks pictures: JPEG, PNG, GIF and WebP, from strangers. It knows what decoding one costs before it
// does, takes off what a picture says beside its pixels, and makes thumbnails.
package picture

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // a decoder
	"image/jpeg"
	_ "image/png" // a decoder
	"strings"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a decoder

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// MaxPixels is the largest picture that is decoded.
const MaxPixels = 50_000_000

// MaxMemory is how much memory decoding a picture may take, in bytes: most formats reach it before MaxPixels.
const MaxMemory = 256 << 20

// ThumbWidth is the width of a thumbnail in pixels; a narrower picture keeps its own.
const ThumbWidth = 320

// maxScanPixels bounds the work that a progressive JPEG may ask for: each scan goes over all pixels again, and costs
// its sender a few bytes.
const maxScanPixels = 40 * MaxPixels

var extensions = map[string]string{
	"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp",
}

// movingPNG is how a PNG with more frames is sniffed. Its first frame is a PNG.
const movingPNG = "image/vnd.mozilla.apng"

// Read checks a picture, JPEG, PNG, GIF or WebP by its own bytes, and makes its thumbnail. The photo's data is the
// picture without its metadata (see strip), and its size is as it is displayed. fault.Invalid: another format, damaged,
// above MaxPixels, or above MaxMemory once decoded, which is known before it is decoded.
func Read(data []byte) (web.Photo, error) {
	mime, _, _ := strings.Cut(mimetype.Detect(data).String(), ";")
	if mime == movingPNG {
		mime = "image/png"
	}
	ext, ok := extensions[mime]
	if !ok {
		return web.Photo{}, fault.Newf(fault.Invalid, "unsupported type of image: it is %s, not JPEG, PNG, GIF or WebP", mime)
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return web.Photo{}, fault.Newf(fault.Invalid, "image is damaged or cut off: %w", err)
	}
	if "image/"+format != mime {
		return web.Photo{}, fault.Newf(fault.Invalid, "image is damaged: it looks like %s and reads as %s", mime, format)
	}
	if err := affordable(data, format, config.Width, config.Height); err != nil {
		return web.Photo{}, err
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return web.Photo{}, fault.Newf(fault.Invalid, "image is damaged or cut off: %w", err)
	}
	stripped, turn := strip(data, format)
	small, err := shrunk(decoded, turn)
	if err != nil {
		return web.Photo{}, err
	}
	thumb, err := encoded(small)
	if err != nil {
		return web.Photo{}, err
	}
	if turn.swaps() {
		config.Width, config.Height = config.Height, config.Width
	}
	return web.Photo{
		Data: stripped, ContentType: mime, Ext: ext, Width: config.Width, Height: config.Height, Thumbnail: thumb,
		Perceptual: perceptual(small),
	}, nil
}

// affordable returns fault.Invalid for a picture that takes too much memory or work to decode.
func affordable(data []byte, format string, width, height int) error {
	pixels := int64(width) * int64(height)
	switch {
	case width <= 0 || height <= 0:
		return fault.Newf(fault.Invalid, "image is %d x %d px", width, height)
	case pixels > MaxPixels:
		return fault.Newf(fault.Invalid, "image is %d x %d px, the most is %d megapixels", width, height, MaxPixels/1_000_000)
	}
	if need := weight(data, format, pixels); need > MaxMemory {
		return fault.Newf(fault.Invalid, "image of %d x %d px takes %d MiB to decode, the most is %d", width, height,
			need>>20, MaxMemory>>20)
	}
	if scans := int64(bytes.Count(data, []byte{0xff, sos})); format == "jpeg" && scans*pixels > maxScanPixels {
		return fault.Newf(fault.Invalid, "image is drawn in %d scans of %d x %d px, too much work", scans, width, height)
	}
	return nil
}

// weight is how many bytes the decoders of image and golang.org/x/image take for so many pixels, at most.
func weight(data []byte, format string, pixels int64) int64 {
	switch format {
	case "jpeg":
		return int64(float64(pixels) * jpegBytes(data))
	case "png":
		each := int64(4)
		if len(data) > 28 && data[24] == 16 { // bits a sample, in the header
			each = 8
		}
		if len(data) > 28 && data[28] != 0 { // interlaced: the last pass is a picture of half the size
			each += each / 2
		}
		return each * pixels
	case "gif":
		return 2 * pixels
	}
	if len(data) > 16 && string(data[12:16]) == "VP8 " {
		return 2 * pixels
	}
	return 10 * pixels // without loss, or with transparency, which is written so
}

// jpegBytes is how many bytes a pixel of a JPEG takes: a byte a sample; four more while the scans of a progressive one
// come in; four for the copy of one that is not in YCbCr.
func jpegBytes(data []byte) float64 {
	var samples, copied float64
	progressive := false
	for s := range segments(data) {
		switch body := s.body; {
		case s.marker == app14 && len(body) >= 12 && bytes.HasPrefix(body, []byte("Adobe")) && body[11] == 0:
			copied = 4
		case s.frame() && len(body) >= 6 && len(body) >= 6+3*int(body[5]):
			progressive = s.marker == sof2
			var areas, widest, highest int
			for c := body[6 : 6+3*int(body[5])]; len(c) >= 3; c = c[3:] {
				h, v := int(c[1]>>4), int(c[1]&15)
				areas, widest, highest = areas+h*v, max(widest, h), max(highest, v)
			}
			samples = float64(areas) / float64(max(1, widest*highest))
			if body[5] == 4 || body[5] == 3 && body[6] == 'R' && body[9] == 'G' && body[12] == 'B' {
				copied = 4
			}
		}
	}
	if progressive {
		samples *= 5
	}
	return samples + copied
}

// Thumbnail scales a picture down to ThumbWidth pixels wide and four times as high at most, keeping its proportions,
// turns it, and returns a JPEG. A smaller one keeps its size; transparent pixels become white. A picture without pixels
// is fault.Invalid.
func Thumbnail(src image.Image, turn Orientation) ([]byte, error) {
	small, err := shrunk(src, turn)
	if err != nil {
		return nil, err
	}
	return encoded(small)
}

// shrunk is the picture that a thumbnail shows.
func shrunk(src image.Image, turn Orientation) (*image.RGBA, error) {
	from := src.Bounds()
	if from.Empty() {
		return nil, fault.Newf(fault.Invalid, "make a thumbnail: image is %d x %d px", from.Dx(), from.Dy())
	}
	wide, high := from.Dx(), from.Dy()
	if turn.swaps() {
		wide, high = high, wide
	}
	scale := min(1, ThumbWidth/float64(wide), 4*ThumbWidth/float64(high))
	size := image.Rect(0, 0, scaled(from.Dx(), scale), scaled(from.Dy(), scale))
	// The good kernel looks at every pixel of its source, seconds for 50 megapixels: first go coarsely to twice the size.
	if scale < 0.25 {
		half := image.Rect(0, 0, 2*size.Dx(), 2*size.Dy())
		src, from = onWhite(draw.ApproxBiLinear, half, src, from), half
	}
	return turn.of(onWhite(draw.CatmullRom, size, src, from)), nil
}

func encoded(small image.Image) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: 80}); err != nil {
		return nil, fmt.Errorf("make a thumbnail: %w", err)
	}
	return b.Bytes(), nil
}

func scaled(n int, by float64) int { return max(1, int(float64(n)*by+0.5)) }

func onWhite(s draw.Scaler, size image.Rectangle, src image.Image, from image.Rectangle) *image.RGBA {
	dst := image.NewRGBA(size)
	draw.Draw(dst, size, image.White, image.Point{}, draw.Src)
	s.Scale(dst, size, src, from, draw.Over, nil)
	return dst
}
