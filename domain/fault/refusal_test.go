package fault_test

import (
	"testing"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

func TestRefusalWaits(t *testing.T) {
	t.Parallel()
	want := 30 * time.Second
	for n, wait := range fault.RefusalWaits {
		if wait != min(want, time.Hour) {
			t.Errorf("wait after refusal %d = %s; want %s", n+1, wait, min(want, time.Hour))
		}
		want *= 2
	}
	if last := fault.RefusalWaits[len(fault.RefusalWaits)-1]; last != time.Hour {
		t.Errorf("the last wait is %s; want 1h", last)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{
		{0, 0}, {-time.Second, 0}, {time.Second, 2}, {30 * time.Second, 2}, {31 * time.Second, 3}, {90 * time.Second, 3},
		{time.Hour, 8}, {24 * time.Hour, 31},
	} {
		if got := fault.Refusals(tt.after); got != tt.want {
			t.Errorf("Refusals(%s) = %d; want %d", tt.after, got, tt.want)
		}
	}
}
