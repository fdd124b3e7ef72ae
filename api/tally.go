package api

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

const (
	tallyEvery = time.Minute     // the audit has one entry in it for each address and caller
	maxRefused = 20              // addresses with an entry of their own; the others share one
	maxReaders = 1000            // entries; beyond them the addresses of a caller share one
	tallyWait  = 5 * time.Second // for the last entries, when the process ends
)

// A tally counts, for the audit, what is done too often for an entry each: refused credentials, of which a flood is a
// few entries a minute, whatever its size, and reads that programs repeat.
type tally struct {
	mu      sync.Mutex
	counted map[tallied]*tallyCount

	unsaved []db.AuditEntry // that the database did not take yet; of the caller of save
}

// What is tallied is counted together.
type tallied struct {
	action  string
	subject string
	tenant  string // whose persons were read; "" of a refusal
	remote  string // "" = the addresses that have no entry of their own
	actor   string
	keyID   string
}

// tallyCount is the detail of an entry.
type tallyCount struct {
	Tenant     string         `json:"tenant,omitempty"`
	Count      int            `json:"count"`
	First      time.Time      `json:"first"`
	Last       time.Time      `json:"last"`
	Reasons    map[string]int `json:"reasons,omitempty"`
	Operations map[string]int `json:"operations"`
}

// Refused credentials and callers without the role, as actions in the audit.
const (
	credentialsRefused = "credentials.refused"
	accessRefused      = "access.refused"
)

// refusal counts a refusal. caller is the holder of a key that is not valid any more or has not the role, zero where
// the caller is not known. remote is an address, or the network of a home.
func (t *tally) refusal(now time.Time, action, remote, reason, operation string, caller access.Caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tallied{
		action: action, subject: "api", remote: remote, actor: cmp.Or(caller.Name, anonymous.Name), keyID: caller.KeyID,
	}
	if t.counted[key] == nil && len(t.counted) >= maxRefused {
		key = tallied{action: credentialsRefused, subject: "api", actor: anonymous.Name}
	}
	c := t.of(key, now, operation)
	if c.Reasons == nil {
		c.Reasons = map[string]int{}
	}
	c.Reasons[reason]++
}

// read counts a read of a person of a tenant.
func (t *tally) read(now time.Time, action, tenant, operation string, caller access.Caller, from db.Origin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tallied{action, "tenant/" + tenant, tenant, from.Remote, caller.Name, from.KeyID}
	if t.counted[key] == nil && len(t.counted) >= maxReaders {
		key.remote = ""
	}
	t.of(key, now, operation)
}

// of counts one more of a key. The caller holds the lock.
func (t *tally) of(key tallied, now time.Time, operation string) *tallyCount {
	if t.counted == nil {
		t.counted = map[tallied]*tallyCount{}
	}
	c := t.counted[key]
	if c == nil {
		c = &tallyCount{Tenant: key.tenant, First: now, Operations: map[string]int{}}
		t.counted[key] = c
	}
	c.Count, c.Last = c.Count+1, now
	c.Operations[operation]++
	return c
}

// save writes the counts into the audit. Entries that the database does not take are kept for the next time, and until
// then no more are made, so that they stay few.
func (t *tally) save(ctx context.Context, log *db.AuditLog) error {
	if len(t.unsaved) == 0 {
		t.unsaved = t.take()
	}
	if len(t.unsaved) == 0 {
		return nil
	}
	if err := log.Record(ctx, t.unsaved...); err != nil {
		return err
	}
	t.unsaved = nil
	return nil
}

// take empties the counters.
func (t *tally) take() (entries []db.AuditEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, c := range t.counted {
		entries = append(entries, db.AuditEntry{
			At: c.Last, Actor: key.actor, Action: key.action, Subject: key.subject, Detail: c,
			Origin: db.Origin{Remote: key.remote, KeyID: key.keyID},
		})
	}
	t.counted = nil
	return entries
}

// Run writes what is tallied into the audit, refused credentials and reads, once a minute and when ctx ends.
func (g *Guard) Run(ctx context.Context) {
	if g.o.Audit == nil {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(tallyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyWait)
		for what, t := range map[string]*tally{"refused credentials": &g.refused, "reads of persons": &g.reads} {
			if err := t.save(saving, g.o.Audit); err != nil {
				g.o.Log.WarnContext(ctx, "cannot record "+what+" in the audit", "err", err)
			}
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
