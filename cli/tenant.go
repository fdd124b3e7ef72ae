package cli

import (
	"net/url"
	"os"
)

// ofTenant is the flag of commands about what is a tenant's.
type ofTenant struct {
	Tenant string `help:"ID of the tenant; a key of a tenant needs none." env:"CONVEYOR_TENANT" placeholder:"ID"`
}

// query adds the tenant to a query, which may be nil.
func (o ofTenant) query(q url.Values) url.Values {
	if q == nil {
		q = url.Values{}
	}
	if o.Tenant != "" {
		q.Set("tenant", o.Tenant)
	}
	return q
}

// path is the address of something of the tenant. query may be nil.
func (o ofTenant) path(path string, query url.Values) string {
	if q := o.query(query); len(q) > 0 {
		return path + "?" + q.Encode()
	}
	return path
}

// flag is what a command that is suggested needs to be about the same tenant.
func (o ofTenant) flag() string {
	if o.Tenant == "" || o.Tenant == os.Getenv("CONVEYOR_TENANT") {
		return ""
	}
	return " --tenant " + o.Tenant
}
