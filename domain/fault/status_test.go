package fault_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/fault"
)

func TestOfStatus(t *testing.T) {
	t.Parallel()
	for class, statuses := range map[fault.Class][]int{
		"":              {0, 100, 200, 204, 206, 301, 304, 308, 399},
		fault.Gone:      {404, 410},
		fault.Blocked:   {401, 403, 451},
		fault.Throttled: {429, 503},
		fault.Transient: {408, 421, 425, 500, 501, 502, 504, 520, 599, 999},
		fault.Invalid:   {400, 402, 405, 406, 407, 409, 411, 412, 413, 414, 415, 416, 418, 422, 423, 426, 431, 499},
	} {
		for _, status := range statuses {
			assert.Equal(t, class, fault.OfStatus(status), status)
		}
	}
}
