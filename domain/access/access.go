// Package access knows who may do what: three roles, each holding what the one before it may do.
package access

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Role is what a caller may do. The zero value may do nothing.
type Role string

// The roles, from least to most.
const (
	Read    Role = "read"    // look at everything
	Operate Role = "operate" // start, replay, discard
	Admin   Role = "admin"   // decide who may
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

// May says whether r holds what need asks for. Nobody may do what needs a role that there is not.
func (r Role) May(need Role) bool {
	return slices.Contains(Roles, need) && slices.Index(Roles, r) >= slices.Index(Roles, need)
}

// A Caller is who asks: the name of an API key, or the subject of a token.
type Caller struct {
	Name string
	Role Role
}
