package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/internal/devstack"
)

// Host is what is known of a host at one moment.
type Host struct {
	Name, Address string
	Link          string   // up, cut, or how slow
	Up, Away      []string // services
	Says          string   // what its engine says of itself and of the others
}

// askWithin bounds what a host is asked: one that is cut off does not answer.
const askWithin = 4 * time.Second

// Status asks every host, all at once.
func (c *Cluster) Status(ctx context.Context) []Host {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	list := make([]Host, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			h := Host{Name: n.name, Address: Address(n.name), Link: c.wires.describe(n.name)}
			s := c.stack(n.name)
			for _, service := range s.Names() {
				if s.Pid(service) == 0 {
					h.Away = append(h.Away, service)
				} else {
					h.Up = append(h.Up, service)
				}
			}
			if len(h.Up) > 0 {
				said, err := c.ask(ctx, n.name, s.Vars())
				if err != nil {
					said = "does not answer: " + lastLines([]byte(err.Error()))
				}
				h.Says = said
			}
			list[i] = h
		})
	}
	wg.Wait()
	return list
}

// Print writes the hosts as a table.
func Print(out io.Writer, hosts []Host) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "HOST\tADDRESS\tLINK\tRUNS\tAWAY\tSAYS")
	for _, h := range hosts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", h.Name, h.Address, h.Link, strings.Join(h.Up, " "),
			strings.Join(h.Away, " "), h.Says)
	}
	return t.Flush()
}

// ask says in a few words how the engine of a host is.
func (c *Cluster) ask(ctx context.Context, host string, vars map[string]string) (string, error) {
	switch {
	case slices.Contains(Brokers, host):
		return askBroker(ctx, host, vars["RABBITMQ_MANAGEMENT_URL"])
	case slices.Contains(Databases, host), host == "tdb":
		return askPostgres(ctx, c.stack(host).SuperURL("postgres"))
	case slices.Contains(Temporals, host):
		return askTemporal(ctx, c.stack("tdb").SuperURL("temporal"), Address(host))
	case slices.Contains(Redises, host):
		return askRedis(ctx, vars["REDIS_URL"])
	}
	return c.askHost(ctx, host)
}

func askBroker(ctx context.Context, host, management string) (string, error) {
	var members []struct {
		Name       string   `json:"name"`
		Running    bool     `json:"running"`
		Partitions []string `json:"partitions"`
	}
	if err := devstack.GetJSON(ctx, management+"/api/nodes?columns=name,running,partitions", &members); err != nil {
		return "", err
	}
	var queues []struct {
		Leader string `json:"leader"`
	}
	if err := devstack.GetJSON(ctx, management+"/api/queues?columns=leader", &queues); err != nil {
		return "", err
	}
	running, leads := 0, 0
	for _, m := range members {
		if m.Running {
			running++
		}
	}
	for _, q := range queues {
		if strings.HasSuffix(q.Leader, "@"+Address(host)) {
			leads++
		}
	}
	return fmt.Sprintf("%d of %d nodes run, leads %d of %d queues", running, len(members), leads, len(queues)), nil
}

// The states of the standbys of a primary: streaming at once with it, or behind by so many bytes, which are lost with
// the primary if they do not arrive.
const sqlReplication = `
SELECT pg_is_in_recovery(), COALESCE((SELECT string_agg(state || ' ' || sync_state || ', ' ||
	COALESCE(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN sent_lsn ELSE pg_current_wal_lsn() END, flush_lsn), 0) ||
	' bytes behind', '; ') FROM pg_stat_replication), 'none'),
	COALESCE((SELECT status FROM pg_stat_wal_receiver), 'away')`

// askRow reads the row of a statement of a Postgres by a connection of its own.
func askRow(ctx context.Context, url, text string, args []any, into ...any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return conn.QueryRow(ctx, text, args...).Scan(into...)
}

func askPostgres(ctx context.Context, url string) (string, error) {
	var standby bool
	var replicas, receiver string
	if err := askRow(ctx, url, sqlReplication, nil, &standby, &replicas, &receiver); err != nil {
		return "", err
	}
	if standby {
		return "standby, primary is " + receiver, nil
	}
	return "primary, standby: " + replicas, nil
}

// The members that have said in the last seconds that they are there: four services a server. A member writes its row
// every ten seconds, so one that has died is seen for twice that.
const sqlMembers = `
SELECT count(*), count(*) FILTER (WHERE rpc_address = $1) FROM cluster_membership
WHERE last_heartbeat > now() AT TIME ZONE 'UTC' - interval '20 seconds'`

func askTemporal(ctx context.Context, url, address string) (string, error) {
	var all, own int
	if err := askRow(ctx, url, sqlMembers, []any{address}, &all, &own); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d services of all servers are members, %d of this one", all, own), nil
}

func askRedis(ctx context.Context, url string) (string, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return "", err
	}
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return "", err
	}
	var said []string
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains([]string{"role", "connected_slaves", "master_host", "master_link_status"}, key) {
			said = append(said, key+" "+value)
		}
	}
	return strings.Join(said, ", "), nil
}

// askHost reads the readiness of the API, which checks every engine from that host, and the Redis that its Sentinel
// takes for the leader.
func (c *Cluster) askHost(ctx context.Context, host string) (string, error) {
	leader, err := c.RedisLeader(ctx, host)
	if err != nil {
		return "", err
	}
	said := "redis leader is " + leader
	if c.opts.Binary == "" {
		return said, nil
	}
	status, text, err := devstack.Ask(ctx, http.MethodGet, c.API(host)+"/ready")
	switch {
	case err != nil:
		return said + ", api does not answer", nil
	case status != http.StatusOK:
		return said + ", api is not ready: " + oneLine(string(text[:min(len(text), 300)])), nil
	}
	return said + ", api is ready", nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// RedisLeader is the host of the Redis that the Sentinel of a host takes for the leader.
func (c *Cluster) RedisLeader(ctx context.Context, host string) (string, error) {
	o, err := redis.ParseURL(c.stack("redis1").Vars()["REDIS_URL"])
	if err != nil {
		return "", err
	}
	at := fmt.Sprintf("%s:%d", Address(host), devstack.SentinelPort)
	client := redis.NewSentinelClient(&redis.Options{Addr: at, Password: o.Password, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = client.Close() }()
	address, err := client.GetMasterAddrByName(ctx, devstack.RedisMaster).Result()
	if err != nil || len(address) == 0 {
		return "", fmt.Errorf("ask the sentinel of %s: %w", host, err)
	}
	for _, name := range Redises {
		if Address(name) == address[0] {
			return name, nil
		}
	}
	return address[0], nil
}
