package config

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"
)

// A Setting is one line of `conveyor config`.
type Setting struct {
	Variable string
	Value    string // without secrets
	Doc      string
}

// Settings lists every setting with its value.
func (c Config) Settings() []Setting {
	var out []Setting
	groups := reflect.ValueOf(c)
	for _, group := range groups.Fields() {
		for j := range group.NumField() {
			f := group.Type().Field(j)
			value := show(group.Field(j))
			switch f.Tag.Get("secret") {
			case "url":
				value = redact(value)
			case "urls":
				list := urls(value)
				for i, u := range list {
					list[i] = redact(u)
				}
				value = strings.Join(list, ",")
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
	fmt.Fprintln(t, "VARIABLE\tVALUE\tDESCRIPTION")
	for _, s := range c.Settings() {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Variable, s.Value, s.Doc)
	}
	fmt.Fprintln(t, "CONVEYOR_HOME\t"+Home()+"\tfolder of the local stack: data, logs, tools, files")
	fmt.Fprintln(t, "CONVEYOR_*_PORT\t\tports of the local stack: API DEMO POSTGRES REDIS RABBITMQ RABBITMQ_MANAGEMENT"+
		" TEMPORAL TEMPORAL_UI CHROMIUM")
	fmt.Fprintln(t, "TEMPORAL_*\t\tas for the temporal CLI: ADDRESS NAMESPACE API_KEY TLS… PROFILE, or its profile file")
	for _, v := range [][2]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector of traces, such as http://127.0.0.1:4318; empty turns tracing off"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "protocol of the collector: http/protobuf, the default, or grpc"},
		{"OTEL_TRACES_EXPORTER", "exporter of traces: otlp, the default, console or none"},
		{"OTEL_TRACES_SAMPLER", "sampler of traces: parentbased_always_on, the default, or parentbased_traceidratio, …"},
		{"OTEL_TRACES_SAMPLER_ARG", "share of traces that parentbased_traceidratio keeps: 0.05 is one in twenty"},
		{"OTEL_RESOURCE_ATTRIBUTES", "attributes of every span: deployment.environment.name=test,…"},
	} {
		value := os.Getenv(v[0])
		if strings.HasSuffix(v[0], "ENDPOINT") {
			value = redact(value)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", v[0], value, v[1])
	}
	fmt.Fprintln(t, "OTEL_*\t\tas in the OpenTelemetry specification: OTEL_EXPORTER_OTLP_HEADERS…, OTEL_SERVICE_NAME,"+
		" OTEL_BSP_*, OTEL_SPAN_*, OTEL_SDK_DISABLED")
	for _, name := range Strangers(os.Environ()) {
		fmt.Fprintf(t, "%s\t\t! is set, and is no setting\n", name)
	}
	return t.Flush()
}

func show(v reflect.Value) string {
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

// redact hides the secrets in a URL: the password, and the values of its query. A value that is not a URL is hidden as
// a whole.
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
