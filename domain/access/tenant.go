package access

import (
	"regexp"

	"github.com/mtlrent/conveyor/domain/fault"
)

var tenantID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// IsTenant says whether a text may be the ID of a tenant.
func IsTenant(id string) bool { return tenantID.MatchString(id) }

// CheckTenant refuses, as fault.Invalid, a text that cannot be the ID of a tenant.
func CheckTenant(id string) error {
	if !IsTenant(id) {
		return fault.Newf(fault.Invalid,
			"id: is %.80q, expected 1 to 40 of a-z, 0-9 and dash, a letter or digit first", id)
	}
	return nil
}

// ErasureWorkflowID names the workflow that deletes a tenant.
func ErasureWorkflowID(tenant string) string { return "erase-tenant/" + tenant }
