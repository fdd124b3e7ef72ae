package outreach

import (
	"context"

	"github.com/mtlrent/conveyor/domain/backlog"
)

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

// BacklogUpTo is Backlog that counts no more than most.
func (s *Messages) BacklogUpTo(ctx context.Context, most int) (backlog.MessagesWaiting, error) {
	return s.backlog(ctx, most)
}
