package workers

import "go.temporal.io/sdk/interceptor"

// Faults is the interceptor of the activities of every worker.
var Faults interceptor.WorkerInterceptor = &faults{}
