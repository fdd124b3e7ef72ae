package workers

import "go.temporal.io/sdk/interceptor"

// Faults is what every worker runs its activities through.
var Faults interceptor.WorkerInterceptor = &faults{}
