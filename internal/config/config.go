// Package config is every setting of Conveyor: one struct, read from the environment, printed by `conveyor config`.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// Config is every setting. The tag env names the variable, envDefault what it is without one, doc what it does.
// Temporal's own connection settings (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key, profile file) are read by
// go.temporal.io/sdk/contrib/envconfig.
type Config struct {
	Postgres      Postgres
	RabbitMQ      RabbitMQ
	DraftRequests DraftRequests
	Redis         Redis
	Temporal      Temporal
	API           API
	OIDC          OIDC
	Listings      Listings
	Images        Images
	Browser       Browser
	Drafts        Drafts
	Scrape        Scrape
	Worker        Worker
	Outbox        Outbox
	Telemetry     Telemetry
}

// Postgres is the database of everything that lasts.
type Postgres struct {
	URL      string `env:"DATABASE_URL" envDefault:"postgres://conveyor:conveyor@127.0.0.1:15432/conveyor?sslmode=disable" doc:"database, as a URL" secret:"url"`
	MaxConns int32  `env:"CONVEYOR_DB_MAX_CONNS" envDefault:"24" doc:"connections a process may hold"`
}

// RabbitMQ is where messages come from and events go.
type RabbitMQ struct {
	URL           string `env:"RABBITMQ_URL" envDefault:"amqp://mtlrent:mtlrent@127.0.0.1:5673/" doc:"broker, as a URL; percent-encode the credentials" secret:"url"`
	ManagementURL string `env:"RABBITMQ_MANAGEMENT_URL" envDefault:"http://127.0.0.1:15673" doc:"management API: rates and what is unacked; its credentials, or those of RABBITMQ_URL" secret:"url"`
	QueueType     string `env:"RABBITMQ_QUEUE_TYPE" envDefault:"quorum" doc:"type of the queues that are declared: quorum or classic"`
	Declare       bool   `env:"RABBITMQ_DECLARE_TOPOLOGY" envDefault:"true" doc:"declare queues at startup; false only checks that they are there"`
	Prefetch      int    `env:"CONVEYOR_PREFETCH" envDefault:"200" doc:"deliveries of a queue in hand at once, those of crawl requests aside, 1 to 1000"`

	Hold time.Duration `env:"RABBITMQ_HOLD" envDefault:"20m" doc:"how long messages are held while something is away, before they go back to their queue; less than the broker's consumer_timeout (30m)"`
}

// DraftRequests is where wishes for product drafts come from.
type DraftRequests struct {
	Ours       bool   `env:"CONVEYOR_CRAWL_REQUESTS" envDefault:"true" doc:"take crawl requests; false leaves them to others, and their queue alone"`
	Exchange   string `env:"RABBITMQ_EXCHANGE" envDefault:"events" doc:"exchange that crawl requests are published to, a topic one"`
	Queue      string `env:"RABBITMQ_QUEUE" envDefault:"crawler.url.requested.v1" doc:"queue of crawl requests"`
	RoutingKey string `env:"RABBITMQ_ROUTING_KEY" envDefault:"crawler.url.requested.v1" doc:"routing key of crawl requests"`
	Prefetch   int    `env:"RABBITMQ_PREFETCH" envDefault:"1" doc:"crawl requests in hand at once in a bridge, 1 to 100"`
}

// Redis holds what may be lost: the limits that hold across processes.
type Redis struct {
	URL string `env:"REDIS_URL" envDefault:"redis://127.0.0.1:16379/0" doc:"limits across processes, as a URL" secret:"url"`
}

// Temporal is where workflows run.
type Temporal struct {
	UIURL     string        `env:"CONVEYOR_TEMPORAL_UI_URL" envDefault:"http://127.0.0.1:8233" doc:"Temporal Web UI, for links"`
	Retention time.Duration `env:"CONVEYOR_TEMPORAL_RETENTION" envDefault:"72h" doc:"how long closed workflows can be looked at, 24h or more"`
}

