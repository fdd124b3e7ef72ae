package fetch

import (
	"bytes"
	"context"
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

// Photo downloads a picture and checks it: at most MaxBytes after at most Options.MaxRedirects redirects, JPEG, PNG,
// GIF or WebP by its own bytes, at most MaxPixels. It may be repeated.
//
// The faults: Gone for 404, 410 and a host that does not exist; Throttled for 429 and 503, with the wait asked for, at
// most 5 minutes; Blocked for 401, 403 and 451; Transient for other 5xx, timeouts, cut connections and name servers
// that do not answer; Invalid for the rest: an address that is not public http(s), too many redirects or a loop, too
// large, not an image, too many pixels, damaged. Errors hold no query string and no credentials.
func (c *Client) Photo(ctx context.Context, address string) (web.Photo, error) {
	data, err := c.get(ctx, address, "image/webp,image/jpeg,image/png,image/gif;q=0.9,*/*;q=0.1")
	if err != nil {
		return web.Photo{}, err
	}
	img, err := c.decode(ctx, data)
	if err != nil {
		u, _ := parse(nil, address)
		return web.Photo{}, fmt.Errorf("fetch %s: %w", web.ShowURL(u), err)
	}
	return img, nil
}

// decode checks a picture and makes its thumbnail. What it will cost is known, and bounded, before it is decoded; all
// pictures being decoded at once hold at most MaxPixels together.
func (c *Client) decode(ctx context.Context, data []byte) (web.Photo, error) {
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
	pixels := int64(config.Width) * int64(config.Height)
	switch {
	case config.Width <= 0 || config.Height <= 0:
		return web.Photo{}, fault.Newf(fault.Invalid, "image is %d x %d px", config.Width, config.Height)
	case pixels > MaxPixels:
		return web.Photo{}, fault.Newf(fault.Invalid, "image is %d x %d px, the most is %d megapixels",
			config.Width, config.Height, MaxPixels/1_000_000)
	}
	if scans := int64(bytes.Count(data, []byte{0xff, 0xda})); format == "jpeg" && scans*pixels > maxScanPixels {
		return web.Photo{}, fault.Newf(fault.Invalid, "image is drawn in %d scans of %d x %d px, too much work",
			scans, config.Width, config.Height)
	}
	if err := c.decoders.Acquire(ctx, pixels); err != nil {
		return web.Photo{}, fmt.Errorf("wait for memory to decode an image: %w", err)
	}
	defer c.decoders.Release(pixels)
	picture, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return web.Photo{}, fault.Newf(fault.Invalid, "image is damaged or cut off: %w", err)
	}
	thumb, err := Thumbnail(picture)
	if err != nil {
		return web.Photo{}, err
	}
	return web.Photo{
		Data: data, ContentType: mime, Ext: ext, Width: config.Width, Height: config.Height, Thumbnail: thumb,
	}, nil
}

// Thumbnail scales a picture down to ThumbWidth pixels wide and four times as high at most, keeping its proportions,
// and returns a JPEG. A smaller one keeps its size; transparent pixels become white. A picture without pixels is
// fault.Invalid.
func Thumbnail(src image.Image) ([]byte, error) {
	from := src.Bounds()
	if from.Empty() {
		return nil, fault.Newf(fault.Invalid, "make a thumbnail: image is %d x %d px", from.Dx(), from.Dy())
	}
	scale := min(1, ThumbWidth/float64(from.Dx()), 4*ThumbWidth/float64(from.Dy()))
	size := image.Rect(0, 0, scaled(from.Dx(), scale), scaled(from.Dy(), scale))
	// The good kernel looks at every pixel of its source, seconds for 50 megapixels: first go coarsely to twice the size.
	if scale < 0.25 {
		half := image.Rect(0, 0, 2*size.Dx(), 2*size.Dy())
		src, from = onWhite(draw.ApproxBiLinear, half, src, from), half
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, onWhite(draw.CatmullRom, size, src, from), &jpeg.Options{Quality: 80}); err != nil {
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
