package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/domain/contract"
)

const crawlRequests = contract.QueueDraftRequested // also the routing key

// A Drafting is the cost of making drafts of a shop's pages through one Chromium.
type Drafting struct {
	Scenario         string             `json:"scenario"`
	Drafts           int                `json:"drafts"`
	Prefetch         int                `json:"prefetch"`         // RABBITMQ_PREFETCH
	Pages            int                `json:"pages"`            // CONVEYOR_DRAFT_PAGES
	Every            float64            `json:"every,omitempty"`  // seconds between two requests; 0 = all at once
	PerSecond        float64            `json:"per_second"`       // from the first publish to the last row
	LatencyMillis    map[string]float64 `json:"latency_ms"`       // from publish to the row
	CPUSeconds       float64            `json:"cpu_seconds_each"` // all processes
	CPUByGroup       map[string]float64 `json:"cpu_s_each_by_group"`
	StateTransitions float64            `json:"state_transitions_each"`
	Transactions     float64            `json:"postgres_transactions_each"`
	Failed           int                `json:"failed"`    // not a success, or with a price that is not the page's
	PhaseMillis      []Phase            `json:"phases_ms"` // means
}

// A Phase is a part of a draft's time.
type Phase struct {
	Name   string  `json:"name"`
	Millis float64 `json:"ms"`
}

// A drafting is how drafts are asked for.
type drafting struct {
	name               string
	n, prefetch, pages int
	every              time.Duration // between two; 0 = all at once
	memory             bool          // watch it
}

var draftings = []drafting{
	{name: "drafts, prefetch 1", n: 40, prefetch: 1, pages: 2},
	{name: "drafts, prefetch 1, one every 5 seconds", n: 24, prefetch: 1, pages: 2, every: 5 * time.Second},
	{name: "drafts, prefetch 4", n: 200, prefetch: 4, pages: 4, memory: true},
}

// draftRow is the draft of one request, as stored.
type draftRow struct {
	EventID   uuid.UUID
	URL       string
	Outcome   string
	Price     *string
	CreatedAt time.Time
}

// drafts asks for drafts of so many products, and waits until each has its row.
func (h *system) drafts(ctx context.Context, how drafting, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	err := h.restart(fmt.Sprintf("RABBITMQ_PREFETCH=%d", how.prefetch), fmt.Sprintf("CONVEYOR_DRAFT_PAGES=%d", how.pages))
	if err != nil {
		return err
	}
	if err := h.ready(ctx, crawlRequests); err != nil {
		return err
	}
	if _, _, err := h.askForDrafts(ctx, drafting{n: 2 * how.pages}, func(int) {}); err != nil { // Chromium is connected to
		return fmt.Errorf("warm up: %w", err)
	}
	tx, err := h.transactions(ctx)
	if err != nil {
		return err
	}
	watched := []Memory{{Role: how.name + ": all roles"}, {Role: how.name + ": driver"}, {Role: how.name + ": Chromium"}}
	cpu, began := processes(), time.Now()
	looked := 0
	sent, rows, err := h.askForDrafts(ctx, how, func(done int) {
		if !how.memory || done < looked+5 && done < how.n { // a look takes time
			return
		}
		looked = done
		now := held()
		for i, group := range []string{"all roles", "driver", "chromium"} {
			watched[i].see(now[group], done, how.n)
		}
	})
	if err != nil {
		return err
	}
	var last time.Time
	var took []time.Duration
	d := Drafting{Scenario: how.name, Drafts: how.n, Prefetch: how.prefetch, Pages: how.pages, Every: how.every.Seconds()}
	for _, r := range rows {
		took = append(took, r.CreatedAt.Sub(sent[r.EventID]))
		if last.Before(r.CreatedAt) {
			last = r.CreatedAt
		}
		n, _ := strconv.Atoi(r.URL[strings.LastIndexByte(r.URL, '/')+1:])
		if r.Outcome != "succeeded" || r.Price == nil || *r.Price != productPrice(n) {
			d.Failed++
		}
	}
	d.PerSecond, d.LatencyMillis = float64(how.n)/last.Sub(began).Seconds(), percentiles(took)
	<-time.After(2 * time.Second) // work that trails behind belongs to the cost
	d.CPUByGroup = cost(cpu, float64(how.n))
	for _, used := range d.CPUByGroup {
		d.CPUSeconds += used
	}
	after, err := h.transactions(ctx)
	if err != nil {
		return err
	}
	for name, count := range after {
		d.Transactions += float64(count-tx[name]) / float64(how.n)
	}
	if err := h.phases(ctx, sent, rows, &d); err != nil {
		return err
	}
	report.Drafts = append(report.Drafts, d)
	if how.memory {
		report.Memory = append(report.Memory, watched...)
	}
	return nil
}