// API is the HTTP door.
type API struct {
	Address string `env:"CONVEYOR_API_ADDRESS" envDefault:"127.0.0.1:8080" doc:"address the API listens on"`
	URL     string `env:"CONVEYOR_API_URL" envDefault:"http://127.0.0.1:8080" doc:"address others reach the API at"`
	Key     string `env:"CONVEYOR_API_KEY" envDefault:"" secret:"all" doc:"key with which commands such as conveyor status call the API"`

	Keys    []string `env:"CONVEYOR_API_KEYS" envDefault:"" secret:"all" doc:"keys beside those of conveyor keys: name:role:sha256 by commas, as conveyor keys create --print-env writes them"`
	Open    bool     `env:"CONVEYOR_API_OPEN" envDefault:"false" doc:"listen on CONVEYOR_API_ADDRESS also while nobody is asked for a key; for networks that are closed otherwise"`
	Rate    int      `env:"CONVEYOR_API_RATE" envDefault:"50" doc:"requests a second of one caller, in the long run; 0 is any number"`
	Burst   int      `env:"CONVEYOR_API_BURST" envDefault:"100" doc:"requests of one caller at once"`
	Proxies []string `env:"CONVEYOR_API_PROXIES" envDefault:"" doc:"addresses and networks of proxies whose X-Forwarded-For is believed"`
}

// OIDC is the issuer whose tokens the API takes.
type OIDC struct {
	Issuer     string   `env:"CONVEYOR_OIDC_ISSUER" envDefault:"" doc:"issuer of bearer tokens, an https URL as it stands in iss; empty is none"`
	Audience   string   `env:"CONVEYOR_OIDC_AUDIENCE" envDefault:"" doc:"what must stand in aud; required with an issuer"`
	RolesClaim string   `env:"CONVEYOR_OIDC_ROLES_CLAIM" envDefault:"roles" doc:"claim that gives the role, or a path such as realm_access.roles"`
	Roles      []string `env:"CONVEYOR_OIDC_ROLES" envDefault:"" doc:"which value of the claim gives which role: admin=ops-admins,operate=ops; empty: the values are read, operate and admin"`
}

// Listings is the rental pipeline.
type Listings struct {
	Stages             []string      `env:"CONVEYOR_LISTING_STAGES" envDefault:"normalize,dedupe,import,images" doc:"the stages that are ours; a listing is handed over at the first other one"`
	StaleAfter         time.Duration `env:"CONVEYOR_STALE_AFTER" envDefault:"48h" doc:"a listing that was not scraped for so long is archived"`
	StaleEvery         time.Duration `env:"CONVEYOR_STALENESS_EVERY" envDefault:"4h" doc:"between two checks for stale listings; conveyor bootstrap sets it"`
	ArchiveDeadLetters bool          `env:"CONVEYOR_ARCHIVE_DEAD_LETTERS" envDefault:"true" doc:"move dead letters to Postgres; false leaves them in the broker"`
}

// Images is what goes for downloads from foreign hosts.
type Images struct {
	BlobURL      string        `env:"CONVEYOR_BLOB_URL" envDefault:"" secret:"url" doc:"where files are kept: file:///path, s3://…, gs://…, azblob://…; empty is .conveyor/blobs"`
	Fetch        bool          `env:"CONVEYOR_IMAGES" envDefault:"true" doc:"fetch the images of listings; while false they wait, and a listing processed again later gets them"`
	Interval     time.Duration `env:"CONVEYOR_IMAGE_INTERVAL" envDefault:"500ms" doc:"between two downloads from one host, in all processes together"`
	AllowPrivate []string      `env:"CONVEYOR_ALLOW_PRIVATE_HOSTS" envDefault:"" doc:"host:port pairs on private networks that downloads may reach all the same"`
}

