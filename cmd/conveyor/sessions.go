package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/db"
)

// sessionsCmd works on the database directly, as keysCmd does.
type sessionsCmd struct {
	List sessionsListCmd `cmd:"" help:"List the sessions that are open, the last used first."`
	End  sessionsEndCmd  `cmd:"" help:"End all sessions of a caller."`
}

type sessionsListCmd struct {
	JSON bool `name:"json" help:"Print the sessions as JSON, as GET /sessions has them."`
}

func (c *sessionsListCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error {
		list, err := db.NewSessions(h.pool).List(ctx, time.Now())
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(os.Stdout, api.OpenSessionList{Items: api.Each(list, api.ShowSession)})
		}
		if len(list) == 0 {
			fmt.Fprintln(os.Stderr, "conveyor: no session is open")
			return nil
		}
		return printSessions(os.Stdout, list)
	})
}

func printSessions(w io.Writer, list []db.Session) error {
	t := cli.Table(w)
	fmt.Fprintln(t, "CALLER\tBY\tROLE\tOPENED\tLAST USED\tENDS\tID")
	for _, s := range list {
		by, role := "OIDC", string(s.Role)
		if s.KeyID != "" {
			by, role = "key "+s.KeyID, "of the key"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cli.Plain(s.Caller), by, role,
			minute(s.CreatedAt), minute(s.UsedAt), minute(s.EndsAt), s.ID)
	}
	return t.Flush()
}

// minute is a time as tables show it.
func minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04Z") }

type sessionsEndCmd struct {
	Caller string `arg:"" help:"Name of an API key, or oidc:SUBJECT, as the list has it."`
}

func (c *sessionsEndCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error {
		n, err := db.NewSessions(h.pool).End(ctx, c.Caller, osUser(), time.Now().UTC())
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("no session of %q is open; conveyor sessions list shows whose are", c.Caller)
		}
		fmt.Fprintf(os.Stderr, "conveyor: %d sessions of %s have ended; the API rejects them after 5 seconds at most\n",
			n, cli.Plain(c.Caller))
		return nil
	})
}
