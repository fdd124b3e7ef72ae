package demosite

import (
	"bytes"
	"hash/fnv"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"

	ximage "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

var photoFile = regexp.MustCompile(`^([1-9][0-9]{0,3})\.jpg$`)

func photo(w http.ResponseWriter, r *http.Request) {
	m := photoFile.FindStringSubmatch(r.PathValue("file"))
	if m == nil || len(r.PathValue("id")) > 100 {
		http.Error(w, "demo: no such photo", http.StatusNotFound)
		return
	}
	n, _ := strconv.Atoi(m[1]) // four digits
	data := Photo(r.PathValue("id"), n)
	w.Header().Set("Content-Type", "image/jpeg")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = w.Write(data)
}

// Photo draws the n-th photo of an advert: the house from the street for n = 1, its rooms after that. It returns a JPEG
// of 800 × 600, the same bytes for the same id and n; different ones have different colours, and their number in them.
func Photo(id string, n int) []byte {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	p := painter{
		RGBA:  image.NewRGBA(image.Rect(0, 0, 800, 600)),
		house: rand.New(rand.NewPCG(h.Sum64(), 1)),
		room:  rand.New(rand.NewPCG(h.Sum64(), uint64(n)+1)),
	}
	if n == 1 {
		p.facade()
	} else {
		p.interior()
	}
	p.text("DEMO  "+id+"  "+strconv.Itoa(n), 24, 560)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p.RGBA, &jpeg.Options{Quality: 82}); err != nil {
		panic("demosite: encode a photo: " + err.Error()) // in memory, of a size that fits
	}
	return b.Bytes()
}

// painter draws with colours that belong to the house or to the room.
type painter struct {
	*image.RGBA
	house, room *rand.Rand
}

func (p painter) fill(x0, y0, x1, y1 int, c color.Color) {
	draw.Draw(p.RGBA, image.Rect(x0, y0, x1, y1), image.NewUniform(c), image.Point{}, draw.Src)
}

// fade fills the rows from y0 to y1 with the colours between two.
func (p painter) fade(y0, y1 int, from, to color.RGBA) {
	mix := func(a, b uint8, y int) uint8 { return uint8((int(a)*(y1-y) + int(b)*(y-y0)) / (y1 - y0)) }
	for y := y0; y < y1; y++ {
		p.fill(0, y, 800, y+1, color.RGBA{mix(from.R, to.R, y), mix(from.G, to.G, y), mix(from.B, to.B, y), 255})
	}
}

// facade is a walk-up with windows, a door and the outside stairs of the city.
func (p painter) facade() {
	r := p.house
	brick := color.RGBA{uint8(120 + r.IntN(80)), uint8(60 + r.IntN(60)), uint8(50 + r.IntN(40)), 255}
	door := color.RGBA{uint8(r.IntN(120)), uint8(40 + r.IntN(120)), uint8(60 + r.IntN(120)), 255}
	p.fade(0, 480, color.RGBA{110, 170, 230, 255}, color.RGBA{225, 238, 250, 255})
	p.fill(0, 480, 800, 600, color.RGBA{120, 122, 126, 255})
	p.fill(0, 480, 800, 496, color.RGBA{96, 140, 84, 255})
	storeys, columns := 2+r.IntN(3), 3+r.IntN(3)
	top, height := 480-storeys*110, 110
	p.fill(90, top-14, 710, 480, brick)
	p.fill(80, top-26, 720, top-10, shade(brick, 0.6))
	for y := top; y < 480; y += 11 {
		p.fill(90, y, 710, y+1, shade(brick, 0.88))
	}
	for s := range storeys {
		for c := range columns {
			x, y := 120+c*(580/columns), top+s*height+16
			if s == storeys-1 && c == columns/2 {
				p.fill(x, y+4, x+64, 480, shade(door, 0.7))
				p.fill(x+5, y+9, x+59, 480, door)
				p.fill(x+48, y+52, x+53, y+57, color.RGBA{230, 200, 90, 255})
				continue
			}
			p.window(x, y, 64, 70, color.RGBA{160, 200, 225, 255})
		}
	}
	for i := range 9 { // the stairs to the first floor
		p.fill(600+i*11, 470-i*12, 640+i*11, 474-i*12, color.RGBA{40, 42, 46, 255})
	}
}

// interior is a room: walls, floor boards, a window, a sofa, a lamp and a picture.
func (p painter) interior() {
	r := p.room
	wall := color.RGBA{uint8(190 + r.IntN(60)), uint8(190 + r.IntN(60)), uint8(185 + r.IntN(60)), 255}
	wood := color.RGBA{uint8(140 + r.IntN(60)), uint8(95 + r.IntN(40)), uint8(55 + r.IntN(30)), 255}
	sofa := color.RGBA{uint8(40 + r.IntN(160)), uint8(40 + r.IntN(160)), uint8(60 + r.IntN(160)), 255}
	p.fade(0, 400, shade(wall, 0.92), wall)
	p.fill(0, 400, 800, 600, wood)
	for x := -200; x < 1000; x += 90 {
		for y := 400; y < 600; y++ {
			p.fill(x+(400-x)*(600-y)/900, y, x+(400-x)*(600-y)/900+2, y+1, shade(wood, 0.8))
		}
	}
	p.fill(0, 390, 800, 402, color.RGBA{250, 250, 248, 255})
	p.window(90+r.IntN(160), 70, 190, 220, color.RGBA{170, 212, 240, 255})
	x := 300 + r.IntN(160)
	p.fill(x, 330, x+290, 400, shade(sofa, 0.85))
	p.fill(x-22, 370, x+312, 452, sofa)
	p.fill(x-10, 452, x+6, 468, shade(sofa, 0.4))
	p.fill(x+284, 452, x+300, 468, shade(sofa, 0.4))
	p.fill(x+40, 120, x+170, 220, shade(wood, 0.6))
	p.fill(x+48, 128, x+162, 212, color.RGBA{uint8(r.IntN(255)), uint8(r.IntN(255)), uint8(r.IntN(255)), 255})
	p.fill(716, 250, 722, 440, color.RGBA{60, 60, 62, 255})
	p.fill(690, 200, 748, 252, color.RGBA{250, 232, 180, 255})
}

func (p painter) window(x, y, w, h int, glass color.RGBA) {
	frame := color.RGBA{245, 245, 242, 255}
	p.fill(x-4, y-4, x+w+4, y+h+4, frame)
	p.fill(x, y, x+w, y+h, glass)
	p.fill(x, y, x+w, y+h/3, shade(glass, 1.06))
	p.fill(x+w/2-2, y, x+w/2+2, y+h, frame)
	p.fill(x, y+h/2-2, x+w, y+h/2+2, frame)
}

// text writes in letters of 26 pixels on a dark band.
func (p painter) text(s string, x, y int) {
	if len(s) > 50 {
		s = s[:50]
	}
	small := image.NewRGBA(image.Rect(0, 0, 7*len(s)+4, 15))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.RGBA{20, 24, 32, 255}), image.Point{}, draw.Src)
	d := font.Drawer{Dst: small, Src: image.White, Face: basicfont.Face7x13, Dot: fixed.P(2, 12)}
	d.DrawString(s)
	at := image.Rect(x, y-28, x+2*small.Rect.Dx(), y+2)
	ximage.NearestNeighbor.Scale(p.RGBA, at, small, small.Rect, draw.Src, nil)
}

func shade(c color.RGBA, by float64) color.RGBA {
	f := func(v uint8) uint8 { return uint8(min(255, float64(v)*by)) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 255}
}
