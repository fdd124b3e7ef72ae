package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/mtlrent/conveyor/api"
)

// AuditCmd lists the actions of callers.
type AuditCmd struct {
	Actor   string `help:"Name of an API key, oidc:SUBJECT, cli:USER or anonymous." placeholder:"NAME"`
	Action  string `help:"Action, such as dead_letter.replayed or credentials.refused." placeholder:"NAME"`
	Subject string `help:"What it was done to, such as platform/kijiji or dead-letter/12." placeholder:"NAME"`
	Since   when   `help:"At this time or later: 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago." placeholder:"TIME"`
	Until   when   `help:"At this time or earlier." placeholder:"TIME"`
	Limit   int    `help:"Show at most this many; 0 shows all." default:"50"`
	JSON    bool   `name:"json" help:"Print one JSON object per line instead of the table."`
}

// auditPage is the largest page that GET /audit returns.
const auditPage = 100

// Run prints page after page, up to --limit, the newest first.
func (c *AuditCmd) Run(ctx context.Context, connect Connect) error {
	if c.Limit < 0 {
		return errors.New("read --limit: expected 0 or more")
	}
	r, err := connect()
	if err != nil {
		return err
	}
	shown, more, err := c.print(ctx, os.Stdout, r)
	if err != nil {
		return err
	}
	switch {
	case shown == 0:
		fmt.Fprintln(os.Stderr, "no entry matches")
	case more:
		fmt.Fprintf(os.Stderr, "%d shown, there are more; --limit 0 shows all\n", shown)
	}
	return nil
}

// print writes the entries that match.
func (c *AuditCmd) print(ctx context.Context, w io.Writer, r Client) (shown int, more bool, err error) {
	table, enc := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), json.NewEncoder(w)
	for cursor := ""; ; {
		size := auditPage
		if c.Limit > 0 {
			size = min(size, c.Limit-shown)
		}
		var page api.AuditPage
		if err := r.call(ctx, http.MethodGet, "/audit?"+c.query(cursor, size).Encode(), nil, &page); err != nil {
			return shown, false, err
		}
		for i, e := range page.Items {
			switch {
			case c.JSON:
				if err := enc.Encode(e); err != nil {
					return shown, false, fmt.Errorf("write: %w", err)
				}
				continue
			case shown+i == 0:
				fmt.Fprintln(table, "AT (UTC)\tACTOR\tACTION\tSUBJECT\tFROM\tDETAIL")
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", e.At.UTC().Format(time.DateTime), Plain(e.Actor), Plain(e.Action),
				Plain(e.Subject), Plain(e.Remote), Short(Plain(string(e.Detail)), 80))
		}
		shown, cursor = shown+len(page.Items), page.NextCursor
		if more = cursor != ""; !more || shown == c.Limit {
			break
		}
	}
	if err := table.Flush(); err != nil {
		return shown, more, fmt.Errorf("write: %w", err)
	}
	return shown, more, nil
}

// query returns the filter as the query of GET /audit.
func (c *AuditCmd) query(cursor string, limit int) url.Values {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	for name, value := range map[string]string{
		"actor": c.Actor, "action": c.Action, "subject": c.Subject, "cursor": cursor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]when{"since": c.Since, "until": c.Until} {
		if !at.IsZero() {
			q.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	return q
}
