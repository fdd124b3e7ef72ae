package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// keysCmd works on the database directly, not through the API, because the first key cannot be created with a key.
// Access to DATABASE_URL is the permission.
type keysCmd struct {
	Create keysCreateCmd `cmd:"" help:"Create a key and print it; it cannot be shown again."`
	List   keysListCmd   `cmd:"" help:"List all keys, expired and revoked ones included."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key permanently."`
}

type keysCreateCmd struct {
	Name     string      `arg:"" help:"Name of the key in logs and in the audit log: a-z, 0-9, dot, dash, underscore."`
	Role     access.Role `required:"" enum:"read,operate,admin" help:"Role of the key: ${enum}."`
	Tenant   string      `help:"Tenant of the key: it reaches data of this tenant only." placeholder:"ID"`
	Expires  lifetime    `help:"Lifetime of the key, such as 90d or 12h; by default that of CONVEYOR_KEY_MAX_AGE, and without it the key never expires." placeholder:"90d"`
	PrintEnv bool        `help:"Do not store the key; print an entry for CONVEYOR_API_KEYS to standard error."`
}

// Run prints only the key to standard output, so that it can be captured.
func (c *keysCreateCmd) Run(ctx context.Context) error {
	if err := access.CheckName(c.Name); err != nil {
		return err
	}
	if c.PrintEnv && c.Expires > 0 {
		return cli.UsageError("--print-env and --expires do not go together: an entry of CONVEYOR_API_KEYS does not expire")
	}
	if c.PrintEnv && c.Tenant != "" {
		return cli.UsageError("--print-env and --tenant do not go together: an entry of CONVEYOR_API_KEYS has no tenant")
	}
	id, key, err := access.NewKey(rand.Reader)
	if err != nil {
		return err
	}
	if c.PrintEnv {
		fmt.Fprintf(os.Stderr, "CONVEYOR_API_KEYS=%s\n", access.Grant{Name: c.Name, Role: c.Role, Sum: access.SumOf(key)})
		fmt.Println(key)
		return nil
	}
	now := time.Now().UTC()
	k := db.Key{ID: id, Name: c.Name, Role: c.Role, Tenant: c.Tenant, CreatedAt: now, CreatedBy: osUser()}
	if c.Expires > 0 {
		k.ExpiresAt = new(now.Add(time.Duration(c.Expires)))
	}
	return with(ctx, func(ctx context.Context, h *house) error {
		most := h.config.API.KeysWithin()
		if most > 0 && time.Duration(c.Expires) > most {
			return fmt.Errorf("create key: --expires is more than the %d days of CONVEYOR_KEY_MAX_AGE", h.config.API.KeyMaxAge)
		}
		k = k.Within(most)
		expiry := "never expires (--expires 90d would end it; CONVEYOR_KEY_MAX_AGE, all of them)"
		if k.ExpiresAt != nil {
			expiry = "expires " + k.ExpiresAt.Format(time.RFC3339)
		}
		grants, err := h.config.API.Grants()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(grants, func(g access.Grant) bool { return g.Name == c.Name }) {
			return fmt.Errorf("create key: CONVEYOR_API_KEYS has a key %q; a name is used once, so that it identifies one "+
				"key in the audit", c.Name)
		}
		if err := db.NewKeys(h.pool).Create(ctx, k, access.SumOf(key)); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "conveyor: key %s (ID %s) has the role %s and %s; it cannot be shown again\n",
			k.Name, k.ID, k.Role, expiry)
		fmt.Println(key)
		return nil
	})
}

type keysListCmd struct {
	JSON bool `name:"json" help:"Print the keys as JSON, as GET /keys has them."`
}

func (c *keysListCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error {
		keys, err := db.NewKeys(h.pool).List(ctx)
		if err != nil {
			return err
		}
		if len(keys) == 0 && !c.JSON {
			fmt.Fprintln(os.Stderr, "conveyor: there are no keys; create one with conveyor keys create NAME --role read")
			return nil
		}
		for n, k := range keys {
			keys[n] = k.Within(h.config.API.KeysWithin())
		}
		if c.JSON {
			return cli.PrintJSON(os.Stdout, api.KeyList{Items: api.Each(keys, api.ShowKey)})
		}
		return printKeys(os.Stdout, keys, time.Now())
	})
}

func printKeys(w io.Writer, keys []db.Key, now time.Time) error {
	day := func(at *time.Time) string {
		if at == nil {
			return "-"
		}
		return minute(*at)
	}
	t := cli.Table(w)
	fmt.Fprintln(t, "ID\tNAME\tROLE\tTENANT\tSTATE\tCREATED\tBY\tEXPIRES\tLAST USED")
	for _, k := range keys {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Role,
			cmp.Or(k.Tenant, "-"), k.State(now), day(&k.CreatedAt),
			cli.Plain(k.CreatedBy), day(k.ExpiresAt), day(k.LastUsedAt))
	}
	return t.Flush()
}

type keysRevokeCmd struct {
	Key string `arg:"" help:"Name or ID of the key."`
}

func (c *keysRevokeCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error {
		k, err := db.NewKeys(h.pool).Revoke(ctx, c.Key, osUser(), time.Now().UTC())
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "conveyor: key %s (ID %s) is revoked; the API rejects it after 5 seconds at most\n", k.Name, k.ID)
		return nil
	})
}

// osUser is the user of this process, as the audit log names it.
func osUser() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:" + strconv.Itoa(os.Getuid())
}

// A lifetime is a duration that may be given in days, up to 100 years.
type lifetime time.Duration

// UnmarshalText reads days such as 90d, and durations of Go such as 12h and 36h30m.
func (l *lifetime) UnmarshalText(text []byte) error {
	const most = 100 * 365 * 24 * time.Hour
	d, err := time.ParseDuration(string(text))
	if days, isDays := strings.CutSuffix(string(text), "d"); isDays {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(min(max(n, 0), 100_000)) * 24 * time.Hour
	}
	if err != nil || d <= 0 || d > most {
		return fmt.Errorf("is %q, expected a time such as 90d or 12h", text)
	}
	*l = lifetime(d)
	return nil
}
