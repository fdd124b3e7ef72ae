package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/scrape"
)

// SandboxOff is the value of Browser.Sandbox that lets Chromium run without it.
const SandboxOff = "off"

// Browser is the Chromium that loads the pages of rental sites, which a worker starts itself, or one of `conveyor
// chromium`.
type Browser struct {
	URL        string        `env:"CONVEYOR_BROWSER_URL" envDefault:"" secret:"url" doc:"conveyor chromium whose Chromium loads the pages of rental sites, http://user:password@host:port; without it a worker starts one beside itself, as a process that may reach what the worker does" validate:"omitempty,scheme=http"`
	Password   string        `env:"CONVEYOR_CHROMIUM_PASSWORD" envDefault:"" secret:"all" doc:"password by which workers reach conveyor chromium, which needs it; they have it in CONVEYOR_BROWSER_URL and CHROME_DEVTOOLS_URL"`
	Executable string        `env:"CONVEYOR_BROWSER" envDefault:"" doc:"path of Chromium; the default is the first of chromium, chromium-browser and google-chrome on the PATH"`
	Driver     string        `env:"CONVEYOR_BROWSER_DRIVER" envDefault:"" doc:"folder of Playwright's driver; the default is the one that conveyor install-browser uses"`
	Sandbox    string        `env:"CONVEYOR_BROWSER_SANDBOX" envDefault:"required" doc:"sandbox of Chromium, also of the one that conveyor up and with-services start: required, without which it does not start, or off" validate:"oneof=required off"`
	Pages      int           `env:"CONVEYOR_BROWSER_PAGES" envDefault:"2" doc:"pages loaded at once per process, 1 to 32" validate:"min=1,max=32"`
	Timeout    time.Duration `env:"CONVEYOR_BROWSER_TIMEOUT" envDefault:"30s" doc:"maximum time of a page" validate:"min=1s"`
	MaxCycles  int           `env:"CONVEYOR_BROWSER_MAX_CYCLES" envDefault:"50" doc:"scrape cycles after which Chromium is restarted" validate:"min=1"`
	MaxAge     time.Duration `env:"CONVEYOR_BROWSER_MAX_AGE" envDefault:"2h" doc:"age at which Chromium is restarted" validate:"min=1m"`
	MaxRSS     int64         `env:"CONVEYOR_BROWSER_MAX_RSS" envDefault:"1536" doc:"resident memory of Chromium and its driver at which it is restarted, MiB; at twice which conveyor chromium ends its largest page; measured on Linux only" validate:"min=512" why:"Chromium alone takes that"`
}

// Scrape is the rental sites to scrape, and how. conveyor bootstrap stores it for all roles; operators may change the
// settings of a platform afterwards.
type Scrape struct {
	Platforms []string `env:"CONVEYOR_SCRAPE" envDefault:"" doc:"platforms to scrape, by commas: kijiji,kangalou; kijiji=https://… starts at that search page instead of the usual one of the site"`
	Transport string   `env:"CONVEYOR_SCRAPE_TRANSPORT" envDefault:"" doc:"transport that loads pages: browser or http; the default is the one that each site needs" validate:"omitempty,transport"`

	// Below 0 is the value that each site is known to accept.
	Delay    time.Duration `env:"CONVEYOR_SCRAPE_DELAY" envDefault:"-1s" doc:"time between two requests to a site; below 0 is the default of each site"`
	Cooldown time.Duration `env:"CONVEYOR_SCRAPE_COOLDOWN" envDefault:"-1s" doc:"time between two cycles through the search pages of a site; below 0 is the default of each site"`
	Look     time.Duration `env:"CONVEYOR_SCRAPE_LOOK" envDefault:"-1s" doc:"time between two looks at the newest search pages of a site, 0s for none; below 0 is the default of each site"`
	Cycle    time.Duration `env:"CONVEYOR_SCRAPE_CYCLE" envDefault:"-1s" doc:"how long a cycle with its re-visits should take, 6h at most; below 0 is the default of each site" validate:"min=-1s,max=6h"`
	Pages    int           `env:"CONVEYOR_SCRAPE_PAGES" envDefault:"0" doc:"maximum of search pages in a cycle; 0 is the default of each site" validate:"min=0"`
}

// check tests the search pages of platforms.
func (s Scrape) check(Config) (wrong []string) {
	for _, p := range s.Platforms {
		name, start, given := strings.Cut(strings.TrimSpace(p), "=")
		if given && !isURL(start, "http", "https") {
			wrong = append(wrong, "CONVEYOR_SCRAPE: "+name+" is not "+urlOf("http", "https"))
		}
	}
	return wrong
}

// Of returns the settings of a platform; site has its defaults.
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
	if s.Look >= 0 {
		out.Look = s.Look
	}
	if s.Cycle >= 0 {
		out.Cycle = s.Cycle
	}
	return out
}