// Browser is the Chromium that loads the pages of platforms.
type Browser struct {
	Executable string        `env:"CONVEYOR_BROWSER" envDefault:"" doc:"path of Chromium; empty is the first of chromium, chromium-browser and google-chrome on the PATH"`
	Driver     string        `env:"CONVEYOR_BROWSER_DRIVER" envDefault:"" doc:"folder of Playwright's driver; empty is where conveyor install-browser puts it"`
	Pages      int           `env:"CONVEYOR_BROWSER_PAGES" envDefault:"2" doc:"pages at once in a process, 1 to 32"`
	Timeout    time.Duration `env:"CONVEYOR_BROWSER_TIMEOUT" envDefault:"30s" doc:"how long a page may take"`
	MaxCycles  int           `env:"CONVEYOR_BROWSER_MAX_CYCLES" envDefault:"50" doc:"cycles of platforms after which Chromium is started anew"`
	MaxAge     time.Duration `env:"CONVEYOR_BROWSER_MAX_AGE" envDefault:"2h" doc:"age at which Chromium is started anew"`
	MaxRSS     int64         `env:"CONVEYOR_BROWSER_MAX_RSS" envDefault:"1536" doc:"resident memory of Chromium and its driver at which it is started anew, MiB; seen on Linux only"`
}

// Drafts is the Chromium that takes product pages: one that somebody else runs.
type Drafts struct {
	DevtoolsURL string        `env:"CHROME_DEVTOOLS_URL" envDefault:"" secret:"url" doc:"DevTools endpoint of the Chromium that takes product pages: http, https, ws or wss; empty, this worker takes none; conveyor up starts one"`
	ProxyHost   string        `env:"CONVEYOR_DRAFT_PROXY_HOST" envDefault:"127.0.0.1" doc:"host, or host:port, at which that Chromium reaches the proxy that a worker opens for it"`
	Pages       int           `env:"CONVEYOR_DRAFT_PAGES" envDefault:"2" doc:"pages at once in a process, 1 to 32"`
	Timeout     time.Duration `env:"CONVEYOR_DRAFT_TIMEOUT" envDefault:"30s" doc:"how long a page may take; one that is there after 5/6 of it is taken as it is"`
	OutRoot     string        `env:"CONVEYOR_OUT_ROOT" envDefault:"" doc:"folder below which the out_dir of a crawl request lies, on each worker; empty is .conveyor/drafts"`
}

// Scrape is which rental sites are scraped, and how. conveyor bootstrap writes it down for all roles; operators may
// change it after that.
type Scrape struct {
	Platforms []string `env:"CONVEYOR_SCRAPE" envDefault:"" doc:"platforms to scrape, by commas: kijiji,kangalou; kijiji=https://… begins at that search page and not at the site's usual one"`
	Transport string   `env:"CONVEYOR_SCRAPE_TRANSPORT" envDefault:"" doc:"what loads pages: browser or http; empty is as each site needs"`

	// Below 0 is what each site is known to take.
	Delay    time.Duration `env:"CONVEYOR_SCRAPE_DELAY" envDefault:"-1s" doc:"between two requests to a site; below 0 is as each site takes it"`
	Cooldown time.Duration `env:"CONVEYOR_SCRAPE_COOLDOWN" envDefault:"-1s" doc:"between two cycles through a site's search pages; below 0 is as each site takes it"`
	Pages    int           `env:"CONVEYOR_SCRAPE_PAGES" envDefault:"0" doc:"search pages in a cycle, at most; 0 is as each site has"`
}

// Of says how a platform is scraped whose own settings are site.
func (s Scrape) Of(name string, site scrape.Site) scrape.Settings {
	out := scrape.Settings{URL: site.Start, Pace: site.Pace}
	for _, p := range s.Platforms {
		if of, start, _ := strings.Cut(strings.TrimSpace(p), "="); of == name {
			out.Enabled, out.URL = true, cmp.Or(start, out.URL)
		}
	}
	out.Transport = cmp.Or(scrape.Transport(s.Transport), out.Transport)
	out.MaxPages = cmp.Or(s.Pages, out.MaxPages)
	if s.Delay >= 0 {
		out.Delay = s.Delay
	}
	if s.Cooldown >= 0 {
		out.Cooldown = s.Cooldown
	}
	return out
}

