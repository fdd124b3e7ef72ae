package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Listings is the pipeline of rental adverts.
type Listings struct {
	Stages             []string      `env:"CONVEYOR_LISTING_STAGES" doc:"stages that this system runs, by commas; a listing is handed over at the first stage that is not among them" validate:"dive,stage"`
	StaleAfter         time.Duration `env:"CONVEYOR_STALE_AFTER" envDefault:"48h" doc:"age of the last scrape at which a listing is archived" validate:"min=1m"`
	StaleEvery         time.Duration `env:"CONVEYOR_STALENESS_EVERY" envDefault:"4h" doc:"interval of the check for stale listings; applied by conveyor bootstrap" validate:"min=1m"`
	Enrich             string        `env:"CONVEYOR_ENRICH" envDefault:"here" doc:"who adds facts and places to listings: here = this system, when they are published (what a language model says afterwards); elsewhere = another consumer of listings.normalized, which publishes to listings.enriched; off" validate:"oneof=here elsewhere off"`
	ReplayRate         int           `env:"CONVEYOR_REPLAY_RATE" envDefault:"100" doc:"adverts a second that all replays together may start, across all processes" validate:"min=1"`
	Prefer             []string      `env:"CONVEYOR_LISTING_PREFERENCE" envDefault:"" doc:"platforms whose adverts are rather shown where a home is advertised on several, the best first, by commas; the others follow, the oldest first" validate:"dive,platform"`
	ArchiveDeadLetters bool          `env:"CONVEYOR_ARCHIVE_DEAD_LETTERS" envDefault:"true" doc:"move dead letters to Postgres; false leaves them in the broker"`
}

// Images is the download of files from other hosts, and where they are stored.
type Images struct {
	BlobURL      string        `env:"CONVEYOR_BLOB_URL" envDefault:"" secret:"url" doc:"URL of the blob store: file:///path, s3://…, gs://…, azblob://…; the default is .conveyor/blobs"`
	Fetch        bool          `env:"CONVEYOR_IMAGES" envDefault:"true" doc:"download the images of listings; images skipped while it is false are downloaded when the listing is processed again"`
	Interval     time.Duration `env:"CONVEYOR_IMAGE_INTERVAL" envDefault:"500ms" doc:"time between two downloads from one host, across all processes" validate:"gt=0"`
	AllowPrivate []string      `env:"CONVEYOR_ALLOW_PRIVATE_HOSTS" envDefault:"" doc:"host:port pairs on private networks that pages and downloads may reach, by commas" validate:"dive,hostport"`
	Demo         bool          `env:"CONVEYOR_DEMO" envDefault:"false" doc:"accept the loopback interface in CONVEYOR_ALLOW_PRIVATE_HOSTS and CONVEYOR_WEBHOOK_PRIVATE_HOSTS, where the services of a local stack listen as well as its demo site; conveyor up does"`
}

// check tests that no page of a stranger's reaches the services of the machine.
func (i Images) check(Config) []string {
	return demoOnly("CONVEYOR_ALLOW_PRIVATE_HOSTS", i.AllowPrivate, i.Demo)
}

// demoOnly refuses hosts of a setting that are on the loopback interface, unless this is a demo.
func demoOnly(setting string, hosts []string, demo bool) (wrong []string) {
	for _, at := range hosts {
		if host, _, err := net.SplitHostPort(at); err == nil && isLoopback(host) && !demo {
			wrong = append(wrong, setting+" has "+strconv.Quote(at)+
				", which is on the loopback interface; CONVEYOR_DEMO=true accepts that, for a demo site")
		}
	}
	return wrong
}

// isHostPort accepts a host with one port.
func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, nerr := strconv.Atoi(port)
	return err == nil && host != "" && nerr == nil && n > 0 && n < 1<<16
}

func isLoopback(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	address, err := netip.ParseAddr(host)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		err == nil && (address.Unmap().IsLoopback() || address.Unmap().IsUnspecified())
}
