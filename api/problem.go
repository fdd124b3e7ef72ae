package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

// RetryAfter is the least Retry-After of a 503.
const RetryAfter = 5 * time.Second

// mostDetails is how many details a problem has.
const mostDetails = 50

// huma names each property that it does not know, and with each of them the whole object that has it: without bounds,
// the answer to a body of 30 KB has 100 MB, and repeats what is secret in it.
func init() {
	whole := huma.NewError
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		more := max(0, len(errs)-mostDetails)
		made := whole(status, msg, errs[:len(errs)-more]...)
		p, ok := errors.AsType[*huma.ErrorModel](made)
		if !ok {
			return made
		}
		for i, d := range p.Errors {
			if d != nil {
				p.Errors[i] = &huma.ErrorDetail{Message: worded(d.Message), Location: Shown(d.Location), Value: brief(d)}
			}
		}
		if more > 0 {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: fmt.Sprintf("and %d more", more)})
		}
		return made
	}
}

// worded is a message that says what is expected, without the layouts of Go, which only those read who know them.
func worded(message string) string {
	switch message {
	case "invalid date/time for format " + time.RFC3339Nano:
		return "expected a time such as 2026-01-31T09:30:00Z"
	case "invalid integer":
		return "expected an integer such as 42"
	case "invalid float", "invalid floating value":
		return "expected a number such as 4.5"
	case "invalid boolean":
		return "expected true or false"
	}
	return message
}

// brief is what a problem repeats of a value in an address: a number, a time, the beginning of a text, or of texts with
// commas between them; of other lists nothing. What stands in bodies and headers may be a secret or a person's, and an
// answer is logged where the request is not.
func brief(d *huma.ErrorDetail) any {
	if !strings.HasPrefix(d.Location, "query.") && !strings.HasPrefix(d.Location, "path.") {
		return nil
	}
	switch v := d.Value.(type) {
	case time.Time:
		return v
	case []string:
		return Shown(strings.Join(v, ","))
	}
	switch v := reflect.ValueOf(d.Value); {
	case v.Kind() == reflect.String:
		return Shown(v.String())
	case v.CanInt(), v.CanUint(), v.CanFloat(), v.Kind() == reflect.Bool:
		return d.Value
	}
	return nil
}

// Problem turns a fault into an RFC 9457 answer. A fault that retrying may heal is a 503 without its text, which names
// parts of the system: that is logged. What is an answer already stays as it is.
func Problem(ctx context.Context, log *slog.Logger, err error) error {
	if _, made := errors.AsType[huma.StatusError](err); made {
		return err
	}
	// No Retry-After: it is not time that makes room.
	if _, full := errors.AsType[*db.FullError](err); full {
		return huma.Error429TooManyRequests(err.Error())
	}
	class, after := fault.Of(err)
	switch class {
	case fault.Invalid:
		return huma.Error422UnprocessableEntity(err.Error())
	case fault.Gone:
		return huma.Error404NotFound(err.Error())
	case fault.Blocked:
		return huma.Error403Forbidden(err.Error())
	case fault.Conflict:
		return huma.Error409Conflict(err.Error())
	case fault.Limited:
		return huma.ErrorWithHeaders(huma.Error429TooManyRequests(err.Error()),
			http.Header{"Retry-After": {strconv.Itoa(int(max(after, time.Second).Seconds()))}})
	case fault.Transient, fault.Throttled:
	}
	log.WarnContext(ctx, "request failed", "class", class, "err", err)
	seconds := strconv.Itoa(int(max(after, RetryAfter).Seconds()))
	return huma.ErrorWithHeaders(
		huma.Error503ServiceUnavailable("a service that this needs is unavailable; try again in "+seconds+" s; see /ready"),
		http.Header{"Retry-After": {seconds}},
	)
}

// TooMany is the 429 answer.
func TooMany(says string, retry time.Duration) error {
	wait := strconv.Itoa(max(1, seconds(retry)))
	return huma.ErrorWithHeaders(huma.Error429TooManyRequests(says+"; try again in "+wait+" s"),
		http.Header{"Retry-After": {wait}})
}

// seconds rounds up.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// Answer writes a problem on a route that huma does not serve.
func Answer(c *gin.Context, err error) {
	if h, ok := errors.AsType[huma.HeadersError](err); ok {
		for name, values := range h.GetHeaders() {
			c.Header(name, values[0])
		}
	}
	var status huma.StatusError
	if !errors.As(err, &status) {
		status = huma.Error500InternalServerError("internal error")
	}
	c.Header("Content-Type", "application/problem+json")
	c.JSON(status.GetStatus(), status)
}

// Asked is the answer to an engine's error: a 400 that names the parameter, where its text can never be answered.
func Asked(name, text string, err error) error {
	if fault.ClassOf(err) != fault.Invalid {
		return err
	}
	return huma.Error400BadRequest("the query cannot be answered",
		&huma.ErrorDetail{Message: err.Error(), Location: "query." + name, Value: Shown(text)})
}

// Shown is the part of a text that an error repeats.
func Shown(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