// askForDrafts publishes the requests and returns when each was sent and its outcome. seen is told now and then how
// many are done.
func (h *system) askForDrafts(ctx context.Context, how drafting, seen func(done int)) (
	sent map[uuid.UUID]time.Time, rows []draftRow, err error,
) {
	ch, err := h.channel()
	if err != nil {
		return nil, nil, err
	}
	defer ch.Close()
	sent = make(map[uuid.UUID]time.Time, how.n)
	events := make([]uuid.UUID, 0, how.n)
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	for began := time.Now(); ; {
		for len(sent) < how.n && time.Since(began) >= time.Duration(len(sent))*how.every {
			event := uuid.New()
			sent[event], events = time.Now(), append(events, event)
			if err := h.askForDraft(ctx, ch, event, len(events)); err != nil {
				return nil, nil, err
			}
		}
		if rows, err = h.drafted(ctx, events); err != nil {
			return nil, nil, err
		}
		seen(len(rows))
		if len(rows) == how.n {
			return sent, rows, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%d of %d drafts are there: %w", len(rows), how.n, ctx.Err())
		}
	}
}

// askForDraft publishes a request for the n-th product, and returns once it is confirmed.
func (h *system) askForDraft(ctx context.Context, ch *amqp.Channel, event uuid.UUID, n int) error {
	body, err := json.Marshal(contract.CrawlRequested{
		EventName: contract.CrawlRequestedName, EventID: event.String(),
		Data: contract.CrawlRequest{
			URL: fmt.Sprintf("http://%s%s%d", h.demo.server.Addr, shopPath, n), OutDir: "bench/" + event.String(),
		},
	})
	if err != nil {
		return err
	}
	c, err := ch.PublishWithDeferredConfirmWithContext(ctx, contract.ExchangeEvents, crawlRequests, true, false,
		amqp.Publishing{DeliveryMode: amqp.Persistent, MessageId: event.String(), Body: body})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if ok, err := c.WaitContext(ctx); err != nil || !ok {
		return errors.Join(errors.New("publish: not confirmed"), err)
	}
	return nil
}

// drafted are the rows of the requests that have one. A dead letter is an error: it never will have one.
func (h *system) drafted(ctx context.Context, events []uuid.UUID) ([]draftRow, error) {
	var dead int
	if err := h.db.QueryRow(ctx, "SELECT count(*) FROM dead_letters").Scan(&dead); err != nil {
		return nil, err
	}
	if dead > 0 {
		return nil, fmt.Errorf("%d requests became dead letters", dead)
	}
	found, _ := h.db.Query(ctx, `SELECT event_id, url, outcome, price::text, created_at FROM product_drafts
		WHERE event_id = ANY ($1)`, events)
	return pgx.CollectRows(found, pgx.RowToStructByPos[draftRow])
}

// phases reads a sample of the workflows: their cost to Temporal, and where their time went.
func (h *system) phases(ctx context.Context, sent map[uuid.UUID]time.Time, rows []draftRow, d *Drafting) error {
	const sample = 40
	names := []string{"to the workflow", "check devtools", "folder", "wait for a slot", "run crawler", "persist and end"}
	sums := make([]time.Duration, len(names))
	var n int
	for i := 0; i < len(rows); i += max(1, len(rows)/sample) {
		id := "draft/" + rows[i].EventID.String()
		about, err := h.temporal.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return err
		}
		d.StateTransitions += float64(about.GetWorkflowExecutionInfo().GetStateTransitionCount())
		at := []time.Time{sent[rows[i].EventID]} // where one phase ends and the next begins
		history := h.temporal.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		started := 0
		for history.HasNext() {
			e, err := history.Next()
			if err != nil {
				return err
			}
			switch e.GetEventType() { //nolint:exhaustive // the others part nothing
			case enums.EVENT_TYPE_ACTIVITY_TASK_STARTED:
				if started++; started == 1 {
					continue // the check's wait is part of it
				}
			case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
				enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
			case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				if len(at) < 3 {
					continue // the check begins with the workflow
				}
			default:
				continue
			}
			at = append(at, e.GetEventTime().AsTime())
		}
		if len(at) != len(names)+1 {
			return fmt.Errorf("%s has %d phases, expected %d", id, len(at)-1, len(names))
		}
		for k := range names {
			sums[k] += at[k+1].Sub(at[k])
		}
		n++
	}
	d.StateTransitions /= float64(n)
	for k, name := range names {
		d.PhaseMillis = append(d.PhaseMillis, Phase{name, float64(sums[k].Microseconds()) / 1000 / float64(n)})
	}
	return nil
}

// printDrafts adds the cost of drafts to the report.
func (r Report) printDrafts(w io.Writer) {
	table(w, "\nproduct drafts through one Chromium, of pages of 90 KB with 24 photos; latency is from publish to the row:",
		"scenario\tdrafts\tfailed\tper s\tp50 s\tp95 s\tCPU-s each\ttransitions\tPG tx\t", r.Drafts,
		func(t io.Writer, d Drafting) {
			fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t\n", d.Scenario, d.Drafts, d.Failed, d.PerSecond,
				d.LatencyMillis["p50"]/1000, d.LatencyMillis["p95"]/1000, d.CPUSeconds, d.StateTransitions, d.Transactions)
		})
	for _, d := range r.Drafts {
		fmt.Fprintf(w, "%s, CPU-s each: %s\n", d.Scenario, list(d.CPUByGroup, 0.0005, "%.3f"))
		var parts []string
		for _, p := range d.PhaseMillis {
			parts = append(parts, fmt.Sprintf("%s %.0f", p.Name, p.Millis))
		}
		fmt.Fprintf(w, "%s, ms each: %s\n", d.Scenario, strings.Join(parts, ", "))
	}
}
