package cranfield_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/cranfield"
)

// TestRead reads files of the collection's form, whose questions have numbers that mean nothing.
func TestRead(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	for name, text := range map[string]string{
		"cran.all.1400.xml": "<doc>\n<docno>1</docno>\n<title>a wing\n</title>\n<text>a wing\nof air</text>\n</doc>\n" +
			"<doc><docno>2</docno><title></title><text></text></doc>",
		"cran.qry.xml":      "<xml><top><num> 1</num><title>\nwhat wing .\n</title></top><top><num> 4</num><title>air</title></top></xml>",
		"cranqrel.trec.txt": "1 0 1 1\n1 0 2 0\n2 0 2 3\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c, err := cranfield.Read(dir)
	require.NoError(t, err)
	if len(c.Documents) != 2 || c.Documents[0] != (cranfield.Document{Number: 1, Title: "a wing", Text: "a wing\nof air"}) {
		t.Errorf("documents %v", c.Documents)
	}
	if len(c.Questions) != 2 || c.Questions[0].Text != "what wing ." || len(c.Questions[0].Grades) != 1 ||
		c.Questions[1].Number != 2 || c.Questions[1].Grades[2] != 3 {
		t.Errorf("questions %v", c.Questions)
	}
}

func TestGrades(t *testing.T) {
	t.Parallel()

	q := cranfield.Question{Grades: map[int]int{1: 1, 2: 2}}
	for _, tt := range []struct {
		ranking  []int
		ndcg, ap float64
	}{
		{[]int{2, 1}, 1, 1},
		{[]int{1, 2}, (1 + 3/math.Log2(3)) / (3 + 1/math.Log2(3)), 1},
		{[]int{9, 2, 8, 1}, (3/math.Log2(3) + 1/math.Log2(5)) / (3 + 1/math.Log2(3)), .5},
		{nil, 0, 0},
	} {
		if ndcg, ap := q.NDCG(tt.ranking), q.AveragePrecision(tt.ranking); math.Abs(ndcg-tt.ndcg)+math.Abs(ap-tt.ap) > 1e-9 {
			t.Errorf("%v: nDCG %v and precision %v, want %v and %v", tt.ranking, ndcg, ap, tt.ndcg, tt.ap)
		}
	}
}
