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
