package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// Wake has the workflow of a tenant look for messages, as a request does that has stored one.
func (w *Wakes) Wake(ctx context.Context, tenant string) { w.wake(ctx, tenant) }

// Hold sets for how long an event waits for room, and its body is waited for.
func (h *Webhooks) Hold(wait, within time.Duration) { h.wait, h.within = wait, within }

// An Operation is what a test walks over.
type Operation struct {
	Streamed bool          // its answer is written after its handler has returned
	Within   time.Duration // that it may take; 0 = as any other
	Heavy    bool          // takes turns
	Rows     int           // that it has at most, of a heavy one; 0 = all
	Limit    int           // the most that its parameter limit may be; 0 = it has none
}

// Operations are those of parts, by ID.
func Operations(o Options, parts ...Part) map[string]Operation {
	d := &door{Options: o, api: humagin.New(gin.New(), document(o)), router: gin.New(), guard: NewGuard(GuardOptions{})}
	d.lanes = newLanes(o.Conns, o.Short)
	for _, p := range parts {
		p.register(d)
	}
	all := map[string]Operation{}
	for _, item := range d.api.OpenAPI().Paths {
		for _, o := range operationsOf(item) {
			op := Operation{}
			op.Streamed, _ = o.Metadata[streamKey].(bool)
			op.Within, _ = o.Metadata[timeoutKey].(time.Duration)
			var h heavy
			if h, op.Heavy = heavyOperations[o.OperationID]; op.Heavy {
				op.Rows = h.rows
			}
			for _, p := range o.Parameters {
				if p.Name == "limit" && p.Schema != nil && p.Schema.Maximum != nil {
					op.Limit = int(*p.Schema.Maximum)
				}
			}
			all[o.OperationID] = op
		}
	}
	return all
}

// KeysFresh is how long it is not read again which keys are revoked and which tenants of persons are erased.
const KeysFresh = keysFresh

// Usual is the time that an operation has which says nothing else.
const Usual = requestTimeout

// HeavyOperations are the IDs of those that take turns.
func HeavyOperations() (ids []string) {
	for id := range heavyOperations {
		ids = append(ids, id)
	}
	return ids
}

// MostTurns is how many heavy operations a process with so many connections does at once.
func MostTurns(connections int) int { return heavyTurns(connections) }
