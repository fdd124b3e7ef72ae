package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/domain/platform"
)

// EnrichStore has the database methods of the enrichment.
type EnrichStore interface {
	Enriching(ctx context.Context, id uuid.UUID) (listing.Enriching, error)
	ModelAnswer(ctx context.Context, question []byte) ([]listing.Fact, error)
	SaveEnrichment(ctx context.Context, of listing.Enriching, e listing.Enrichment, now time.Time) error
	TakeQuestion(ctx context.Context, most int, now time.Time) (bool, error)
}

// Enriching adds to published listings what is known beyond the fields of their adverts, where ImportListing did not,
// and what a language model says. Nothing waits for it, and its failure changes nothing in a listing.
type Enriching struct {
	Store  EnrichStore
	Places *place.Points // nil = none are known
	Model  string        // name of the language model that reads adverts as well; "" = none
	Now    func() time.Time
}

// EnrichListing stores what the text states and which places are near, unless that is stored: of a version that was
// published by an ImportListing of an earlier release, which did not. It is made to run as a local activity. The result
// has Ask where the language model has not answered for this text.
func (a *Enriching) EnrichListing(ctx context.Context, job ListingJob) (ListingJob, error) {
	return counted(ctx, listing.StageEnrich, job, a.enrich)
}

func (a *Enriching) enrich(ctx context.Context, job ListingJob) (ListingJob, error) {
	of, err := a.Store.Enriching(ctx, job.Ref.ID())
	if err != nil {
		return job, err
	}
	job.Revision = of.Revision
	e, ask, err := a.read(ctx, of)
	if err != nil {
		return job, err
	}
	job.Note, job.Ask = noted(e), ask
	if known(of, e) {
		return job, nil
	}
	return job, a.Store.SaveEnrichment(ctx, of, e, a.Now())
}

// noted describes in words what was found.
func noted(e listing.Enrichment) string {
	return fmt.Sprintf("%d facts, %d places", len(e.All()), len(e.Places))
}

// known reports whether all of e is stored.
func known(of listing.Enriching, e listing.Enrichment) bool {
	return of.Stored != nil && of.Of == of.Revision && of.Stored.Says(e) &&
		string(of.Stored.Question) == string(e.Question)
}

// read returns what is known of a listing before a language model is asked, and whether it is to be asked.
func (a *Enriching) read(ctx context.Context, of listing.Enriching) (e listing.Enrichment, ask bool, err error) {
	l := of.Listing
	e = listing.Enrichment{Facts: platform.Facts(l)}
	if l.Latitude != nil && l.Longitude != nil {
		e.Places = a.Places.Near(*l.Latitude, *l.Longitude)
	}
	if len(e.Places) > 0 {
		e.Attribution = a.Places.Attribution
	}
	if a.Model == "" {
		return e, false, nil
	}
	e.Question = listing.AskFacts(l).Hash(a.Model)
	if of.Stored != nil && string(of.Stored.Question) == string(e.Question) {
		e.Model = of.Stored.Model
	}
	if e.Model == nil {
		if e.Model, err = a.Store.ModelAnswer(ctx, e.Question); err != nil {
			return e, false, err
		}
	}
	return e, e.Model == nil, nil
}

// A ModelSource asks a language model. The answer is what it wrote, at most listing.MaxAnswer bytes.
type ModelSource interface {
	Answer(ctx context.Context, q listing.Question) (string, error)
}

// Asking lets a language model read adverts.
type Asking struct {
	Store EnrichStore
	Model ModelSource
	Name  string // of the model
	Daily int    // questions a day (UTC), of all processes together
	Now   func() time.Time
}

// AskModel asks the language model for the facts of a listing and stores those whose words are in its text. A text that
// was answered for before is not asked for again, nor is one when the day's questions are used up: the next version, or
// a replay on another day, asks. Each try counts as a question.
func (a *Asking) AskModel(ctx context.Context, job ListingJob) (ListingJob, error) {
	of, err := a.Store.Enriching(ctx, job.Ref.ID())
	if err != nil {
		return job, err
	}
	if of.Stored == nil || a.Model == nil { // a worker without a model: another's settings are newer
		job.Note = "not asked"
		return job, nil
	}
	question := listing.AskFacts(of.Listing)
	e := *of.Stored
	e.Question = question.Hash(a.Name)
	dropped := 0
	if e.Model, err = a.Store.ModelAnswer(ctx, e.Question); err != nil {
		return job, err
	}
	if e.Model == nil {
		taken, err := a.Store.TakeQuestion(ctx, a.Daily, a.Now())
		if err != nil {
			return job, err
		}
		if !taken {
			job.Note = "not asked: no question is left today"
			asked(ctx, "over budget")
			return job, nil
		}
		answer, err := a.Model.Answer(ctx, question)
		if err != nil {
			asked(ctx, "failed")
			return job, fmt.Errorf("ask model about %s: %w", job.Ref, err)
		}
		if e.Model, dropped, err = question.ReadAnswer(answer); err != nil {
			asked(ctx, "nonsense")
			return job, fault.Newf(fault.Transient, "ask model about %s: %w", job.Ref, err)
		}
		asked(ctx, "answered")
	}
	job.Note = fmt.Sprintf("%d facts by the model, %d dropped", len(e.Model), dropped)
	return job, a.Store.SaveEnrichment(ctx, of, e, a.Now())
}

// modelQuestions counts questions to the language model, by outcome: answered, failed, nonsense, over budget.
const modelQuestions = "conveyor_model_questions"

func asked(ctx context.Context, outcome string) {
	activity.GetMetricsHandler(ctx).WithTags(map[string]string{"outcome": outcome}).Counter(modelQuestions).Inc(1)
}
