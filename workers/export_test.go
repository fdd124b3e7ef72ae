package workers

import (
	"context"

	"go.temporal.io/sdk/interceptor"
)

// Faults is the interceptor of the activities of every worker.
var Faults interceptor.WorkerInterceptor = &faults{}

// ToTemporal is the error of an activity as Temporal is told it.
func ToTemporal(ctx context.Context, err error) error { return toTemporal(ctx, err) }
