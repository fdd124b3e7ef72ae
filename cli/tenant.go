package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/google/uuid"
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

// find is the ID of what of the tenant has this ID or name; "" is the only sender. path is of their list, what says what
// they are.
func (o ofTenant) find(ctx context.Context, r Client, path, what, named string) (uuid.UUID, error) {
	if id, err := uuid.Parse(named); err == nil {
		return id, nil
	}
	var list struct {
		Items []struct {
			ID            uuid.UUID
			Name          string
			PhoneNumberID string `json:"phone_number_id"` // of senders: Meta's ID
		}
	}
	if named == "" && what != "sender" { // as of an empty variable of a shell
		return uuid.Nil, Usage("expected the ID or name of a %s", what)
	}
	if err := r.call(ctx, http.MethodGet, o.path(path, nil), nil, &list); err != nil {
		return uuid.Nil, err
	}
	var names []string
	for _, item := range list.Items {
		if item.Name == named || named != "" && item.PhoneNumberID == named || named == "" && len(list.Items) == 1 {
			return item.ID, nil
		}
		names = append(names, Plain(item.Name))
	}
	switch there := Short(strings.Join(names, ", "), 1000); {
	case there == "":
		return uuid.Nil, fmt.Errorf("there is no %s yet", what)
	case named == "":
		return uuid.Nil, fmt.Errorf("name the %s by --%s; there are: %s", what, what, there)
	default:
		return uuid.Nil, fmt.Errorf("there is no %s %q; there are: %s", what, named, there)
	}
}

// flag is what a command that is suggested needs to be about the same tenant.
func (o ofTenant) flag() string {
	if o.Tenant == "" || o.Tenant == os.Getenv("CONVEYOR_TENANT") {
		return ""
	}
	return " --tenant " + o.Tenant
}
