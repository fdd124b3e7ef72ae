// Package access has the roles of callers, and the API keys that grant them. Each role includes the one before it.
package access

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Role is a set of permissions. The zero value permits nothing.
type Role string

// The roles, from least to most.
const (
	Read    Role = "read"    // read everything but keys
	Operate Role = "operate" // also start, replay, discard
	Admin   Role = "admin"   // also manage API keys
)

// Roles are all roles, from least to most.
var Roles = []Role{Read, Operate, Admin}

// ParseRole reads a role's name. Any other is fault.Invalid.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(Roles, r) {
		return r, nil
	}
	return "", fault.Newf(fault.Invalid, "role: is %q, expected one of %v", s, Roles)
}

// May says whether r includes need. No role includes an unknown one.
func (r Role) May(need Role) bool {
	return slices.Contains(Roles, need) && slices.Index(Roles, r) >= slices.Index(Roles, need)
}

// A Caller is the sender of a request: the name of an API key, or the subject of a token.
type Caller struct {
	Name   string
	Role   Role
	KeyID  string // ID in the API key; empty for a token and without authentication
	Tenant string // that the API key or the token is of; empty: the caller is of no tenant
}
