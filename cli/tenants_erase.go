package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

type tenantsExportCmd struct {
	ID string `arg:"" help:"ID of the tenant."`
	To string `short:"o" help:"File to write; the default is standard output." placeholder:"FILE"`
}

// Run writes an export. A file is there only when it is whole.
func (c *tenantsExportCmd) Run(ctx context.Context, r Client) error {
	body, err := r.stream(ctx, tenantPath(c.ID, "/export"))
	if err != nil {
		return err
	}
	defer body.Close()
	return save(body, c.To, ofPeople)
}

type tenantsEraseCmd struct {
	ID   string `arg:"" help:"ID of the tenant."`
	Yes  bool   `short:"y" help:"Do not ask."`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run shows the tenant, asks for its ID, and starts the deletion.
func (c *tenantsEraseCmd) Run(ctx context.Context, r Client) error {
	return c.run(ctx, r, os.Stdin, os.Stdout)
}

func (c *tenantsEraseCmd) run(ctx context.Context, r Client, in io.Reader, out io.Writer) error {
	if !c.Yes {
		var t apioutreach.Tenant
		if err := r.call(ctx, http.MethodGet, tenantPath(c.ID, ""), nil, &t); err != nil {
			return err
		}
		if t.State == "active" {
			return fmt.Errorf("%s is active; conveyor tenants set %s --stop REASON stops it, which comes first", c.ID, c.ID)
		}
		question := fmt.Sprintf("%s (%s) is %s and has %d contacts. It is deleted for ever, with its contacts, files, "+
			"campaigns, messages, saved searches, senders and opt-outs; its keys are revoked.\nconveyor tenants export %s "+
			"writes them to a file before.\nID of the tenant to delete: ", t.ID, Plain(t.Name), t.State, t.Contacts, t.ID)
		if answer(ctx, in, out, question) != c.ID {
			return errors.New("nothing was deleted")
		}
	}
	var e apioutreach.TenantErasure
	if err := r.call(ctx, http.MethodPost, tenantPath(c.ID, "/erasure"), apioutreach.TenantErase{Tenant: c.ID}, &e); err != nil {
		return err
	}
	return printAs(out, e, c.JSON, printErasure)
}

type tenantsErasureCmd struct {
	ID   string `arg:"" help:"ID of the tenant."`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints how far a deletion is.
func (c *tenantsErasureCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, tenantPath(c.ID, "/erasure"), nil, c.JSON, printErasure)
}

func printErasure(w io.Writer, e apioutreach.TenantErasure) error {
	out := Table(w)
	fmt.Fprintf(out, "tenant\t%s\nstate\t%s\n", e.Tenant, e.State)
	fmt.Fprintf(out, "requested\t%s by %s\n", e.RequestedAt.UTC().Format(time.RFC3339), Plain(e.RequestedBy))
	if e.RequestID != "" {
		fmt.Fprintf(out, "request\t%s from %s\n", Plain(e.RequestID), Plain(e.Remote))
	}
	if e.FinishedAt != nil {
		fmt.Fprintf(out, "finished\t%s\n", e.FinishedAt.UTC().Format(time.RFC3339))
	} else {
		fmt.Fprintf(out, "passes\t%d\ntable\t%s\n", e.Passes, e.Table)
	}
	fmt.Fprintf(out, "files\t%d of %s with their copies\n", e.Files, size(e.Bytes))
	for _, table := range slices.Sorted(maps.Keys(e.Rows)) {
		fmt.Fprintf(out, "rows of %s\t%d\n", table, e.Rows[table])
	}
	for _, k := range e.Kept {
		fmt.Fprintf(out, "kept: %s\t%s\n", k.Table, k.Why)
	}
	fmt.Fprintf(out, "workflow\t%s\n", e.Workflow.URL)
	return out.Flush()
}
