package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// ImportInput is one struct so that a field can be added while old runs are open.
type ImportInput struct {
	Tenant string           `json:"tenant"`
	ID     uuid.UUID        `json:"id"`              // of the upload
	SoFar  contact.Progress `json:"so_far,omitzero"` // of the run that this one continues
	Began  time.Time        `json:"began,omitzero"`  // the first run
	Next   int              `json:"next,omitempty"`  // chunk that was not handed out yet
}

// ImportQuery is the query that an ImportContacts answers with contact.Progress, as of the last transaction that it was
// told of. GET /uploads/{id} has it as of now.
const ImportQuery = "progress"

const (
	// ImportHeartbeat is how long a worker that imports may be silent before another takes over. Package workers sends the
	// heartbeats.
	ImportHeartbeat = 10 * time.Second

	importTries  = 3               // of a step, for a fault that is not the store's
	importFirst  = 2 * time.Second // before the second try; then four times as long
	importWithin = 8               // tries of Temporal, of which each may have met a store that was away
	importAway   = 2 * time.Minute // between two series of them, at most

	importFlying = 16  // groups of chunks that are being read, or wait for a worker
	importAhead  = 320 // chunks that are read and not stored, about
	importEvents = 4000
)

// importGroup is how many chunks of a file are read by one activity: a history has some 12 events a group, and a small
// file is read by several workers at once.
func importGroup(chunks int) int { return min(max(chunks/importFlying, 1), 20) }

// importWork are the options of a step of an import.
func importWork(queue, summary string, within time.Duration) workflow.ActivityOptions {
	policy := retries(30 * time.Second)
	policy.MaximumAttempts = importWithin
	return workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: within, HeartbeatTimeout: ImportHeartbeat, Summary: summary,
		WaitForCancellation: true, // so that nothing is written after the end
		RetryPolicy:         policy,
	}
}

// ImportContacts imports an uploaded file: it is split into chunks, these are read by many workers at once and stored
// in their order. Its ID is contact.ImportWorkflowID of the upload. It keeps no state that is not in Postgres, so it
// may be terminated and started again at any time. It completes when the upload is done, or was canceled, and fails
// with the upload. When it is canceled, so is the upload.
func ImportContacts(ctx workflow.Context, in ImportInput) (contact.Progress, error) {
	r := &importRun{in: in, job: activities.ImportJob{Tenant: in.Tenant, ID: in.ID}, progress: in.SoFar}
	err := workflow.SetQueryHandler(ctx, ImportQuery, func() (contact.Progress, error) { return r.progress, nil })
	if err != nil {
		return r.progress, err
	}
	if in.Began.IsZero() {
		r.in.Began = workflow.Now(ctx)
	}
	err = r.run(ctx)
	if _, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
		return r.progress, err
	}
	return r.end(ctx, err)
}

// importRun is one run of an ImportContacts.
type importRun struct {
	in       ImportInput
	job      activities.ImportJob
	progress contact.Progress

	flying  int  // groups of chunks
	next    int  // chunk that is handed out next
	read    bool // chunks were read since the last look at what can be stored
	storing bool
	changed bool
	done    int   // steps, by which one that fails sees whether the import gets on
	failed  error // the first
}

// run imports until the upload is over, this run is long enough, or something has failed for good.
func (r *importRun) run(ctx workflow.Context) (err error) {
	if !r.progress.Split() {
		work := importWork(QueueUploadJobs, "split", 2*time.Hour)
		for more := true; more; more = r.progress.Open() && !r.progress.Split() { // in slices
			if r.progress, err = tried(ctx, &r.done, work, do.SplitUpload, r.job); err != nil {
				return err
			}
		}
		r.next = r.progress.Stored // chunks after it that were read before are left out by ParseChunks
		r.read = r.next == r.progress.Chunks
	} else {
		r.read, r.next = true, r.in.Next
	}
	workflow.SetCurrentDetails(ctx, r.details(ctx))
	steps, stop := workflow.WithCancel(ctx)
	for r.progress.Split() && r.failed == nil && ctx.Err() == nil {
		full := workflow.GetInfo(ctx).GetCurrentHistoryLength() > importEvents
		if full && r.flying == 0 && !r.storing {
			r.in.SoFar, r.in.Next = r.progress, r.next
			return workflow.NewContinueAsNewError(ctx, ImportContacts, r.in)
		}
		r.hand(steps, full)
		if err := workflow.Await(ctx, func() bool { return r.changed }); err != nil {
			break
		}
		r.changed = false
	}
	stop()
	rest, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(rest, func() bool { return r.flying == 0 && !r.storing }); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.failed
}

// hand hands out what can be done now. Where the history is full, only what is read is stored.
func (r *importRun) hand(ctx workflow.Context, full bool) {
	if r.read && !r.storing {
		r.read, r.storing = false, true
		workflow.Go(ctx, r.store)
	}
	group := importGroup(r.progress.Chunks)
	for !full && r.flying < importFlying && r.next < r.progress.Chunks && r.next-r.progress.Stored < importAhead {
		job := activities.ParseJob{ImportJob: r.job, From: r.next, To: min(r.next+group, r.progress.Chunks)}
		r.next = job.To
		r.flying++
		workflow.Go(ctx, func(ctx workflow.Context) { r.parse(ctx, job) })
	}
}

