package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/contract"
)

// wholeJSON is huma's own JSON, but a value that cannot be written panics before the first byte, and is a 500: huma
// would begin with the status of a success and break off. A problem is told without the values that cannot be written.
// What is no UTF-8 is not read.
var wholeJSON = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		var doc bytes.Buffer
		err := huma.DefaultJSONFormat.Marshal(&doc, v)
		if problem, ok := v.(*huma.ErrorModel); ok && err != nil {
			for _, detail := range problem.Errors {
				detail.Value = nil
			}
			doc.Reset()
			err = huma.DefaultJSONFormat.Marshal(&doc, problem)
		}
		if err != nil {
			panic(fmt.Errorf("write answer: %w", err))
		}
		_, err = w.Write(doc.Bytes())
		return err
	},
	Unmarshal: func(body []byte, v any) error {
		if !utf8.Valid(body) { // such bytes would be replaced, and a text stored that nobody has written
			return errNotUTF8
		}
		body = bytes.TrimPrefix(body, []byte("\ufeff")) // RFC 8259: a byte order mark may be ignored
		err := json.Unmarshal(body, v)
		wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if ok && strings.HasPrefix(wrong.Value, "number ") {
			err = json.Unmarshal(integers(body), v)
			wrong, ok = errors.AsType[*json.UnmarshalTypeError](err)
		}
		if ok {
			what := wrong.Value
			if len(what) > mostQuoted { // a number, in ASCII
				what = what[:mostQuoted] + "…"
			}
			return fmt.Errorf("%s is a %s, expected %s", cmp.Or(wrong.Field, "a value"), what, wrong.Type.Kind())
		}
		if _, checking := v.(*any); err == nil && !checking { // what is checked has the last of several, and v parts of all
			if name, ok := repeated(body); ok {
				return fmt.Errorf("%s is given more than once", Shown(name))
			}
		}
		return err
	},
}

// errNotUTF8 refuses a body of JSON.
var errNotUTF8 = errors.New("is not UTF-8, in which JSON is written; a compressed body is not read")

// repeated is a name that an object of a JSON text, which is valid, has more than once.
func repeated(body []byte) (name string, ok bool) {
	var open []map[string]bool // the names of each object; those of a list stay nil
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			text := body[i:]
			n := 1
			for ; text[n] != '"'; n++ {
				if text[n] == '\\' {
					n++
				}
			}
			i += n
			if behind := bytes.TrimLeft(text[n+1:], " \t\r\n"); len(behind) == 0 || behind[0] != ':' {
				continue
			}
			if name = string(text[1:n]); strings.Contains(name, `\`) {
				_ = json.Unmarshal(text[:n+1], &name)
			}
			in := &open[len(open)-1]
			if (*in)[name] {
				return name, true
			}
			if *in == nil {
				*in = map[string]bool{}
			}
			(*in)[name] = true
		}
	}
	return "", false
}

// mostQuoted is how much of a number that is refused is repeated.
const mostQuoted = 60

// integers writes the numbers of a JSON text that are integers with a fraction or an exponent, 5.0 and 2e3, without
// it: they are integers for JSON Schema, and not for encoding/json.
func integers(body []byte) []byte {
	var out []byte
	for text := false; len(body) > 0; {
		n := 1
		switch c := body[0]; {
		case text && c == '\\':
			n = min(2, len(body))
		case c == '"':
			text = !text
		case !text && (c == '-' || c >= '0' && c <= '9'):
			n = len(body) - len(bytes.TrimLeft(body, "+-.0123456789eE"))
			if whole, ok := integer(string(body[:n])); ok {
				out, body = append(out, whole...), body[n:]
				continue
			}
		}
		out, body = append(out, body[:n]...), body[n:]
	}
	return out
}

// mostDigits are those of the longest integer, math.MaxUint64.
const mostDigits = 20

// integer writes a number of JSON that has a fraction or an exponent as the integer that it is, to the last digit.
func integer(number string) (whole string, ok bool) {
	if !strings.ContainsAny(number, ".eE") {
		return "", false
	}
	number, negative := strings.CutPrefix(number, "-")
	mantissa, shift := number, int64(0)
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		var err error
		if shift, err = strconv.ParseInt(number[i+1:], 10, 32); err != nil {
			return "", false
		}
		mantissa = number[:i]
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	if digits == "" {
		return "0", true
	}
	last := strings.TrimRight(digits, "0")
	zeros := len(digits) - len(last) + int(shift) - len(after)
	if zeros < 0 || len(last)+zeros > mostDigits {
		return "", false
	}
	whole = last + strings.Repeat("0", zeros)
	if negative {
		whole = "-" + whole
	}
	return whole, true
}

// A bodyTime is a member of the bodies of an operation that is a time.
type bodyTime struct {
	at   []int // in the body
	name string
}

// bodyTimes are those of an operation with this input.
func bodyTimes(input reflect.Type) (found []bodyTime) {
	body, ok := input.FieldByName("Body")
	if !ok {
		return nil
	}
	t := body.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Type == reflect.TypeFor[time.Time]() || f.Type == reflect.TypeFor[*time.Time]() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			found = append(found, bodyTime{f.Index, name})
		}
	}
	return found
}

// wrongTimes refuses the times of a body that cannot be told in UTC.
func wrongTimes(input any, times []bodyTime) (wrong []error) {
	if len(times) == 0 {
		return nil
	}
	body := reflect.Indirect(reflect.Indirect(reflect.ValueOf(input)).FieldByName("Body"))
	if !body.IsValid() { // it was left out
		return nil
	}
	for _, m := range times {
		v := reflect.Indirect(body.FieldByIndex(m.at))
		if !v.IsValid() {
			continue
		}
		if at, ok := v.Interface().(time.Time); ok && !contract.TimeFits(at) {
			wrong = append(wrong, &huma.ErrorDetail{
				Message: "expected a year from 1 to 9999, in UTC", Location: "body." + m.name, Value: at,
			})
		}
	}
	return wrong
}
