package devstack

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports are the TCP ports of one stack, all on 127.0.0.1. A zero means the default of its row in portTable.
type Ports struct {
	API, Demo                  int // not ours to open; kept here so that one stack's addresses stand in one place
	Postgres, Redis            int
	RabbitMQ, Management       int
	Epmd, Dist                 int // Erlang: name service and node-to-node
	Temporal, TemporalUI       int
	TemporalHTTP               int
	History, Matching, Worker  int // gRPC between the Temporal services
	MemberFrontend, MemberHist int // ringpop
	MemberMatch, MemberWorker  int
	Chromium                   int // DevTools
	PgBouncer                  int
	TemporalUIBehind           int // of the Web UI itself, see front
}

// portRow says how one port is called, overridden and defaulted. An internal port that is taken is moved to a free one
// silently, for it is in no address that is typed; a public one that is taken is an error that names its variable.
type portRow struct {
	name, env string
	def       int
	internal  bool
	field     func(*Ports) *int
}

var portTable = []portRow{
	{"API", "CONVEYOR_API_PORT", 8080, false, func(p *Ports) *int { return &p.API }},
	{"demo site", "CONVEYOR_DEMO_PORT", 8090, false, func(p *Ports) *int { return &p.Demo }},
	{"Postgres", "CONVEYOR_POSTGRES_PORT", 15432, false, func(p *Ports) *int { return &p.Postgres }},
	{"Redis", "CONVEYOR_REDIS_PORT", 16379, false, func(p *Ports) *int { return &p.Redis }},
	{"RabbitMQ", "CONVEYOR_RABBITMQ_PORT", 5673, false, func(p *Ports) *int { return &p.RabbitMQ }},
	{"RabbitMQ management", "CONVEYOR_RABBITMQ_MANAGEMENT_PORT", 15673, false,
		func(p *Ports) *int { return &p.Management }},
	{"Temporal", "CONVEYOR_TEMPORAL_PORT", 7233, false, func(p *Ports) *int { return &p.Temporal }},
	{"Temporal Web UI", "CONVEYOR_TEMPORAL_UI_PORT", 8233, false, func(p *Ports) *int { return &p.TemporalUI }},
	{"Chromium", "CONVEYOR_CHROMIUM_PORT", 9222, false, func(p *Ports) *int { return &p.Chromium }},
	{"Temporal HTTP", "", 7243, true, func(p *Ports) *int { return &p.TemporalHTTP }},
	{"Temporal history", "", 7234, true, func(p *Ports) *int { return &p.History }},
	{"Temporal matching", "", 7235, true, func(p *Ports) *int { return &p.Matching }},
	{"Temporal worker", "", 7239, true, func(p *Ports) *int { return &p.Worker }},
	{"Temporal frontend membership", "", 6933, true, func(p *Ports) *int { return &p.MemberFrontend }},
	{"Temporal history membership", "", 6934, true, func(p *Ports) *int { return &p.MemberHist }},
	{"Temporal matching membership", "", 6935, true, func(p *Ports) *int { return &p.MemberMatch }},
	{"Temporal worker membership", "", 6939, true, func(p *Ports) *int { return &p.MemberWorker }},
	{"Erlang name service", "", 14369, true, func(p *Ports) *int { return &p.Epmd }},
	{"PgBouncer", "", 16432, true, func(p *Ports) *int { return &p.PgBouncer }},
	{"Erlang distribution", "", 25673, true, func(p *Ports) *int { return &p.Dist }},
	{"Temporal Web UI, behind its address", "", 8234, true, func(p *Ports) *int { return &p.TemporalUIBehind }},
}

// PortVariables are the environment variables that PortsFrom reads.
func PortVariables() (names []string) {
	for _, row := range portTable {
		if row.env != "" {
			names = append(names, row.env)
		}
	}
	return names
}

