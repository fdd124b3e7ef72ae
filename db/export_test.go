package db

import (
	"time"

	"github.com/mtlrent/conveyor/domain/search"
)

// WakeRelays sets how often a store wakes relays at most, and for how long it tries to.
func (s *Listings) WakeRelays(every, within time.Duration) {
	s.added.Limit(every, within)
}

// KnownFrom makes what is known of a run's URLs come from a server that was started at a time.
func (s *Crawls) KnownFrom(run int64, started time.Time) { s.known.of(run).from.server = &started }

// GiveWayAfter sets for how long a migration waits for the lock of a table.
func GiveWayAfter(d time.Duration) MigrateOption { return func(m *migrator) { m.wait = d } }

// At sets the clock of an index.
func (x *SearchIndex) At(now func() time.Time) { x.now = now }

// LookFirst makes an index look at the sizes of all postings before it reads any.
func (x *SearchIndex) LookFirst() { x.cheap, x.small = 0, -1 }

// Starts are those of the segments that an index has read, by the IDs of the segments.
func (x *SearchIndex) Starts() map[int64][]string {
	x.segments.mu.Lock()
	defer x.segments.mu.Unlock()
	list := map[int64][]string{}
	for id, p := range x.segments.parts {
		list[id] = p.starts
	}
	return list
}

// StartsOf are the starts of a segment whose blocks are written in parts.
func StartsOf(parts ...[]search.Block) []string {
	var m marker
	for _, blocks := range parts {
		m.pass(blocks)
	}
	return m.starts
}

// PersonBytes is how much of a person's messages, and of the rows, is exported.
const PersonBytes = personBytes

// A TenantTable is a table with rows of tenants, and how it is read and erased.
type TenantTable struct {
	Name, Column, Kept, Erase, Read string
	Key                             []string
	Own                             bool // Key goes on from the tenant
}

// TenantTables are all of them.
func TenantTables() (list []TenantTable) {
	for _, t := range tenantTables {
		out := TenantTable{t.name, t.of(), t.kept, t.eraseText(), t.readText(false), nil, t.own}
		for _, c := range t.key {
			out.Key = append(out.Key, c.name)
		}
		list = append(list, out)
	}
	return list
}

// AtOnce hashes by a new key at once.
func (k *OptOutKey) AtOnce() *OptOutKey {
	k.rests = 0
	return k
}

// OptOutsKey is the statement by which opt-outs are hashed.
var OptOutsKey = optOutsKey
