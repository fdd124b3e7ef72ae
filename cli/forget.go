package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

// ForgetCmd deletes an advert and all that was made of it.
type ForgetCmd struct {
	What  string `arg:"" help:"listing/<platform>/<platform ID>, such as listing/kijiji/1734829312."`
	Block bool   `help:"The advert may not come back: its messages are acknowledged and not stored."`
	Yes   bool   `short:"y" help:"Do not ask."`
}

// Validate reports a name of another form; kong calls it.
func (c *ForgetCmd) Validate() error {
	_, err := c.path()
	return err
}

// path is that of the advert in the API.
func (c *ForgetCmd) path() (string, error) {
	platform, id, ok := strings.Cut(strings.TrimPrefix(c.What, "listing/"), "/")
	if !strings.HasPrefix(c.What, "listing/") || !ok || platform == "" || id == "" {
		return "", fmt.Errorf("%q does not have the form listing/<platform>/<platform ID>", c.What)
	}
	return "/listings/" + url.PathEscape(platform) + "/" + url.PathEscape(id), nil
}

// Run shows what is stored, asks, and starts the deletion.
func (c *ForgetCmd) Run(ctx context.Context, r Client) error {
	return c.run(ctx, r, os.Stdin, os.Stdout)
}

func (c *ForgetCmd) run(ctx context.Context, r Client, in io.Reader, out io.Writer) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	var have, started apilistings.ForgetStarted
	if err := r.call(ctx, http.MethodDelete, path+"?dry_run=true", nil, &have); err != nil {
		return err
	}
	s := have.Stored
	fmt.Fprintf(out, "%s has %d revisions, %d listing with %d images and %d events of its history",
		Plain(c.What), s.Revisions, s.Listings, s.Images, s.Events)
	if s.BlockedAt != nil {
		fmt.Fprintf(out, "; it has been blocked since %s", s.BlockedAt.UTC().Format(time.RFC3339))
	}
	if s.Revisions+s.Listings+s.Images+s.Events == 0 {
		fmt.Fprint(out, ": it is not known here; check its ID")
	}
	fmt.Fprintln(out, "\nThey are deleted for ever, with its dead letters, waiting messages, files and workflow histories.")
	if !c.Block && !s.Blocked {
		fmt.Fprintln(out, "The advert comes back when it is scraped again; --block prevents that.")
	}
	if !c.Yes && !confirmed(ctx, in, out, "Delete?") {
		return errors.New("nothing was deleted")
	}
	if c.Block {
		path += "?block=true"
	}
	if err := r.call(ctx, http.MethodDelete, path, nil, &started); err != nil {
		return err
	}
	fmt.Fprintf(out, "deletion started: %s\n", started.Workflow.URL)
	return nil
}