// PortsFrom reads the overrides (CONVEYOR_POSTGRES_PORT and its like) through getenv, usually os.Getenv, and fills in
// the defaults. A value that is not a port is an error, not a default.
func PortsFrom(getenv func(string) string) (Ports, error) {
	var p Ports
	for _, row := range portTable {
		*row.field(&p) = row.def
		if row.env == "" || getenv(row.env) == "" {
			continue
		}
		n, err := strconv.Atoi(getenv(row.env))
		if err != nil || n < 1 || n > 65535 {
			return Ports{}, fmt.Errorf("%s=%q is not a port: set a number from 1 to 65535", row.env, getenv(row.env))
		}
		*row.field(&p) = n
	}
	if p.Temporal > highestTemporalPort {
		return Ports{}, fmt.Errorf("CONVEYOR_TEMPORAL_PORT=%d: Temporal takes ports up to %d", p.Temporal, highestTemporalPort)
	}
	return p, nil
}

// CheckRoles reports whether the ports that the roles open, API and demo site, are free. Call it before Start, so that
// the error comes before the wait for the services.
func (p Ports) CheckRoles() error {
	return p.check(func(row portRow) bool { return row.name == "API" || row.name == "demo site" })
}

// check joins one error for each wanted public port that is in use.
func (p Ports) check(want func(portRow) bool) error {
	var errs []error
	for _, row := range portTable {
		n := *row.field(&p)
		if row.internal || !want(row) || portFree(n) {
			continue
		}
		errs = append(errs, fmt.Errorf("port %d (%s) is in use: stop the process that listens there or set %s to a free port",
			n, row.name, row.env))
	}
	return errors.Join(errs...)
}

// highestTemporalPort is the highest number that fits into the int2 in which Temporal keeps its members' ports.
const highestTemporalPort = 1<<15 - 1

// moveInternal gives the next free port to every internal row whose port is taken, or was chosen for another row. Ports
// that are free stay the same from start to start, which spares Temporal a search for members that have moved.
func (p *Ports) moveInternal() error {
	for _, row := range portTable {
		if !row.internal || p.uses(*row.field(p)) == 1 && portFree(*row.field(p)) {
			continue
		}
		n := *row.field(p) + 1
		for n <= highestTemporalPort && (p.uses(n) > 0 || !portFree(n)) {
			n++
		}
		if n > highestTemporalPort {
			return fmt.Errorf("find a free port for %s: none from %d to %d", row.name, *row.field(p), highestTemporalPort)
		}
		*row.field(p) = n
	}
	return nil
}

// uses counts the rows that have that port.
func (p *Ports) uses(n int) (rows int) {
	for _, row := range portTable {
		if *row.field(p) == n {
			rows++
		}
	}
	return rows
}

func portFree(n int) bool {
	l, err := net.Listen("tcp", addr(n))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

func addr(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

const loopback = "127.0.0.1"

// addr is the address of a port of this stack.
func (s *Stack) addr(port int) string { return net.JoinHostPort(s.host(), strconv.Itoa(port)) }

// host is the address that this stack's services listen at.
func (s *Stack) host() string {
	if m := s.opts.Member; m != nil {
		return m.Address
	}
	return loopback
}

// Blocks of ports for stacks that must not meet. They lie below the range from which the kernel serves outgoing
// connections (32768 and up on Linux): a port from that range may be taken between our look and the child's bind.
const (
	blockBase = 20000
	blockSize = 32
	blocks    = 380
)

// freePorts reserves a block of ports that are free and that no other stack of this user has reserved, for as
// long as the returned file stays open. The lock, not luck, keeps two test runs on one machine apart.
func freePorts() (Ports, *os.File, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("conveyor-ports-%d", os.Getuid()))
	if err := ours(dir); err != nil {
		return Ports{}, nil, fmt.Errorf("reserve ports: %w", err)
	}
	first := os.Getpid() % blocks
	for i := range blocks {
		block := (first + i) % blocks
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(block)), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return Ports{}, nil, fmt.Errorf("reserve ports: %w", err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			continue
		}
		if p, ok := portsOfBlock(block); ok {
			return p, f, nil
		}
		_ = f.Close()
	}
	return Ports{}, nil, fmt.Errorf("reserve ports: all of %d to %d are in use", blockBase, blockBase+blocks*blockSize)
}

func portsOfBlock(block int) (Ports, bool) {
	var p Ports
	for i, row := range portTable {
		n := blockBase + block*blockSize + i
		if !portFree(n) {
			return Ports{}, false
		}
		*row.field(&p) = n
	}
	return p, true
}
