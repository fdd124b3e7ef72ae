package confine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/picture"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// BenchmarkConfined compares reading in a child with reading here.
func BenchmarkConfined(b *testing.B) {
	var shop strings.Builder
	shop.WriteString(`<title>Kettle</title><h1>Kettle</h1><b class=price>$25.00</b><button>Add to cart</button>`)
	for i := range 2_000 {
		fmt.Fprintf(&shop, `<div class="card c%d"><a href="/p/%d"><img src="/%d.jpg" alt="x">A thing to buy</a><p>%s</p></div>`, i, i, i,
			strings.Repeat("words of a description ", 6))
	}
	page, photo := []byte(shop.String()), demosite.Photo("1", 1)
	p := pool(b, confine.Options{})
	for name, read := range map[string]func() error{
		"page here":     func() error { _, err := draft.Read(page, "https://s.example/k"); return err },
		"page child":    func() error { _, err := p.Extract(b.Context(), page, "https://s.example/k"); return err },
		"picture here":  func() error { _, err := picture.Read(photo); return err },
		"picture child": func() error { _, err := p.Picture(b.Context(), photo); return err },
	} {
		b.Run(name, func(b *testing.B) {
			least := time.Hour // says more than the mean on a machine that does other things, too
			for b.Loop() {
				began := time.Now()
				require.NoError(b, read())
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
		})
	}
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Do(b.Context(), "echo", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
