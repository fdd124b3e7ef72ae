package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/web"
)

// What a crawler does with a page of documentation, about 25 kB with 150 links.
func BenchmarkRead(b *testing.B) {
	var s strings.Builder
	s.WriteString("<!DOCTYPE html><html lang=en><head><title>Class X</title><script>var a = 1 < 2;</script></head><body>\n")
	for i := range 150 {
		fmt.Fprintf(&s, "<li class=\"blockList\"><h4>method%d</h4><a href=\"../../org/site/Class%d.html#m%d\" title=\"class in org.site\">"+
			"<code>Class%d</code></a>&nbsp;<div class='block'>Returns the value, <b>never</b> null.</div></li>\n", i, i, i, i)
	}
	body := []byte(s.String())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := page.Read(body, page.ReadOptions{Text: true})
		base, err := web.NewBase("http://127.0.0.1:8080/api/org/site/Class1.html")
		require.NoError(b, err)
		for _, l := range r.Links {
			if _, ok := base.Resolve(l.Href); !ok {
				b.Fatal(l)
			}
		}
	}
}