// Worker bounds what one process does at once.
type Worker struct {
	Queues     []string      `env:"CONVEYOR_TASK_QUEUES" envDefault:"listings,images,browser,drafts" doc:"kinds of work that workers do; browser is reading rental sites, and needs Chromium; drafts is crawl requests, and needs the one at CHROME_DEVTOOLS_URL"`
	StoreSlots int           `env:"CONVEYOR_STORE_SLOTS" envDefault:"20" doc:"database steps at once; at most CONVEYOR_DB_MAX_CONNS"`
	ImageSlots int           `env:"CONVEYOR_IMAGE_SLOTS" envDefault:"32" doc:"image downloads at once"`
	Scrapes    int           `env:"CONVEYOR_SCRAPE_SLOTS" envDefault:"16" doc:"search pages of rental sites worked off at once; mostly they wait for their turn"`
	StopGrace  time.Duration `env:"CONVEYOR_STOP_GRACE" envDefault:"15s" doc:"how long running work may finish at shutdown"`
}

// Outbox is the relay of events.
type Outbox struct {
	Relays    int           `env:"CONVEYOR_OUTBOX_RELAYS" envDefault:"3" doc:"batches of events on their way at once in a bridge"`
	Retention time.Duration `env:"CONVEYOR_OUTBOX_RETENTION" envDefault:"24h" doc:"how long published events are kept"`
}

