// Package contract describes the messages on the queues: a struct for each, the exchanges, queues and routing keys, and
// the size limits. It imports only the standard library, so that other services may import it.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxBody is the size of the largest body in bytes that the consumers of most queues read; pages of a crawl may be
// larger. The broker's own limit is 8 MiB (deploy/rabbitmq) or, by default, 16 MiB (RabbitMQ 4).
const MaxBody = 1 << 20

// A FieldError is one error in a message.
type FieldError struct {
	Field  string // dotted path in the JSON: "price.amount_cents"; "" for the body as a whole
	Reason string
}

// Errors is everything that is wrong with a message, so that its sender can mend all of it at once.
type Errors []FieldError

func (e Errors) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = strings.TrimPrefix(f.Field+": "+f.Reason, ": ")
	}
	return strings.Join(parts, "; ")
}

func (e *Errors) add(field, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// or returns e as an error, and nil when it is empty.
func (e Errors) or() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Decode reads one message of at most maxBody bytes and checks it. Every error is Errors and means that this body can
// never be read. Members that M does not name are ignored.
func Decode[M interface{ Check() error }](body []byte, maxBody int) (M, error) {
	var m M
	if len(body) > maxBody {
		return m, Errors{{Reason: fmt.Sprintf("body has %d bytes, the most is %d", len(body), maxBody)}}
	}
	if at := invalidUTF8(body); at >= 0 {
		return m, Errors{{Reason: fmt.Sprintf("body is not UTF-8 at byte %d%s", at, looksLike(body))}}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, explain(err, body, reflect.TypeFor[M]())
	}
	if field, ok := nul(body); ok && !takesNUL(m) {
		return m, Errors{{field, "contains a NUL character"}}
	}
	return m, m.Check()
}

// Part reads a member of a message that is a document of its own into v. Its errors are those of the message; nil when
// there are none.
func Part(member string, doc json.RawMessage, v any) (wrong Errors) {
	if len(doc) == 0 {
		return Errors{{member, "is missing"}}
	}
	err := json.Unmarshal(doc, v)
	if err == nil {
		return nil
	}
	if !errors.As(explain(err, doc, reflect.TypeOf(v).Elem()), &wrong) {
		return Errors{{member, err.Error()}}
	}
	for i, f := range wrong {
		wrong[i] = FieldError{
			Field:  strings.TrimSuffix(member+"."+f.Field, "."),
			Reason: strings.TrimPrefix(f.Reason, "body "),
		}
	}
	return wrong
}

// explain names the field that encoding/json could not decode.
func explain(err error, body []byte, message reflect.Type) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var own Errors
	switch {
	case errors.As(err, &own): // of a type that reads itself and knows where it stands
		return own
	case errors.As(err, &wrong) && wrong.Field == "":
		return Errors{{Reason: fmt.Sprintf("body is a JSON %s, expected an object", wrong.Value)}}
	case errors.As(err, &wrong):
		return Errors{{wrong.Field, fmt.Sprintf("is a %s, expected %s", wrong.Value, wrong.Type)}}
	case errors.As(err, &syntax):
		return Errors{{Reason: fmt.Sprintf("body is not JSON at byte %d: %v%s", syntax.Offset, err, looksLike(body))}}
	}
	// A type that reads itself, such as a time, does not say where it stood: try the members one by one.
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil && message.Kind() == reflect.Struct {
		for field := range message.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			value, ok := members[name]
			kind := field.Type
			reason := json.Unmarshal(value, reflect.New(kind).Interface())
			switch {
			case !ok || reason == nil:
			case kind == reflect.TypeFor[time.Time](), kind == reflect.TypeFor[*time.Time]():
				return Errors{{name, fmt.Sprintf("is %s, expected an RFC 3339 time such as 2025-11-01T12:00:00Z",
					cut(string(value)))}}
			default:
				return Errors{{name, cut(reason.Error())}}
			}
		}
	}
	return Errors{{Reason: fmt.Sprintf("body is not a message: %v", err)}}
}

// invalidUTF8 returns where b stops being UTF-8, or -1. encoding/json would replace such bytes silently.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// What bodies begin with that libraries of senders compress or encode.
var coded = []struct{ start, what string }{
	{"\x1f\x8b", "it is compressed (gzip)"}, {"\x28\xb5\x2f\xfd", "it is compressed (zstd)"},
	{"x\x01", "it is compressed (zlib)"}, {"x\x5e", "it is compressed (zlib)"},
	{"x\x9c", "it is compressed (zlib)"}, {"x\xda", "it is compressed (zlib)"},
	{"\xff\xfe", "it is in UTF-16"}, {"\xfe\xff", "it is in UTF-16"},
	{"{\x00", "it is in UTF-16"}, {"\x00{", "it is in UTF-16"},
	{"\xac\xed\x00\x05", "it is a serialized object of Java"},
}

// looksLike says what a body is that cannot be read; "" where it shows no sign of it.
func looksLike(body []byte) string {
	for _, c := range coded {
		if bytes.HasPrefix(body, []byte(c.start)) {
			return ": " + c.what + ", and is to be JSON in UTF-8"
		}
	}
	return ""
}

func takesNUL(message any) bool {
	_, ok := message.(interface{ TakesNUL() })
	return ok
}

// nul looks for a NUL character, which JSON can spell and Postgres cannot store, and names the member that holds
// it. Valid JSON has it only as an escape, so nearly every message is settled by the first test.
func nul(body []byte) (field string, found bool) {
	if !bytes.Contains(body, []byte(`\u0000`)) {
		return "", false
	}
	member := ""
	depth := 0
	key := false // the next string at depth 1 is a member's name
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return "", false
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			key = depth == 1
			continue
		case string:
			name := depth == 1 && key
			if name {
				member, key = t, false
			}
			if strings.ContainsRune(t, 0) {
				return strings.ReplaceAll(member, "\x00", ""), true
			}
			if name {
				continue
			}
		}
		key = depth == 1
	}
}

// PlatformName is the form of the name of a platform.
var PlatformName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

var platformID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~:-]{0,99}$`)

// checkRef checks what names a listing: both parts become workflow IDs and routing keys.
func checkRef(e *Errors, platform, id string) {
	switch {
	case platform == "":
		e.add("platform", "is missing")
	case !PlatformName.MatchString(platform):
		e.add("platform", "%q is not a platform name, expected %s", cut(platform), PlatformName)
	}
	switch {
	case id == "":
		e.add("platform_id", "is missing")
	case !platformID.MatchString(id):
		e.add("platform_id", "%q is not an ID, expected %s", cut(id), platformID)
	}
}

// cut shortens text of a message for use in a reason.
func cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
