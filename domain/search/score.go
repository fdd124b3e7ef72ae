package search

import "math"

// Ranking is BM25F (Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", Foundations and
// Trends in Information Retrieval 3(4), 2009, section 3.6): counts of a word are weighed by field and divided by the
// field's length relative to the mean, added, and saturated once. k1 and b are that work's usual ones (section 3.5:
// 1.2 to 2 and 0.5 to 0.8). Short fields have a smaller b: that a title is twice as long as another says little.
const (
	k1 = 1.2
	// exactBonus is what a word counts more, of its score, where the page has the very form that was asked for, not only
	// another form of it.
	exactBonus = 0.1
	// otherShare is the part of a score that a word gives which was not asked for: a correction.
	otherShare = 0.5
	// wholeTitle is what the words of a query count more, of their idf, where they are all that the title of a page has:
	// as much as any count of them gives. Who asks so knows the page. Questions of the Cranfield collection are no titles:
	// it cannot tell, and its order stays as it is.
	wholeTitle = k1 + 1
	// rowBonus is what words count more, of their idf, that stand in a page as signs join them in the query (inRows).
	rowBonus = (k1 + 1) / 2
)

var (
	weights = [fieldCount]float32{fieldTitle: 2, fieldHeadings: 1.5, fieldAddress: 1, fieldBody: 1}
	slopes  = [fieldCount]float32{fieldTitle: 0.5, fieldHeadings: 0.5, fieldAddress: 0.5, fieldBody: 0.75}
)

// norms turn counts into weighed ones, for the mean lengths of one snapshot: weight * count / (flat + slope*length).
type norms struct {
	flat, slope [fieldCount]float32
}

func newNorms(s *Snapshot) norms {
	var means [fieldCount]float32
	for f := range means {
		if s.total[f] > 0 {
			means[f] = float32(float64(s.total[f]) / float64(s.docs))
		}
	}
	return normsOf(means)
}

// normsOf are the norms for mean lengths in words.
func normsOf(means [fieldCount]float32) (n norms) {
	for f, mean := range means {
		// Divided by the weight already. A field that no document has is not divided.
		n.flat[f] = 1 / weights[f]
		if mean > 0 {
			n.flat[f] = (1 - slopes[f]) / weights[f]
			n.slope[f] = slopes[f] / mean / weights[f]
		}
	}
	return n
}

// short adds the weighed counts of a term in the short fields of a document to that in its body.
func (n *norms) short(tf float32, c *Columns, ord uint32, counts counts) float32 {
	for f := range fieldBody {
		if k := counts.of(f); k > 0 {
			tf += float32(k) / (n.flat[f] + n.slope[f]*float32(c.lengths[f][ord]))
		}
	}
	return tf
}

// idf is how much a word tells that df of n documents have: Robertson and Spärck Jones' weight without relevance
// information, kept positive by adding one, as Lucene does.
func idf(df, n int) float32 {
	return float32(math.Log1p((float64(n) - float64(df) + 0.5) / (float64(df) + 0.5)))
}

// saturate is the share of an idf that a weighed count gives.
func saturate(tf float32) float32 { return tf * (k1 + 1) / (tf + k1) }

// A place is an occurrence of a word of the query.
type place struct {
	at   uint32
	word int // of the query
}

// near is how close together the words of a query stand in a document: Büttcher, Clarke & Lushman, "Term proximity
// scoring for ad-hoc retrieval on very large text collections", SIGIR 2006. Each pair of neighbouring occurrences of
// different words adds to both words the weight of the other over the square of their distance; what a word has is
// saturated like its counts and weighed by at most 1. norm is that of the document's length. The places are ascending.
func near(places []place, idfs []float32, norm float32) float32 {
	var acc [mostClauses]float32
	for i := 1; i < len(places); i++ {
		a, b := places[i-1], places[i]
		if a.word == b.word {
			continue
		}
		d := float32(max(b.at-a.at, 1))
		acc[a.word] += idfs[b.word] / (d * d)
		acc[b.word] += idfs[a.word] / (d * d)
	}
	var sum float32
	for w, v := range acc[:len(idfs)] {
		if v > 0 {
			sum += min(1, idfs[w]) * v * (k1 + 1) / (v + k1*norm)
		}
	}
	return sum
}