// Telemetry is what a process tells of itself.
type Telemetry struct {
	Metrics string `env:"CONVEYOR_METRICS_ADDRESS" envDefault:"" doc:"address on which worker and bridge serve /metrics and /debug/pprof; empty is none"`
	Level   string `env:"CONVEYOR_LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	Format  string `env:"CONVEYOR_LOG_FORMAT" envDefault:"text" doc:"text or json"`
}

// Load reads the configuration from the environment. Its error names every variable that is wrong.
func Load() (Config, error) {
	c, err := env.ParseAs[Config]()
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", unreadable(err))
	}
	if c.Images.BlobURL == "" {
		dir, err := filepath.Abs(filepath.Join(Home(), "blobs"))
		if err != nil {
			return c, fmt.Errorf("find blob folder: %w", err)
		}
		c.Images.BlobURL = "file://" + filepath.ToSlash(dir)
	}
	if c.Drafts.OutRoot == "" {
		dir, err := filepath.Abs(filepath.Join(Home(), "drafts"))
		if err != nil {
			return c, fmt.Errorf("find folder of drafts: %w", err)
		}
		c.Drafts.OutRoot = dir
	}
	return c, c.check()
}

// unreadable names the variables that could not be read; the library names the fields of our struct.
func unreadable(err error) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	var out []error
	for _, e := range all.Errors {
		var wrong env.ParseError
		if errors.As(e, &wrong) {
			e = fmt.Errorf("%s: %w", variable(wrong), wrong.Err)
		}
		out = append(out, e)
	}
	return errors.Join(out...)
}

// variable is the one that a field is read from. Fields of one name differ in type or in the value that is quoted.
func variable(wrong env.ParseError) string {
	groups := reflect.TypeFor[Config]()
	for i := range groups.NumField() {
		f, ok := groups.Field(i).Type.FieldByName(wrong.Name)
		name := f.Tag.Get("env")
		if value := os.Getenv(name); ok && f.Type == wrong.Type && value != "" && strings.Contains(wrong.Err.Error(), value) {
			return name
		}
	}
	return wrong.Name
}

// Home is the folder of the local stack's data: CONVEYOR_HOME, or .conveyor where the command was started.
func Home() string {
	if dir := os.Getenv("CONVEYOR_HOME"); dir != "" {
		return dir
	}
	return ".conveyor"
}

func (c Config) check() error {
	var wrong []string
	is := func(ok bool, variable, format string, args ...any) {
		if !ok {
			wrong = append(wrong, variable+" "+fmt.Sprintf(format, args...))
		}
	}
	oneOf := func(variable, value string, allowed ...string) {
		is(slices.Contains(allowed, value), variable, "is %q, expected one of %s", value, strings.Join(allowed, ", "))
	}
	isURL := func(variable, value string, schemes ...string) {
		u, err := url.Parse(value) // its error would quote the password
		is(err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "", variable, "is not a URL that begins with %s://",
			strings.Join(schemes, ":// or "))
	}
	isURL("DATABASE_URL", c.Postgres.URL, "postgres", "postgresql")
	isURL("RABBITMQ_URL", c.RabbitMQ.URL, "amqp", "amqps")
	isURL("REDIS_URL", c.Redis.URL, "redis", "rediss")
	oneOf("RABBITMQ_QUEUE_TYPE", c.RabbitMQ.QueueType, "quorum", "classic")
	is(c.RabbitMQ.Prefetch >= 1 && c.RabbitMQ.Prefetch <= 1000, "CONVEYOR_PREFETCH", "is %d, expected 1 to 1000",
		c.RabbitMQ.Prefetch)
	is(c.DraftRequests.Prefetch >= 1 && c.DraftRequests.Prefetch <= 100, "RABBITMQ_PREFETCH",
		"is %d, expected 1 to 100 crawl requests; CONVEYOR_PREFETCH is that of the other queues", c.DraftRequests.Prefetch)
	for variable, name := range map[string]string{
		"RABBITMQ_EXCHANGE": c.DraftRequests.Exchange, "RABBITMQ_QUEUE": c.DraftRequests.Queue, "RABBITMQ_ROUTING_KEY": c.DraftRequests.RoutingKey,
	} {
		is(name != "" && len(name) <= 240 && !strings.HasPrefix(name, "amq."), variable,
			"is %q, expected a name of at most 240 bytes that is not the broker's own", name)
	}
	is(c.RabbitMQ.Hold >= time.Minute, "RABBITMQ_HOLD", "is %s, expected 1m or more: each time counts as a delivery",
		c.RabbitMQ.Hold)
	for _, s := range c.Listings.Stages {
		oneOf("CONVEYOR_LISTING_STAGES", s, listing.StageNormalize, listing.StageDedupe, listing.StageImport, listing.StageImages)
	}
	is(c.Listings.StaleAfter >= time.Minute, "CONVEYOR_STALE_AFTER", "is %s, expected 1m or more", c.Listings.StaleAfter)
	is(c.Listings.StaleEvery >= time.Minute, "CONVEYOR_STALENESS_EVERY", "is %s, expected 1m or more",
		c.Listings.StaleEvery)
	is(c.Temporal.Retention >= 24*time.Hour, "CONVEYOR_TEMPORAL_RETENTION", "is %s, expected 24h or more",
		c.Temporal.Retention)
	is(c.Images.Interval > 0, "CONVEYOR_IMAGE_INTERVAL", "is %s, expected more than 0", c.Images.Interval)
	is(c.Browser.Pages >= 1 && c.Browser.Pages <= 32, "CONVEYOR_BROWSER_PAGES", "is %d, expected 1 to 32", c.Browser.Pages)
	is(c.Browser.Timeout >= time.Second, "CONVEYOR_BROWSER_TIMEOUT", "is %s, expected 1s or more", c.Browser.Timeout)
	is(c.Browser.MaxCycles >= 1, "CONVEYOR_BROWSER_MAX_CYCLES", "is %d, expected 1 or more", c.Browser.MaxCycles)
	is(c.Browser.MaxAge >= time.Minute, "CONVEYOR_BROWSER_MAX_AGE", "is %s, expected 1m or more", c.Browser.MaxAge)
	is(c.Browser.MaxRSS >= 512, "CONVEYOR_BROWSER_MAX_RSS", "is %d, expected 512 or more: Chromium alone takes that",
		c.Browser.MaxRSS)
	if c.Drafts.DevtoolsURL != "" {
		isURL("CHROME_DEVTOOLS_URL", c.Drafts.DevtoolsURL, "http", "https", "ws", "wss")
	}
	is(c.Drafts.Pages >= 1 && c.Drafts.Pages <= 32, "CONVEYOR_DRAFT_PAGES", "is %d, expected 1 to 32", c.Drafts.Pages)
	is(c.Drafts.Timeout >= time.Second && c.Drafts.Timeout <= 45*time.Second, "CONVEYOR_DRAFT_TIMEOUT",
		"is %s, expected 1s to 45s", c.Drafts.Timeout)
	is(c.Worker.StoreSlots >= 1 && c.Worker.StoreSlots <= int(c.Postgres.MaxConns), "CONVEYOR_STORE_SLOTS",
		"is %d, expected 1 to CONVEYOR_DB_MAX_CONNS (%d)", c.Worker.StoreSlots, c.Postgres.MaxConns)
	is(c.Worker.ImageSlots >= 1, "CONVEYOR_IMAGE_SLOTS", "is %d, expected 1 or more", c.Worker.ImageSlots)
	is(c.Worker.Scrapes >= 1, "CONVEYOR_SCRAPE_SLOTS", "is %d, expected 1 or more", c.Worker.Scrapes)
	for _, q := range c.Worker.Queues {
		oneOf("CONVEYOR_TASK_QUEUES", q, "listings", "images", "browser", "drafts")
	}
	for _, p := range c.Scrape.Platforms {
		if name, start, said := strings.Cut(strings.TrimSpace(p), "="); said {
			isURL("CONVEYOR_SCRAPE: "+name, start, "http", "https")
		}
	}
	oneOf("CONVEYOR_SCRAPE_TRANSPORT", c.Scrape.Transport, "", string(scrape.Browser), string(scrape.HTTP))
	is(c.Scrape.Pages >= 0, "CONVEYOR_SCRAPE_PAGES", "is %d, expected 0 or more", c.Scrape.Pages)
	is(c.Outbox.Relays >= 1 && c.Outbox.Relays <= 16, "CONVEYOR_OUTBOX_RELAYS", "is %d, expected 1 to 16", c.Outbox.Relays)
	oneOf("CONVEYOR_LOG_LEVEL", c.Telemetry.Level, "debug", "info", "warn", "error")
	oneOf("CONVEYOR_LOG_FORMAT", c.Telemetry.Format, "text", "json")
	_, err := c.API.Grants()
	is(err == nil, "CONVEYOR_API_KEYS", "%v", err)
	is(c.API.Rate >= 0, "CONVEYOR_API_RATE", "is %d, expected 0 or more", c.API.Rate)
	is(c.API.Burst >= 1, "CONVEYOR_API_BURST", "is %d, expected 1 or more", c.API.Burst)
	for _, p := range c.API.Proxies {
		is(isNetwork(p), "CONVEYOR_API_PROXIES", "has %q, expected addresses and networks such as 10.0.0.0/8", p)
	}
	if c.OIDC.Issuer != "" {
		is(isIssuer(c.OIDC.Issuer), "CONVEYOR_OIDC_ISSUER",
			"is %q, expected an address that begins with https://, for its keys must not be tampered with", c.OIDC.Issuer)
		is(c.OIDC.Audience != "", "CONVEYOR_OIDC_AUDIENCE",
			"is missing; without it a token for any other service of the issuer would be good here")
	}
	_, err = c.OIDC.Mapping()
	is(err == nil, "CONVEYOR_OIDC_ROLES", "%v", err)
	if len(wrong) > 0 {
		return fmt.Errorf("read configuration: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// Grants are the keys that stand in the settings. The error quotes no key.
func (a API) Grants() ([]access.Grant, error) {
	var out []access.Grant
	for i, s := range a.Keys {
		g, err := access.ParseGrant(s)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// Mapping says which role a value of the roles claim gives; nil when the values are the roles' names.
func (o OIDC) Mapping() (map[string]access.Role, error) {
	var out map[string]access.Role
	for _, s := range o.Roles {
		name, value, ok := strings.Cut(strings.TrimSpace(s), "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("has %q, expected role=value", s)
		}
		role, err := access.ParseRole(name)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]access.Role{}
		}
		if !out[value].May(role) { // the higher of two
			out[value] = role
		}
	}
	return out, nil
}

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	if err != nil {
		_, err = netip.ParseAddr(s)
	}
	return err == nil
}

// isIssuer takes plain HTTP on this machine only.
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && address.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && local
}

// A Setting is one line of `conveyor config`.
type Setting struct {
	Variable string
	Value    string // passwords redacted
	Doc      string
}

// Settings lists every setting with its value.
func (c Config) Settings() []Setting {
	var out []Setting
	groups := reflect.ValueOf(c)
	for i := range groups.NumField() {
		group := groups.Field(i)
		for j := range group.NumField() {
			f := group.Type().Field(j)
			value := show(group.Field(j))
			switch f.Tag.Get("secret") {
			case "url":
				value = redact(value)
			case "all":
				if value != "" {
					value = "(hidden)"
				}
			}
			out = append(out, Setting{f.Tag.Get("env"), value, f.Tag.Get("doc")})
		}
	}
	return out
}

// Print writes the settings as a table.
func (c Config) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VARIABLE\tVALUE\tWHAT IT IS")
	for _, s := range c.Settings() {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Variable, s.Value, s.Doc)
	}
	fmt.Fprintln(t, "CONVEYOR_HOME\t"+Home()+"\tfolder of the local stack: data, logs, tools, files")
	fmt.Fprintln(t, "CONVEYOR_*_PORT\t\tports of the local stack: API DEMO POSTGRES REDIS RABBITMQ RABBITMQ_MANAGEMENT"+
		" TEMPORAL TEMPORAL_UI CHROMIUM")
	fmt.Fprintln(t, "TEMPORAL_*\t\tas for the temporal CLI: ADDRESS NAMESPACE API_KEY TLS… PROFILE, or its profile file")
	for _, v := range [][2]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector for traces, such as http://127.0.0.1:4318; empty, nothing is traced"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf, the default, or grpc"},
		{"OTEL_TRACES_EXPORTER", "otlp, the default, console or none"},
		{"OTEL_TRACES_SAMPLER", "which traces are kept: parentbased_always_on, the default, or parentbased_traceidratio, …"},
		{"OTEL_TRACES_SAMPLER_ARG", "with that ratio, the share that is kept: 0.05 is one in twenty"},
		{"OTEL_RESOURCE_ATTRIBUTES", "added to every span: deployment.environment.name=test,…"},
	} {
		value := os.Getenv(v[0])
		if strings.HasSuffix(v[0], "ENDPOINT") {
			value = redact(value)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", v[0], value, v[1])
	}
	fmt.Fprintln(t, "OTEL_*\t\tas in the OpenTelemetry specification: OTEL_EXPORTER_OTLP_HEADERS…, OTEL_SERVICE_NAME,"+
		" OTEL_BSP_*, OTEL_SPAN_*, OTEL_SDK_DISABLED")
	return t.Flush()
}

func show(v reflect.Value) string {
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

// redact hides what a URL may hold of secrets: the password, and values of its query. What is not a URL may be a secret
// as a whole.
func redact(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return ""
	case err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file":
		return "(hidden: not a URL)"
	}
	query := u.Query()
	for key := range query {
		if key != "sslmode" {
			query.Set(key, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}
