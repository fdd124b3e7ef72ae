package picture

import (
	"image"
	"math"
	"slices"
)

// The grid that a perceptual hash looks at, and how many of its frequencies each way are in the hash.
const (
	hashGrid = 32
	hashSide = 8
)

// leastContrast is between the darkest and the lightest cell, of 255: a picture with less is plain.
const leastContrast = 24

// cosines are those of the discrete cosine transform: of frequency u at cell x.
var cosines = func() (c [hashSide][hashGrid]float64) {
	for u := range c {
		for x := range c[u] {
			c[u][x] = math.Cos(float64(2*x+1) * float64(u) * math.Pi / (2 * hashGrid))
		}
	}
	return c
}()

// perceptual is a hash of 63 bits of what a picture looks like: which of its lowest frequencies, but for its mean, are
// above their median. Copies in another size, format or quality differ in a few bits, other pictures in about half. 0
// is a picture that says too little: a plain one, or one whose shades change along one axis only.
func perceptual(p *image.RGBA) uint64 {
	var cells [hashGrid][hashGrid]float64
	low, high := 255., 0.
	for y := range hashGrid {
		for x := range hashGrid {
			l := luminance(p, image.Rect(x*p.Rect.Dx()/hashGrid, y*p.Rect.Dy()/hashGrid,
				(x+1)*p.Rect.Dx()/hashGrid, (y+1)*p.Rect.Dy()/hashGrid))
			cells[y][x] = l
			low, high = min(low, l), max(high, l)
		}
	}
	if high-low < leastContrast {
		return 0
	}
	var rows [hashGrid][hashSide]float64
	for y := range hashGrid {
		for u := range hashSide {
			for x := range hashGrid {
				rows[y][u] += cells[y][x] * cosines[u][x]
			}
		}
	}
	waves := make([]float64, 0, hashSide*hashSide)
	across, along := 0., 0. // energy of the frequencies of both axes, and of one
	for v := range hashSide {
		for u := range hashSide {
			sum := 0.
			for y := range hashGrid {
				sum += rows[y][u] * cosines[v][y]
			}
			waves = append(waves, sum)
			switch {
			case u > 0 && v > 0:
				across += sum * sum
			case u > 0 || v > 0:
				along += sum * sum
			}
		}
	}
	if across < along/1000 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(waves[1:]))
	median := sorted[len(sorted)/2]
	var hash uint64
	for i, w := range waves[1:] {
		if w > median {
			hash |= 1 << (i + 1)
		}
	}
	return hash
}

// luminance is the mean of the cell's pixels, 0 to 255; that of one pixel where the picture is smaller than the grid.
func luminance(p *image.RGBA, cell image.Rectangle) float64 {
	cell.Max.X, cell.Max.Y = max(cell.Max.X, cell.Min.X+1), max(cell.Max.Y, cell.Min.Y+1)
	cell = cell.Add(p.Rect.Min).Intersect(p.Rect)
	sum := 0
	for y := cell.Min.Y; y < cell.Max.Y; y++ {
		line := p.Pix[p.PixOffset(cell.Min.X, y):]
		for x := range cell.Dx() {
			sum += 299*int(line[4*x]) + 587*int(line[4*x+1]) + 114*int(line[4*x+2])
		}
	}
	return float64(sum) / 1000 / float64(cell.Dx()*cell.Dy())
}
