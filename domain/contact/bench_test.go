package contact_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// people is a file of n contacts in 8 columns, with numbers of Canada and the United States, or, abroad, of elsewhere.
func people(n int, abroad bool) []byte {
	r := rand.New(rand.NewPCG(7, 7))
	var b bytes.Buffer
	b.WriteString("First Name,Last Name,Phone,Email,City,Language,Tags,Note\n")
	codes := []int{514, 438, 450, 418, 581, 819, 416, 647, 604, 212, 305, 617, 503, 802}
	for i := range n {
		phone := fmt.Sprintf("(%d) %d-%04d", codes[r.IntN(len(codes))], 200+r.IntN(800), r.IntN(10000))
		if abroad {
			phone = fmt.Sprintf("+336%08d", r.IntN(1e8))
		}
		fmt.Fprintf(&b, "Zoé,Côté-%d,%s,person.%d@example.com,Montréal,fr,\"vip;may\",\"said \"\"hello\"\", twice\"\n", i, phone, i)
	}
	return b.Bytes()
}

// BenchmarkSplit and BenchmarkParse say how many rows a second one core reads.
func BenchmarkSplit(b *testing.B) {
	data := people(100_000, false)
	f := importFile(b, data[:2000], contact.Options{})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.plan.Split(bytes.NewReader(data), contact.Position{}, func(contact.Chunk) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkParse(b *testing.B) {
	for name, abroad := range map[string]bool{"north-america": false, "france": true} {
		b.Run(name, func(b *testing.B) {
			data := people(20_000, abroad)
			f := importFile(b, data, contact.Options{})
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range f.chunks {
					part := bytes.NewReader(data[c.Offset : c.Offset+c.Length])
					require.NoError(b, f.plan.Parse(part, c, func(contact.Row) error { return nil }))
				}
			}
			b.ReportMetric(float64(len(f.rows))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(f.invalid), "invalid")
		})
	}
}

func BenchmarkXLSX(b *testing.B) {
	var rows bytes.Buffer
	rows.WriteString(header)
	for i := range 20_000 {
		fmt.Fprintf(&rows, `<row r="%d"><c r="A%d" t="s"><v>3</v></c><c r="B%d"><v>514555%04d</v></c><c r="C%d" s="1"><v>33010</v></c></row>`,
			i+2, i+2, i+2, i%10000, i+2)
	}
	data := workbook(rows.String())
	src, size := bytes.NewReader(data), int64(len(data))
	plan, err := contact.Sniff(src, size, contact.Options{Region: "CA"})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		text, err := plan.Open(src, size)
		require.NoError(b, err)
		if _, err := io.Copy(io.Discard, text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
