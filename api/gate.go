package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/metric"
	"github.com/mtlrent/conveyor/internal/rebind"
)

const (
	wholeTimeout = 30 * time.Second              // for an answer, unless the operation has a TimeoutKey
	writeMargin  = 5 * time.Second               // for its last bytes
	bodyTimeout  = wholeTimeout - RequestTimeout // for a body of JSON to arrive: the rest is for the answer
	maxBody      = 1 << 20                       // bytes of a request's body, unless the operation has a MaxBodyBytes
)

// gate is the middleware of every request: it measures, bounds, authenticates and authorizes it.
type gate struct {
	guard  *Guard
	log    *slog.Logger
	hosts  rebind.Names // that the API may be called by while authentication is off
	cross  *http.CrossOriginProtection
	routes map[string]route // by method and path as gin writes them
	lines  *rate.Limiter    // of refusals in the log
	behind sync.Once        // the log says that there is a proxy which is not trusted
	open   bool             // to callers behind proxies while authentication is off
	hold   time.Duration    // until callers who ask too often are answered
	held   chan struct{}    // has them

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// A route is the rules of one route.
type route struct {
	name    string
	role    access.Role
	open    bool // requires no credentials
	tenants bool // is for keys of tenants
	many    bool // is not counted as a change
	timeout time.Duration
	body    int64 // bytes; below 0 = any number
}

func newGate(o Options) *gate {
	g := &gate{
		guard: o.Guard, log: o.Log, lines: rate.NewLimiter(20, 100), cross: http.NewCrossOriginProtection(),
		hosts: rebind.NamesOf(append([]string{rebind.HostOf(o.URL)}, o.Hosts...)...),
		open:  o.Open, hold: o.Hold, held: make(chan struct{}, holdMost),
	}
	if g.guard == nil {
		g.guard = NewGuard(GuardOptions{})
	}
	if u, err := url.Parse(o.URL); err == nil && u.Host != "" {
		_ = g.cross.AddTrustedOrigin(u.Scheme + "://" + u.Host) // behind a proxy the header Host may be another
	}
	m := metric.With(o.Registerer)
	g.requests = m.NewCounterVec(prometheus.CounterOpts{
		Name: "conveyor_api_requests_total", Help: "Requests answered, by operation and status.",
	}, []string{"operation", "status"})
	g.seconds = m.Histograms("conveyor_api_request_seconds", "Time to answer a request, by operation.", "operation",
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)
	return g
}

// ginParam is a part of a gin path that stands for any text.
var ginParam = regexp.MustCompile(`[:*](\w+)`)

// learn gives the gate every route. A route that is neither an operation with a role nor among the open ones is for
// admins, so forgetting a role closes the route.
func (g *gate) learn(a huma.API, routes gin.RoutesInfo) {
	operations := map[string]*huma.Operation{}
	for path, item := range a.OpenAPI().Paths {
		for _, o := range operationsOf(item) {
			operations[o.Method+" "+path] = o
		}
	}
	g.routes = map[string]route{}
	for _, r := range routes {
		known := route{
			name: r.Path, role: access.Admin, open: slices.Contains(openRoutes, r.Path), timeout: wholeTimeout, body: maxBody,
		}
		if o := operations[r.Method+" "+ginParam.ReplaceAllString(r.Path, "{$1}")]; o != nil {
			known.name, known.open = o.OperationID, slices.Contains(openOperations, o.OperationID)
			if role, ok := o.Metadata[roleKey].(access.Role); ok {
				known.role, known.open = role, false
			}
			known.tenants, _ = o.Metadata[tenantKey].(bool)
			known.many, _ = o.Metadata[ManyKey].(bool)
			if d, ok := o.Metadata[TimeoutKey].(time.Duration); ok {
				known.timeout = d
			}
			if o.MaxBodyBytes != 0 {
				known.body = o.MaxBodyBytes
			}
		}
		g.routes[r.Method+" "+r.Path] = known
	}
}

func operationsOf(item *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Options, item.Head, item.Patch, item.Trace}
	return slices.DeleteFunc(all, func(o *huma.Operation) bool { return o == nil })
}

// route is the route of a request. Its name is "none" when there is no such route.
func (g *gate) route(c *gin.Context) route {
	if r, ok := g.routes[c.Request.Method+" "+c.FullPath()]; ok {
		return r
	}
	// Where there is no route at all, the answer is 404 or 405.
	return route{name: "none", role: access.Admin, open: c.FullPath() == "", timeout: wholeTimeout, body: maxBody}
}

