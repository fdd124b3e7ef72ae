package api

import (
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// An Operation is what a test walks over.
type Operation struct {
	Streamed bool          // its answer is written after its handler has returned
	Within   time.Duration // that it may take; 0 = as any other
	Body     time.Duration // that a body of JSON may take to arrive; 0 = there is none
	Heavy    bool          // takes turns
	Rows     int           // that it has at most, of a heavy one; 0 = all
	Limit    int           // the most that its parameter limit may be; 0 = it has none
}

// Operations are those of parts, by ID.
func Operations(o Options, parts ...Part) map[string]Operation {
	d := &Door{Options: o, API: humagin.New(gin.New(), document(o)), Router: gin.New(), guard: NewGuard(GuardOptions{})}
	d.lanes = newLanes(o.Conns, o.Short)
	for _, p := range parts {
		p.Register(d)
	}
	all := map[string]Operation{}
	for _, item := range d.API.OpenAPI().Paths {
		for _, o := range operationsOf(item) {
			op := Operation{}
			op.Streamed, _ = o.Metadata[streamKey].(bool)
			op.Within, _ = o.Metadata[TimeoutKey].(time.Duration)
			if o.RequestBody != nil && o.RequestBody.Content["application/json"] != nil {
				op.Body = o.BodyReadTimeout
			}
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
const Usual = RequestTimeout

// HeavyOperations are the IDs of those that take turns.
func HeavyOperations() (ids []string) {
	for id := range heavyOperations {
		ids = append(ids, id)
	}
	return ids
}

// MostTurns is how many heavy operations a process with so many connections does at once.
func MostTurns(connections int) int { return heavyTurns(connections) }
