package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
		if ok && wrong.Field != "" {
			return fmt.Errorf("%s is a %s, expected %s", wrong.Field, wrong.Value, wrong.Type.Kind())
		}
		return err
	},
}

// errNotUTF8 refuses a body of JSON.
var errNotUTF8 = errors.New("is not UTF-8, in which JSON is written; a compressed body is not read")

// exact is where the integers end of which a float64 has each.
const exact = 1 << 53

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
			number, err := strconv.ParseFloat(string(body[:n]), 64)
			if err == nil && number == math.Trunc(number) && math.Abs(number) < exact {
				out, body = strconv.AppendInt(out, int64(number), 10), body[n:]
				continue
			}
		}
		out, body = append(out, body[:n]...), body[n:]
	}
	return out
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