// measure counts and times requests and writes the access log.
func (g *gate) measure(c *gin.Context) {
	start := time.Now()
	name := g.route(c).name
	id := uuid.NewString()
	c.Set(RequestID, id)
	c.Header("X-Request-Id", id)
	c.Next()
	took := time.Since(start) - c.GetDuration(heldFor)
	g.requests.WithLabelValues(name, strconv.Itoa(c.Writer.Status())).Inc()
	g.seconds.WithLabelValues(name).Observe(took.Seconds())
	g.log.DebugContext(c, "answered", "operation", name, "method", c.Request.Method, "status", c.Writer.Status(),
		"took", took, "caller", CallerOf(c.Request.Context()).Name, "remote", c.ClientIP(), RequestID, id)
}

// RequestID is the key of a request's ID in its gin context and in the log.
const RequestID = "request_id"

// bound limits the time and the body of a request.
func (g *gate) bound(c *gin.Context) {
	r := g.route(c)
	ctx, cancel := context.WithTimeout(c.Request.Context(), r.timeout)
	defer cancel()
	// The server of a test may not support deadlines. Every request sets its own.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(r.timeout + writeMargin))
	// The body is replaced in a copy of the request: net/http looks at the type of its own to tell that a part of it is
	// unread, which it would else take for the next request, and that a sender awaits 100 Continue.
	c.Request = c.Request.WithContext(ctx)
	if r.body >= 0 && c.Request.Body != nil { // one more byte, for huma has its own answer at the limit
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, r.body+1)
	}
	c.Next()
}

// admit authenticates and authorizes the sender of a request.
func (g *gate) admit(c *gin.Context) {
	r, ctx := g.route(c), c.Request.Context()
	g.warnOfProxy(c)
	if !g.hosts.Have(c.Request.Host) {
		// While the table of keys cannot be read, open routes stay open, and the others answer 503 below.
		if locked, err := g.guard.Locked(ctx); err == nil && !locked {
			g.refuse(c, r, access.Caller{}, errMisdirected)
			return
		}
	}
	if err := g.cross.Check(c.Request); err != nil {
		g.refuse(c, r, access.Caller{}, huma.Error403Forbidden("the request comes from a page of another site: "+err.Error()))
		return
	}
	if r.open {
		if !slices.Contains(uncounted, r.name) {
			if err := take(ctx, g.guard.o.Addresses, Network(c), "too many requests from your address"); err != nil {
				g.refuse(c, r, access.Caller{}, err)
				return
			}
		}
		c.Next()
		return
	}
	locked, err := g.guard.Locked(ctx)
	if err != nil {
		g.refuse(c, r, access.Caller{}, Problem(ctx, g.log, err))
		return
	}
	caller, counted := anonymous, anonymous.Name+"@"+Network(c)
	if locked {
		caller, err = g.guard.known(c, r.name)
		counted = caller.Name
	}
	if !locked && !g.open && forwarded(c.Request) {
		g.refuse(c, r, access.Caller{}, errForwarded)
		return
	}
	if err == nil {
		err = g.pace(c, r, counted)
	}
	if err != nil {
		g.refuse(c, r, caller, err)
		return
	}
	if locked && c.GetHeader("Authorization") == "" { // without one it is the session that lets in
		ctx = inSession(ctx, access.SumOf(g.guard.sessionOf(c.Request)))
	}
	ctx = origin(as(ctx, caller), c, caller.KeyID)
	c.Request = c.Request.WithContext(ctx)
	if why, err := g.forbidden(ctx, r, caller); err != nil {
		if why != "" {
			g.guard.refused.refusal(g.guard.o.Now(), accessRefused, Network(c), why, r.name, caller)
		}
		g.refuse(c, r, caller, err)
		return
	}
	c.Next()
}

// forbidden is the answer to a caller who may not do what is asked for, and why, for the audit: "" where that could not
// be found out.
func (g *gate) forbidden(ctx context.Context, r route, caller access.Caller) (why string, answer error) {
	if caller.Tenant != "" && !r.tenants {
		return "tenant", huma.Error403Forbidden("API keys of a tenant may not call this; " + caller.Name +
			" belongs to " + caller.Tenant)
	}
	if err := g.guard.standing(ctx, caller); err != nil {
		if fault.ClassOf(err) == fault.Blocked {
			why = "erased_tenant"
		}
		return why, Problem(ctx, g.log, err)
	}
	if !caller.Role.May(r.role) {
		has := "has " + string(caller.Role)
		if caller.Role == "" {
			has = "has none"
		}
		return "role", huma.Error403Forbidden("needs the role " + string(r.role) + "; " + caller.Name + " " + has)
	}
	return "", nil
}

