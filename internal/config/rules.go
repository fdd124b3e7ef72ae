package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// A rule of the tag validate is min, max, gt or oneof of the validator library, or one of these. omitempty before it
// accepts an empty value, and dive applies it to each element of a list. The tag why is appended to the error.
//
//	scheme=a b   an absolute URL with one of these schemes; its errors quote no value
//	schemes=a b  URLs by commas, each as for scheme
//	stage        one of the stages of a listing
//	transport    one of the transports of a scraper
//	taskqueue    one of the task queues that Load was given
//	network      an IP address or a network in CIDR notation
//	platform     a name of a platform
//	hostport     a host and a port
//	partrole     a name of a task queue, bridge or api, = and a name of a role of the database
//	host         a host name without a port
//	amqpname     a name of an exchange, queue or routing key that is not reserved by the broker
//	issuer       an OIDC issuer
//	deployment   a name of a Worker Deployment of Temporal
//	build        an ID of one of its builds
type rules struct {
	enums map[string][]string // valid values by rule
}

// checker is a group with rules that a tag cannot express, such as those between two settings.
type checker interface {
	// check returns an error text for each setting that is wrong.
	check(c Config) []string
}

// problems returns an error text for each setting that is wrong.
func (c Config) problems(taskQueues []string) (wrong []string) {
	r := rules{enums: map[string][]string{
		"stage": listing.Stages, "taskqueue": taskQueues, "transport": {string(scrape.Browser), string(scrape.HTTP)},
	}}
	var fields validator.ValidationErrors
	if err := r.validator().Struct(c); err != nil && !errors.As(err, &fields) {
		return []string{err.Error()} // not caused by a value
	}
	for _, f := range fields {
		wrong = append(wrong, r.text(f))
	}
	groups := reflect.ValueOf(c)
	for _, field := range groups.Fields() {
		if group, ok := field.Interface().(checker); ok {
			wrong = append(wrong, group.check(c)...)
		}
	}
	return wrong
}

// validator knows the rules above.
func (r rules) validator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	add := func(rule string, valid func(value, param string) bool) {
		err := v.RegisterValidation(rule, func(f validator.FieldLevel) bool { return valid(f.Field().String(), f.Param()) })
		if err != nil {
			panic(err) // the name of a rule is empty or reserved
		}
	}
	for rule, values := range r.enums {
		add(rule, func(value, _ string) bool { return slices.Contains(values, value) })
	}
	add("scheme", func(value, schemes string) bool { return isURL(value, strings.Fields(schemes)...) })
	add("schemes", func(value, schemes string) bool {
		list := urls(value)
		wrong := func(s string) bool { return !isURL(s, strings.Fields(schemes)...) }
		return len(list) > 0 && !slices.ContainsFunc(list, wrong)
	})
	add("network", func(value, _ string) bool { return isNetwork(value) })
	add("platform", func(value, _ string) bool { return contract.PlatformName.MatchString(value) })
	add("partrole", func(value, _ string) bool {
		queue, role, _ := strings.Cut(value, "=")
		return queue != "" && role != ""
	})
	add("hostport", func(value, _ string) bool { return isHostPort(value) })
	add("host", func(value, _ string) bool { return hostName.MatchString(value) })
	add("amqpname", func(value, _ string) bool {
		return value != "" && len(value) <= 240 && !strings.HasPrefix(value, "amq.")
	})
	add("deployment", func(value, _ string) bool { return deploymentName.MatchString(value) })
	add("build", func(value, _ string) bool { return buildName.MatchString(value) })
	add("issuer", func(value, _ string) bool { return isIssuer(value) })
	return v
}

// text is the error of one setting: its variable, its value unless that is secret, and what was expected.
func (r rules) text(f validator.FieldError) string {
	path := strings.Split(f.StructNamespace(), ".") // Config, group, field; the field of an element ends in [0]
	name, _, _ := strings.Cut(path[2], "[")
	group, _ := reflect.TypeFor[Config]().FieldByName(path[1])
	field, _ := group.Type.FieldByName(name)
	var out string
	switch value := f.Value().(type) {
	case string:
		out = fmt.Sprintf("is %q, expected ", value)
	default:
		out = fmt.Sprintf("is %v, expected ", value)
	}
	if field.Tag.Get("secret") != "" {
		out = "is not "
	}
	out = field.Tag.Get("env") + " " + out + r.expected(field.Tag.Get("validate"))
	if why := field.Tag.Get("why"); why != "" {
		out += ": " + why
	}
	return out
}

// expected describes the valid values of a validate tag.
func (r rules) expected(tag string) string {
	var low string
	for rule := range strings.SplitSeq(tag, ",") {
		name, param, _ := strings.Cut(rule, "=")
		switch name {
		case "min":
			low = param
		case "max":
			return low + " to " + param
		case "gt":
			return "more than " + param
		case "oneof":
			return "one of " + strings.Join(strings.Fields(param), ", ")
		case "scheme":
			return urlOf(strings.Fields(param)...)
		case "schemes":
			return urlOf(strings.Fields(param)...) + ", or several of them by commas"
		case "network":
			return "an address or a network such as 10.0.0.0/8"
		case "platform":
			return "a name of a platform such as kijiji"
		case "partrole":
			return "a task queue, bridge or api, and a role such as browser=conveyor_pages"
		case "hostport":
			return "a host and a port such as images.internal:8080"
		case "host":
			return "a host name such as api, without a port"
		case "amqpname":
			return "a name of 1 to 240 bytes that does not begin with amq."
		case "deployment":
			return "1 to 100 letters, digits, - and _"
		case "build":
			return "1 to 100 letters, digits, and . - _ +, such as 0.5.0"
		case "issuer":
			return "a URL that begins with https://, or with http:// on the loopback interface"
		default:
			if values, ok := r.enums[name]; ok {
				return "one of " + strings.Join(values, ", ")
			}
		}
	}
	return low + " or more"
}

// isURL reports whether s is an absolute URL with one of the schemes. url.Parse's error is dropped: it quotes
// passwords.
func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Host != ""
}

// urlOf describes the URLs that isURL accepts.
func urlOf(schemes ...string) string {
	return "a URL that begins with " + strings.Join(schemes, ":// or ") + "://"
}

// hostName is a name as DNS and containers have it, or an IPv4 address.
var hostName = regexp.MustCompile(`^(?i)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// Names of Temporal's Worker Deployments, which may not have . and :, and of their builds.
var (
	deploymentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	buildName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)
)

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	if err != nil {
		_, err = netip.ParseAddr(s)
	}
	return err == nil
}
