package workers

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

// faults translates fault errors for Temporal, once, for every activity.
type faults struct {
	interceptor.WorkerInterceptorBase
}

func (*faults) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &faultsInbound{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type faultsInbound struct {
	interceptor.ActivityInboundInterceptorBase
}

func (i *faultsInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, stop := beat(ctx)
	defer stop()
	out, err := i.survive(ctx, in)
	return out, toTemporal(ctx, err)
}

// survive turns a panic into an error that is not retried: the same code on the same input would panic again.
func (i *faultsInbound) survive(ctx context.Context, in *interceptor.ExecuteActivityInput) (out any, err error) {
	defer fault.Survive(&err, "activity", activity.GetLogger(ctx).Error)
	return i.Next.ExecuteActivity(ctx, in)
}

// toTemporal gives err the type, retryability and delay of its class. The type of a rejected advert is InvalidListing,
// so that it can be found by name; for Temporal only the outermost error counts. The error of an activity that was
// canceled is returned as it is, that of a statement that was canceled with it as a cancellation.
func toTemporal(ctx context.Context, err error) error {
	if err == nil || temporal.IsCanceledError(err) || temporal.IsCanceledError(context.Cause(ctx)) {
		return fault.Ended(ctx, err)
	}
	class, after := fault.Of(err)
	name, category := string(class), temporal.ApplicationErrorCategoryUnspecified
	if class == fault.Throttled || class == fault.Limited { // the other classes go by their retry policy
		_, first, _ := class.Retry()
		after, category = max(after, first), temporal.ApplicationErrorCategoryBenign // waiting is expected: nothing to log
	}
	if _, ok := errors.AsType[*listing.Rejection](err); ok {
		name = workflows.InvalidListing
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), name, temporal.ApplicationErrorOptions{
		NonRetryable:   class.Final(),
		NextRetryDelay: after,
		Category:       category,
	})
}
