package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
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
	listFlags
}

// Run prints page after page, up to --limit, the newest first.
func (c *AuditCmd) Run(ctx context.Context, r Client) error {
	return c.entries().list(ctx, r, "no entry matches")
}

// entries are those that match.
func (c *AuditCmd) entries() pages[api.AuditEntry] {
	return pages[api.AuditEntry]{
		Path: "/audit", Query: c.query(), listFlags: c.listFlags,
		Head: "AT (UTC)\tACTOR\tACTION\tSUBJECT\tFROM\tDETAIL",
		Row: func(table io.Writer, e api.AuditEntry) {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", e.At.UTC().Format(time.DateTime), Plain(e.Actor), Plain(e.Action),
				Plain(e.Subject), Plain(e.Remote), Short(Plain(string(e.Detail)), 80))
		},
	}
}

// query returns the filter as the query of GET /audit.
func (c *AuditCmd) query() url.Values {
	q := url.Values{}
	setQuery(q, "actor", c.Actor)
	setQuery(q, "action", c.Action)
	setQuery(q, "subject", c.Subject)
	setQuery(q, "since", c.Since.text())
	setQuery(q, "until", c.Until.text())
	return q
}
