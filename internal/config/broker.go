package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// RabbitMQ is the broker of messages and events.
type RabbitMQ struct {
	URL           string `env:"RABBITMQ_URL" envDefault:"amqp://127.0.0.1:5673/" doc:"URL of the broker, or those of the nodes of a cluster by commas, one of which is connected to; percent-encode the credentials" secret:"urls" validate:"schemes=amqp amqps"`
	ManagementURL string `env:"RABBITMQ_MANAGEMENT_URL" envDefault:"http://127.0.0.1:15673" doc:"URL of the management API, for rates and unacked counts, or those of several nodes by commas; without credentials, those of RABBITMQ_URL are used; certificates of https:// are named by ?cacertfile=…&certfile=…&keyfile=…" secret:"urls" validate:"schemes=http https"`
	User          string `env:"RABBITMQ_USER" envDefault:"" doc:"user of the broker, where RABBITMQ_URL is not set; so are the next four"`
	Password      string `env:"RABBITMQ_PASSWORD" envDefault:"" doc:"password, as it is" secret:"all"`
	Host          string `env:"RABBITMQ_HOST" envDefault:"" doc:"host; the default is rabbitmq where RABBITMQ_USER is set"`
	Port          int    `env:"RABBITMQ_PORT" envDefault:"5672" doc:"port" validate:"min=1,max=65535"`
	Vhost         string `env:"RABBITMQ_VHOST" envDefault:"/" doc:"virtual host"`
	QueueType     string `env:"RABBITMQ_QUEUE_TYPE" envDefault:"quorum" doc:"type of declared queues: quorum or classic" validate:"oneof=quorum classic"`
	Declare       bool   `env:"RABBITMQ_DECLARE_TOPOLOGY" envDefault:"true" doc:"declare exchanges and queues at startup; false only checks that they exist"`
	Prefetch      int    `env:"CONVEYOR_PREFETCH" envDefault:"200" doc:"unacknowledged deliveries per queue, except the queue of crawl requests; 1 to 1000" validate:"min=1,max=1000"`

	Hold time.Duration `env:"RABBITMQ_HOLD" envDefault:"20m" doc:"how long a bridge holds messages while a dependency is down, before it returns them to their queue; less than the broker's consumer_timeout (30m)" validate:"min=1m" why:"each return to the queue counts as a delivery"`
}

// URLs are those of the nodes of the broker.
func (r RabbitMQ) URLs() []string { return urls(r.URL) }

// check tests that files of TLS are used: otherwise the password goes in clear text, though they are named.
func (r RabbitMQ) check(Config) []string {
	for _, s := range r.URLs() {
		u, err := url.Parse(s)
		if err != nil || u.Scheme == "amqps" {
			continue // the rules of the field say what is wrong
		}
		for _, name := range []string{"cacertfile", "certfile", "keyfile"} {
			if u.Query().Has(name) {
				return []string{"RABBITMQ_URL is not a URL that begins with amqps://, which " + name + " is for"}
			}
		}
	}
	return nil
}

// ManagementURLs are those of the management API, which each node has.
func (r RabbitMQ) ManagementURLs() []string { return urls(r.ManagementURL) }

// urls are those of a list by commas. A comma does not end a URL unless a scheme follows: passwords have commas.
func urls(list string) []string {
	var out []string
	for rest := list; rest != ""; {
		end := len(rest)
		if next := nextURL.FindStringIndex(rest); next != nil {
			end = next[0]
		}
		out = append(out, strings.TrimSpace(rest[:end]))
		rest = strings.TrimLeft(rest[end:], ", ")
	}
	return out
}

var nextURL = regexp.MustCompile(`,\s*[a-z]+://`)

// Broker returns the URLs of the broker and of its management API that the environment names, by RABBITMQ_URL or by
// RABBITMQ_USER and its likes, as Load reads them. They are empty where it names none.
func Broker(getenv func(string) string) (broker, management string, err error) {
	r := RabbitMQ{
		URL: getenv("RABBITMQ_URL"), ManagementURL: getenv("RABBITMQ_MANAGEMENT_URL"), User: getenv("RABBITMQ_USER"),
		Password: getenv("RABBITMQ_PASSWORD"), Host: getenv("RABBITMQ_HOST"), Port: 5672, Vhost: getenv("RABBITMQ_VHOST"),
	}
	if port := getenv("RABBITMQ_PORT"); port != "" {
		if r.Port, err = strconv.Atoi(port); err != nil || r.Port < 1 || r.Port > 65535 {
			return "", "", fmt.Errorf("RABBITMQ_PORT is %q, expected 1 to 65535", port)
		}
	}
	r.compose(getenv)
	return r.URL, r.ManagementURL, nil
}

// compose makes the URLs that are not set of RABBITMQ_USER and its likes, where that or a host is set.
func (r *RabbitMQ) compose(getenv func(string) string) {
	if getenv("RABBITMQ_URL") != "" || r.User == "" && r.Host == "" {
		return
	}
	host := r.Host
	if host == "" {
		host = "rabbitmq"
	}
	u := url.URL{Scheme: "amqp", Host: net.JoinHostPort(host, strconv.Itoa(r.Port)), Path: "/"}
	if r.User != "" {
		u.User = url.UserPassword(r.User, r.Password)
	}
	if r.Vhost != "" && r.Vhost != "/" {
		u.Path, u.RawPath = "/"+r.Vhost, "/"+url.PathEscape(r.Vhost)
	}
	r.URL = u.String()
	if getenv("RABBITMQ_MANAGEMENT_URL") == "" {
		r.ManagementURL = "http://" + net.JoinHostPort(host, "15672")
	}
}

// Outbox is the relay of events from the database to the broker.
type Outbox struct {
	Relays    int           `env:"CONVEYOR_OUTBOX_RELAYS" envDefault:"3" doc:"batches of events that a bridge publishes at once, 1 to 16" validate:"min=1,max=16"`
	Retention time.Duration `env:"CONVEYOR_OUTBOX_RETENTION" envDefault:"24h" doc:"retention of published events, 1h or more" validate:"min=1h" why:"by them an event that is stored twice is published once"`
	Published int           `env:"CONVEYOR_PUBLISHED_MAX" envDefault:"1000000" doc:"messages that the queue listings.published keeps while it is not consumed; the bridge drops older ones; 0 keeps all" validate:"min=0"`
	Crawled   int           `env:"CONVEYOR_CRAWLED_MAX" envDefault:"100000" doc:"messages that the queue crawler_queue keeps while another indexer, which is to consume it, does not; the bridge drops older ones; 0 keeps all" validate:"min=0"`
	GiveUp    time.Duration `env:"CONVEYOR_OUTBOX_GIVE_UP" envDefault:"24h" doc:"how long the broker may refuse a message before it becomes a dead letter; 0 publishes it again without end" validate:"min=0"`
}
