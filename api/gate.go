package api

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	wholeTimeout = 30 * time.Second // for an answer, unless the operation has a timeoutKey
	writeMargin  = 5 * time.Second  // for its last bytes
	maxBody      = 1 << 20          // bytes of a request's body, unless the operation has a MaxBodyBytes
)

// gate is the middleware of every request: it measures, bounds, authenticates and authorizes it.
type gate struct {
	guard  *Guard
	log    *slog.Logger
	own    string // host of Options.URL
	cross  *http.CrossOriginProtection
	routes map[string]route // by method and path as gin writes them
	lines  *rate.Limiter    // of refusals in the log

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// A route is the rules of one route.
type route struct {
	name    string
	role    access.Role
	open    bool // requires no credentials
	timeout time.Duration
	body    int64 // bytes; below 0 = any number
}

func newGate(o Options) *gate {
	g := &gate{guard: o.Guard, log: o.Log, lines: rate.NewLimiter(20, 100), cross: http.NewCrossOriginProtection()}
	if g.guard == nil {
		g.guard = NewGuard(GuardOptions{})
	}
	if u, err := url.Parse(o.URL); err == nil && u.Host != "" {
		g.own = strings.ToLower(u.Hostname())
		_ = g.cross.AddTrustedOrigin(u.Scheme + "://" + u.Host) // behind a proxy the header Host may be another
	}
	metrics := promauto.With(o.Registerer)
	g.requests = metrics.NewCounterVec(prometheus.CounterOpts{
		Name: "conveyor_api_requests_total", Help: "Requests answered, by operation and status.",
	}, []string{"operation", "status"})
	g.seconds = metrics.NewHistogramVec(prometheus.HistogramOpts{
		Name: "conveyor_api_request_seconds", Help: "Time to answer a request, by operation.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"operation"})
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
			if d, ok := o.Metadata[timeoutKey].(time.Duration); ok {
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
	c.Next()
	took := time.Since(start)
	g.requests.WithLabelValues(name, strconv.Itoa(c.Writer.Status())).Inc()
	g.seconds.WithLabelValues(name).Observe(took.Seconds())
	g.log.DebugContext(c, "answered", "operation", name, "method", c.Request.Method, "status", c.Writer.Status(),
		"took", took, "caller", callerOf(c.Request.Context()).Name, "remote", c.ClientIP())
}

// bound limits the time and the body of a request.
func (g *gate) bound(c *gin.Context) {
	r := g.route(c)
	if r.body >= 0 && c.Request.Body != nil { // one more byte, for huma has its own answer at the limit
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, r.body+1)
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), r.timeout)
	defer cancel()
	// The server of a test may not support deadlines. Every request sets its own.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(r.timeout + writeMargin))
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// admit authenticates and authorizes the sender of a request.
func (g *gate) admit(c *gin.Context) {
	r := g.route(c)
	if err := g.cross.Check(c.Request); err != nil {
		g.refuse(c, r, access.Caller{}, huma.Error403Forbidden("the request comes from a page of another site: "+err.Error()))
		return
	}
	if r.open {
		c.Next()
		return
	}
	ctx := c.Request.Context()
	locked, err := g.guard.Locked(ctx)
	if err != nil {
		g.refuse(c, r, access.Caller{}, problem(ctx, g.log, err))
		return
	}
	caller := anonymous
	if locked {
		caller, err = g.known(c)
	} else {
		err = g.ours(c.Request.Host)
	}
	if err != nil {
		g.refuse(c, r, caller, err)
		return
	}
	c.Request = c.Request.WithContext(as(ctx, caller))
	if !caller.Role.May(r.role) {
		has := "has " + string(caller.Role)
		if caller.Role == "" {
			has = "has none"
		}
		g.refuse(c, r, caller, huma.Error403Forbidden("needs the role "+string(r.role)+"; "+caller.Name+" "+has))
		return
	}
	c.Next()
}

// known is the sender of a request while authentication is on, within its rate limit. Its error is the answer.
func (g *gate) known(c *gin.Context) (access.Caller, error) {
	ctx := c.Request.Context()
	caller, err := g.guard.caller(ctx, c.GetHeader("Authorization"))
	if class, _ := fault.Of(err); class == fault.Invalid {
		if g.guard.o.Refusals != nil && !errors.Is(err, errNoCredentials) {
			if turn := g.guard.o.Refusals.Take(ctx, c.ClientIP()); !turn.OK {
				return caller, tooMany("too many invalid keys and tokens from your address", turn.Retry)
			}
		}
		return caller, unauthorized(err)
	}
	if err != nil {
		return caller, problem(ctx, g.log, err)
	}
	if g.guard.o.Calls == nil {
		return caller, nil
	}
	turn := g.guard.o.Calls.Take(ctx, caller.Name)
	c.Header("RateLimit-Limit", strconv.Itoa(turn.Limit))
	c.Header("RateLimit-Remaining", strconv.Itoa(turn.Left))
	c.Header("RateLimit-Reset", strconv.Itoa(seconds(turn.Reset)))
	if !turn.OK {
		return caller, tooMany("too many requests by "+caller.Name, turn.Retry)
	}
	return caller, nil
}

// ours refuses a host by which the API may not be called while authentication is off. A web page whose own name is made
// to resolve to the API's address (DNS rebinding) could read every answer, so a name with a dot must be that of
// Options.URL. Addresses, bare names such as those of containers, and localhost cannot be made to resolve to it from
// outside.
func (g *gate) ours(host string) error {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	_, err := netip.ParseAddr(name)
	if err == nil || name == g.own || !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") {
		return nil
	}
	return huma.NewError(http.StatusMisdirectedRequest, "while authentication is off, only requests to the host "+
		"of CONVEYOR_API_URL, to localhost and to IP addresses are answered, so that no page of another site can read the "+
		"answers; create an API key, or set CONVEYOR_API_URL")
}

// tooMany is the 429 answer.
func tooMany(says string, retry time.Duration) error {
	wait := strconv.Itoa(max(1, seconds(retry)))
	return huma.ErrorWithHeaders(huma.Error429TooManyRequests(says+"; try again in "+wait+" s"),
		http.Header{"Retry-After": {wait}})
}

// seconds rounds up.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// refuse answers with err and logs the caller and the reason, never the credentials.
func (g *gate) refuse(c *gin.Context, r route, caller access.Caller, err error) {
	c.Abort()
	answer(c, err)
	if status := c.Writer.Status(); status < http.StatusInternalServerError && g.lines.Allow() {
		g.log.InfoContext(c, "refused", "operation", r.name, "status", status, "caller", caller.Name,
			"remote", c.ClientIP(), "reason", err)
	}
}
