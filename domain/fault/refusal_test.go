package fault_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
)

func TestRefusalWaits(t *testing.T) {
	t.Parallel()
	want := 30 * time.Second
	for n, wait := range fault.RefusalWaits {
		assert.Equal(t, min(want, time.Hour), wait, n+1)
		want *= 2
	}
	require.Equal(t, time.Hour, fault.RefusalWaits[len(fault.RefusalWaits)-1], "the last wait")
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
		assert.Equal(t, tt.want, fault.Refusals(tt.after), tt.after)
	}
}
