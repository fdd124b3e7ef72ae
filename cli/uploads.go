package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// uploadsCmd lists, shows and controls the files of contacts that a tenant has uploaded.
type uploadsCmd struct {
	List   uploadsListCmd   `cmd:"" help:"List uploads, newest first."`
	Show   uploadsShowCmd   `cmd:"" help:"Show the state of an upload, and what became of its rows."`
	Start  uploadsChangeCmd `cmd:"" help:"Import an upload that was held."`
	Cancel uploadsChangeCmd `cmd:"" help:"Cancel an import for good; what is stored stays."`
}

type uploadsListCmd struct {
	stateFlags `set:"states=held,received,splitting,running,done,failed,canceled"`
}

// Run prints page after page, up to --limit.
func (c *uploadsListCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return pages[apioutreach.Upload]{
		Path: "/uploads", Query: c.query(group.query(nil)), listFlags: c.listFlags,
		Head: "ID\tSTATE\tFILE\tREAD\tVALID\tREFUSED\tDUPLICATES\tBY\tCREATED\tERROR",
		Row: func(t io.Writer, u apioutreach.Upload) {
			n := u.Rows
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", u.ID, u.State, Short(Plain(u.FileName), 40), n.Read,
				n.Valid, n.Invalid, n.Duplicate, Plain(u.CreatedBy), u.CreatedAt.UTC().Format(time.RFC3339),
				Short(Plain(u.Error), 60))
		},
	}.list(ctx, r, "there are no uploads; conveyor contacts import FILE makes one")
}

// uploadID is the argument of the commands on one upload.
type uploadID struct {
	ID   uuid.UUID `arg:"" help:"ID of the upload."`
	JSON bool      `name:"json" help:"Print the answer of the API as JSON."`
}

type (
	uploadsShowCmd struct {
		uploadID
		Watch  bool   `help:"Show the progress until it ends; exit with 1 unless it is done. Ctrl-C stops watching; the import goes on."`
		Errors string `help:"Save the refused rows to this file, to mend and import them." placeholder:"FILE"`
	}
	uploadsChangeCmd struct{ uploadID }
)

// Run prints an upload. With --watch, one that ends otherwise than done is ExitError 1.
func (c *uploadsShowCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	var u apioutreach.Upload
	var err error
	if c.Watch {
		u, err = watchUpload(r, group.ofTenant, c.ID).onto(os.Stderr).run(ctx)
	} else {
		err = r.call(ctx, http.MethodGet, uploadPath(c.ID, "", group.ofTenant), nil, &u)
	}
	if err != nil {
		return err
	}
	if err := printAs(os.Stdout, u, c.JSON, printUpload); err != nil {
		return err
	}
	if c.Errors != "" {
		if err := c.save(ctx, r, group.ofTenant); err != nil {
			return err
		}
	}
	if c.Watch && u.State != "done" {
		return ExitError(1)
	}
	return nil
}

// save writes the refused rows to a file.
func (c *uploadsShowCmd) save(ctx context.Context, r Client, tenant ofTenant) error {
	body, err := r.stream(ctx, uploadPath(c.ID, "/errors.csv", tenant))
	if err != nil {
		return err
	}
	defer body.Close()
	return save(body, c.Errors, ofPeople)
}

// Run does with an upload what the command is called.
func (c *uploadsChangeCmd) Run(ctx context.Context, group *ContactsCmd, r Client, k *kong.Context) error {
	path := uploadPath(c.ID, "/"+k.Selected().Name, group.ofTenant)
	return show(ctx, r, http.MethodPost, path, nil, c.JSON, func(w io.Writer, u apioutreach.Upload) error {
		warn(os.Stderr, u.Warning)
		return printUpload(w, u)
	})
}
