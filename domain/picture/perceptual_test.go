package picture_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/draw"

	"github.com/mtlrent/conveyor/domain/picture"
)

// room is a picture of some boxes before a wall, other ones for each seed.
func room(seed uint64) *image.RGBA {
	dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a picture
	m := image.NewRGBA(image.Rect(0, 0, 960, 640))
	fill := func(r image.Rectangle, c color.RGBA) { draw.Draw(m, r, image.NewUniform(c), image.Point{}, draw.Src) }
	shade := func() color.RGBA {
		return color.RGBA{uint8(dice.IntN(256)), uint8(dice.IntN(256)), uint8(dice.IntN(256)), 255}
	}
	fill(m.Rect, shade())
	for range 25 {
		x, y := dice.IntN(900), dice.IntN(600)
		fill(image.Rect(x, y, x+40+dice.IntN(400), y+40+dice.IntN(300)), shade())
	}
	return m
}

func hash(t *testing.T, m image.Image, quality int) uint64 {
	t.Helper()
	var b bytes.Buffer
	var err error
	if quality == 0 {
		err = png.Encode(&b, m)
	} else {
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: quality})
	}
	require.NoError(t, err)
	photo, err := picture.Read(b.Bytes())
	require.NoError(t, err)
	return photo.Perceptual
}

// Copies of a picture in the sizes and qualities of platforms differ in few bits, other pictures in many.
func TestPerceptual(t *testing.T) {
	t.Parallel()
	const pictures = 12
	var all []uint64
	for seed := range uint64(pictures) {
		src := room(seed)
		of := hash(t, src, 0)
		for _, copied := range []struct{ w, h, quality int }{{640, 427, 80}, {640, 427, 40}, {960, 640, 60}, {200, 133, 75}} {
			m := image.NewRGBA(image.Rect(0, 0, copied.w, copied.h))
			draw.BiLinear.Scale(m, m.Rect, src, src.Rect, draw.Src, nil)
			if d := bits.OnesCount64(of ^ hash(t, m, copied.quality)); d > 4 {
				t.Errorf("picture %d, %+v: %d bits differ", seed, copied, d)
			}
		}
		all = append(all, of)
	}
	for i, a := range all {
		for j := range i {
			if d := bits.OnesCount64(a ^ all[j]); d <= 8 {
				t.Errorf("pictures %d and %d: only %d bits differ", i, j, d)
			}
		}
	}
}

// A plain picture, a gradient and a tiny one say too little.
func TestPerceptualOfLittle(t *testing.T) {
	t.Parallel()
	gradient := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for x := range 400 {
		for y := range 300 {
			gradient.SetRGBA(x, y, color.RGBA{uint8(x / 2), uint8(x / 2), uint8(x / 2), 255})
		}
	}
	for name, m := range map[string]image.Image{
		"plain": image.NewRGBA(image.Rect(0, 0, 400, 300)), "gradient": gradient, "a pixel": image.NewRGBA(image.Rect(0, 0, 1, 1)),
	} {
		assert.Zero(t, hash(t, m, 0), name)
	}
}