// parse has a group of chunks read.
func (r *importRun) parse(ctx workflow.Context, job activities.ParseJob) {
	summary := fmt.Sprintf("chunks %d to %d", job.From, job.To-1)
	_, err := tried(ctx, &r.done, importWork(QueueUploadChunks, summary, time.Hour), do.ParseChunks, job)
	r.flying--
	r.read = true
	r.note(err)
}

// store has stored what is read.
func (r *importRun) store(ctx workflow.Context) {
	before := r.progress.Stored
	work := importWork(QueueImportPersistence, "store", 10*time.Minute)
	p, err := tried(ctx, &r.done, work, do.PersistChunks, r.job)
	r.storing = false
	if err == nil {
		r.progress = p
		workflow.SetCurrentDetails(ctx, r.details(ctx))
		switch {
		case p.Stored > before: // there may be more
			r.read = r.read || p.Stored < r.next
		case p.Stored < r.next && r.flying == 0 && !r.read && p.Split(): // a chunk was lost on the way: once more
			if err = workflow.Sleep(ctx, importFirst); err == nil {
				r.next, r.read = p.Stored, true
			}
		}
	}
	r.note(err)
}

// note keeps the first failure. Steps that are canceled were so by run.
func (r *importRun) note(err error) {
	r.changed = true
	if r.failed == nil && !temporal.IsCanceledError(err) {
		r.failed = err
	}
}

// end brings the upload to its end and deletes what the import kept for itself.
func (r *importRun) end(ctx workflow.Context, failed error) (contact.Progress, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	canceled := temporal.IsCanceledError(failed)
	if failed != nil && !canceled {
		why, info := Fault(failed), workflow.GetInfo(ctx)
		_, err := local(workflow.WithLocalActivityOptions(ctx, storeWork), do.FailImport,
			activities.FailedImport{ImportJob: r.job, Failure: contact.Failure{
				Queue: queueOf(failed), Class: string(fault.ClassOf(why)), Reason: why.Error(),
				WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
			}})
		if err != nil {
			return r.progress, err
		}
	}
	work := importWork(QueueImportPersistence, "delete what is not needed any more", time.Hour)
	work.RetryPolicy.MaximumAttempts = 0
	for more := true; more; {
		ended, err := call(workflow.WithActivityOptions(ctx, work), do.EndImport,
			activities.EndJob{ImportJob: r.job, Canceled: canceled})
		if err != nil {
			return r.progress, err
		}
		r.progress, more = ended.Progress, ended.More
	}
	p := r.progress
	workflow.SetCurrentDetails(ctx, r.details(ctx))
	if err := workflow.UpsertTypedSearchAttributes(ctx, OutcomeKey.ValueSet(p.State)); err != nil {
		return p, err
	}
	switch {
	case canceled:
		return p, failed
	case p.State == "failed":
		return p, temporal.NewNonRetryableApplicationError(p.Error, string(fault.Invalid), nil)
	}
	return p, nil
}

// details is what the Web UI shows of an import.
func (r *importRun) details(ctx workflow.Context) string {
	p := r.progress
	text := fmt.Sprintf("**%s**\n\n%d of %d chunks are stored: %d rows, %d new, %d updated, %d unchanged, %d refused, "+
		"%d duplicates", p.State, p.Stored, p.Chunks, p.Rows, p.New, p.Updated, p.Skipped, p.Invalid, p.Duplicate)
	if took := workflow.Now(ctx).Sub(r.in.Began); p.Rows > 0 && took > time.Second {
		text += fmt.Sprintf("; %.0f rows a second", float64(p.Rows)/took.Seconds())
	}
	if p.Error != "" {
		text += "\n\n" + p.Error
	}
	return text
}

// tried runs an activity until it succeeds or has failed three times for reasons of its own: a store that is away is
// waited for. What is invalid stays so, and what is in conflict is over: neither is tried again. done counts what has
// succeeded of the import: while it grows, workers that are killed are not the fault of the file.
func tried[In, Out any](
	ctx workflow.Context, done *int, o workflow.ActivityOptions, act func(context.Context, In) (Out, error), in In,
) (Out, error) {
	before := *done
	for tries, away := 1, 30*time.Second; ; {
		out, err := call(workflow.WithActivityOptions(ctx, o), act, in)
		if err == nil {
			*done++
		}
		if err == nil || temporal.IsCanceledError(err) {
			return out, err
		}
		if *done > before {
			before, tries = *done, 1
		}
		wait := away
		var app *temporal.ApplicationError
		switch {
		case errors.As(err, &app) && app.NonRetryable() && app.Type() != string(fault.Gone):
			return out, &importFault{o.TaskQueue, err}
		case errors.As(err, &app) && !app.NonRetryable():
			away = min(2*away, importAway)
		case tries == importTries:
			return out, &importFault{o.TaskQueue, err}
		default: // a timeout, or a file that is not there
			wait = importFirst << (2 * (tries - 1))
			tries++
		}
		if err := workflow.Sleep(ctx, wait); err != nil {
			return out, err
		}
	}
}

// importFault is why an import cannot go on, and on which task queue that was found.
type importFault struct {
	queue string
	error
}

func (f *importFault) Unwrap() error { return f.error }

func queueOf(err error) string {
	if f, ok := errors.AsType[*importFault](err); ok {
		return f.queue
	}
	return QueueUploadJobs
}
