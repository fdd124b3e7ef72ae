package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

const (
	refusalsEvery = time.Minute     // the audit has one entry of refusals in it for each address and caller
	maxRefused    = 20              // addresses with an entry of their own; the others share one
	refusalsWait  = 5 * time.Second // for the last entries, when the process ends
)

// refusals counts the refused credentials, for the audit: a flood of them is a few entries a minute, whatever its size.
type refusals struct {
	mu      sync.Mutex
	counted map[refused]*refusedCount

	unsaved []db.AuditEntry // that the database did not take yet; of the caller of save
}

// A refused caller is counted together.
type refused struct {
	action string // credentials.refused or access.refused
	remote string // "" = the addresses that have no entry of their own
	actor  string
	keyID  string
}

// refusedCount is the detail of an entry.
type refusedCount struct {
	Count      int            `json:"count"`
	First      time.Time      `json:"first"`
	Last       time.Time      `json:"last"`
	Reasons    map[string]int `json:"reasons"`
	Operations map[string]int `json:"operations"`
}

// Refused credentials and callers without the role, as actions in the audit.
const (
	credentialsRefused = "credentials.refused"
	accessRefused      = "access.refused"
)

// count counts a refusal. caller is the holder of a key that is not valid any more or has not the role, zero where the
// caller is not known. remote is an address, or the network of a home.
func (r *refusals) count(now time.Time, action, remote, reason, operation string, caller access.Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := refused{action, remote, caller.Name, caller.KeyID}
	if key.actor == "" {
		key.actor = anonymous.Name
	}
	if r.counted == nil {
		r.counted = map[refused]*refusedCount{}
	}
	c := r.counted[key]
	if c == nil && len(r.counted) >= maxRefused {
		key = refused{action: credentialsRefused, actor: anonymous.Name}
		c = r.counted[key]
	}
	if c == nil {
		c = &refusedCount{First: now, Reasons: map[string]int{}, Operations: map[string]int{}}
		r.counted[key] = c
	}
	c.Count, c.Last = c.Count+1, now
	c.Reasons[reason]++
	c.Operations[operation]++
}

// save writes the counts into the audit. Entries that the database does not take are kept for the next time, and until
// then no more are made, so that they stay few.
func (r *refusals) save(ctx context.Context, log *db.AuditLog) error {
	if len(r.unsaved) == 0 {
		r.unsaved = r.take()
	}
	if len(r.unsaved) == 0 {
		return nil
	}
	if err := log.Record(ctx, r.unsaved...); err != nil {
		return err
	}
	r.unsaved = nil
	return nil
}

// take empties the counters.
func (r *refusals) take() (entries []db.AuditEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, c := range r.counted {
		entries = append(entries, db.AuditEntry{
			At: c.Last, Actor: key.actor, Action: key.action, Subject: "api", Detail: c,
			Origin: db.Origin{Remote: key.remote, KeyID: key.keyID},
		})
	}
	r.counted = nil
	return entries
}

// Run writes refused credentials into the audit, once a minute and when ctx ends.
func (g *Guard) Run(ctx context.Context) {
	if g.o.Audit == nil {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(refusalsEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalsWait)
		if err := g.refused.save(saving, g.o.Audit); err != nil {
			g.o.Log.WarnContext(ctx, "cannot record refused credentials in the audit", "err", err)
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
	}
}

// reasonOf is the kind of a refusal of credentials: never text that its sender chose.
func reasonOf(err error) string {
	for reason, known := range map[string]error{
		"unknown_key": errUnknownKey, "revoked_key": errRevokedKey, "expired_key": errExpiredKey,
		"bad_header": errBadHeader, "taken_name": errTakenName,
	} {
		if errors.Is(err, known) {
			return reason
		}
	}
	return "invalid_token"
}
