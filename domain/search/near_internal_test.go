package search

import "testing"

// The positions that are read for the order of the best answers are bounded, whatever a question asks for; of its words
// the rarest are near one another.
func TestNearGroups(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		df   []int
		want uint32
	}{
		{"a word", []int{900_000}, 1},
		{"a word that is too common", []int{2_000_000}, 0},
		{"two common words", []int{450_000, 500_000}, 0b11},
		{"two that are too common", []int{450_000, 600_000}, 0},
		{"a rare word and one that is too common", []int{10, 2_000_000}, 0},
		{"rare words and one that is too common", []int{10, 2_000_000, 20}, 0b101},
		{"five common words", []int{150_000, 150_000, 150_000, 150_000, 150_000}, 0b11111},
		{"six common words", []int{150_000, 150_000, 150_000, 150_000, 150_000, 150_001}, 0b11111},
		{"a long question", []int{90_000, 10, 80_000, 20, 70_000, 30, 60_000, 40, 50_000, 50}, 0b1111111110},
		{"a small collection", []int{9000, 10, 8000, 20, 7000, 30, 6000, 40, 5000, 50}, 0b1111111111},
	} {
		r := &Ranking{df: tt.df}
		for i := range tt.df {
			r.groups, r.bits = append(r.groups, new(group)), append(r.bits, i)
		}
		if got := r.nearGroups(); got != tt.want {
			t.Errorf("%s: words %b, want %b", tt.name, got, tt.want)
		}
	}
}