// pace takes a turn of a caller, and for a change one more. Its error is the answer.
func (g *gate) pace(c *gin.Context, r route, caller string) error {
	o, ctx := g.guard.o, c.Request.Context()
	if o.Calls != nil {
		turn := o.Calls.Take(ctx, caller)
		c.Header("RateLimit-Limit", strconv.Itoa(turn.Limit))
		c.Header("RateLimit-Remaining", strconv.Itoa(turn.Left))
		c.Header("RateLimit-Reset", strconv.Itoa(seconds(turn.Reset)))
		if !turn.OK {
			return TooMany("too many requests by "+caller, turn.Retry)
		}
	}
	if c.Request.Method == http.MethodGet || r.role == access.Read || r.many {
		return nil
	}
	return take(ctx, o.Writes, caller, "too many changes by "+caller)
}

// take takes a turn of a limit, nil = there is none. Its error is the 429 answer.
func take(ctx context.Context, l *limit.Rate, caller, says string) error {
	if l == nil {
		return nil
	}
	if turn := l.Take(ctx, caller); !turn.OK {
		return TooMany(says, turn.Retry)
	}
	return nil
}

// uncounted are open operations without a limit of the gate. Probes cost nothing, and a load balancer without their
// answer takes the API out of service. Meta sends what it has to; requests that it has not signed have their own limit.
// A page of the console is some twenty files, which lie in memory.
var uncounted = []string{"health", "ready", "receive-whatsapp-webhook", consoleRoute}

// Network is the address of a request's sender, as limits count it: that of IPv4, and the network of 64 bits of IPv6,
// in which one sender has any number of addresses.
func Network(c *gin.Context) string {
	ip, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return c.ClientIP()
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() || ip.IsLoopback() {
		return ip.String()
	}
	p, err := ip.Prefix(64)
	if err != nil {
		panic(err) // an address of IPv6 has 64 bits
	}
	return p.String()
}

// errMisdirected is the answer to a request by another name.
var errMisdirected = huma.NewError(http.StatusMisdirectedRequest, "while authentication is off, only requests to IP "+
	"addresses, to localhost, to the host of CONVEYOR_API_URL and to those in CONVEYOR_API_HOSTS are answered, so that no "+
	"page of another site can read the answers; set CONVEYOR_API_HOSTS, or create an API key")

// forwarded says that a request comes by way of a proxy that says so. Not every proxy does.
func forwarded(r *http.Request) bool {
	return slices.ContainsFunc([]string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"}, func(name string) bool {
		return r.Header.Get(name) != ""
	})
}

// warnOfProxy logs once that an address which is no trusted proxy names whom it speaks for: limits count all callers
// behind it as one.
func (g *gate) warnOfProxy(c *gin.Context) {
	remote, by := c.RemoteIP(), c.GetHeader("X-Forwarded-For")
	if by != "" && c.ClientIP() == remote && !strings.Contains(by, remote) {
		g.behind.Do(func() {
			g.log.WarnContext(c, "a request has X-Forwarded-For, and its sender is not in CONVEYOR_API_PROXIES: if that is a "+
				"proxy, all callers behind it are one for limits and the audit", "remote", remote)
		})
	}
}

// errForwarded is the answer to one while authentication is off: the proxy is on this machine, its callers may be
// anywhere, and each would have the role admin.
var errForwarded = huma.Error403Forbidden("while authentication is off, requests by way of a proxy are refused: " +
	"create an API key (conveyor keys create NAME --role admin), or set CONVEYOR_API_OPEN where only those who may do " +
	"everything reach the proxy")

// late waits before a caller is told that it asks too often: one that asks again at once, whatever it is told, would
// take as much of a core as its requests that are answered. Of very many such requests some are answered at once.
func (g *gate) late(c *gin.Context) {
	if g.hold == 0 {
		return
	}
	select {
	case g.held <- struct{}{}:
	default:
		return
	}
	defer func() { <-g.held }()
	began := time.Now()
	select {
	case <-time.After(g.hold):
	case <-c.Request.Context().Done():
	}
	c.Set(heldFor, time.Since(began))
}

// holdMost is how many requests are held at once in a process: each has a connection and some 20 KB.
const holdMost = 1000

// heldFor is the key of how long a request was held, in its gin context: it is no time of answering.
const heldFor = "held_for"

// refuse answers with err and logs the caller and the reason, never the credentials.
func (g *gate) refuse(c *gin.Context, r route, caller access.Caller, err error) {
	c.Abort()
	if of, ok := errors.AsType[huma.StatusError](err); ok && of.GetStatus() == http.StatusTooManyRequests {
		g.late(c)
	}
	Answer(c, err)
	if status := c.Writer.Status(); status < http.StatusInternalServerError && g.lines.Allow() {
		g.log.InfoContext(c, "refused", "operation", r.name, "status", status, "caller", caller.Name,
			"remote", c.ClientIP(), RequestID, c.GetString(RequestID), "reason", err)
	}
}
