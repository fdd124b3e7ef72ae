package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/model"
)

const key = "sk-test-key"

var question = listing.Question{Instructions: "read", Text: "4½ au gaz"}

// ask asks an API of ours that answers as h does.
func ask(t *testing.T, h http.HandlerFunc, o model.Options) (string, error) {
	t.Helper()
	api := httptest.NewServer(h)
	t.Cleanup(api.Close)
	o.URL, o.Key, o.Model = api.URL+"/v1", key, "small"
	c, err := model.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.Answer(t.Context(), question)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	got, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string
			Messages []struct{ Role, Content string }
			Tokens   int `json:"max_tokens"`
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" ||
			r.Header.Get("Authorization") != "Bearer "+key || json.NewDecoder(r.Body).Decode(&body) != nil ||
			body.Model != "small" || len(body.Messages) != 2 || body.Messages[0].Content != "read" ||
			body.Messages[1].Role != "user" || body.Messages[1].Content != "4½ au gaz" || body.Tokens == 0 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = fmt.Fprint(w, `{"choices": [{"message": {"role": "assistant", "content": "{\"fields\": []}"}}]}`)
	}, model.Options{})
	require.NoError(t, err)
	require.Equal(t, `{"fields": []}`, got)
}

// refuses answers as OpenAI does for a parameter that a model does not take.
func refuses(w http.ResponseWriter, param, code string) {
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"error": {"message": "Unsupported: '%s', %s", "type": "invalid_request_error",
		"param": %q, "code": %q, "callstack": %q}}`, param, key, param, code, strings.Repeat("at x\n", 2000))
}

// A model that does not take all parameters is asked without them: once more, and from then on at once.
func TestAnswerOfAModelThatThinks(t *testing.T) {
	t.Parallel()
	var bodies []map[string]any
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		bodies = append(bodies, body)
		switch {
		case body["max_tokens"] != nil:
			refuses(w, "max_tokens", "unsupported_parameter")
		case body["temperature"] != nil:
			refuses(w, "temperature", "unsupported_value")
		default:
			_, _ = fmt.Fprint(w, `{"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}`)
		}
	}))
	t.Cleanup(api.Close)
	c, err := model.New(model.Options{URL: api.URL, Key: key, Model: "thinks"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for n := range 2 {
		got, err := c.Answer(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, "{}", got)
		require.Len(t, bodies, 2+n)
	}
	require.Contains(t, bodies[0], "temperature")
	require.NotContains(t, bodies[0], "max_completion_tokens")
	require.Greater(t, bodies[1]["max_completion_tokens"], 1500.0, "its thoughts count")
}

// A request is repeated once at most, and only for what can be left out. The error has the API's words for it.
func TestAnswerRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		param, code, text string
		asked             int
	}{
		{"temperature", "unsupported_value", "ask: HTTP 400 (unsupported_value: temperature)", 2},
		{"max_tokens", "invalid_value", "ask: HTTP 400 (invalid_value: max_tokens)", 1},
		{"messages", "context_length_exceeded", "ask: HTTP 400 (context_length_exceeded: messages)", 1},
		{"response_format", "unsupported_parameter", "ask: HTTP 400 (unsupported_parameter: response_format)", 1},
		{"a flat, " + key, "", "ask: HTTP 400", 1},
	} {
		asked := 0
		_, err := ask(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			refuses(w, tt.param, tt.code)
		}, model.Options{})
		require.EqualError(t, err, tt.text)
		require.Equal(t, fault.Invalid, fault.ClassOf(err))
		require.Equal(t, tt.asked, asked)
	}
}

// An answer that ended before it was whole is said to be one, and not asked for again.
func TestAnswerThatWasCut(t *testing.T) {
	t.Parallel()
	choice := func(content, finish string) (string, error) {
		return ask(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
				"message": map[string]string{"content": content}, "finish_reason": finish,
			}}})
		}, model.Options{})
	}
	for _, content := range []string{"", `{"fields": [{"field": "a"}, {"fi`} {
		_, err := choice(content, "length")
		require.EqualError(t, err, "read reply: the answer was cut at 1500 tokens")
		require.Equal(t, fault.Invalid, fault.ClassOf(err))
	}
	for _, finish := range []string{"length", "stop"} {
		got, err := choice("{\"fields\": []}\n\n\n", finish)
		require.NoError(t, err)
		require.Equal(t, "{\"fields\": []}\n\n\n", got)
	}
}

// Whatever the API does, the answer is bounded in size and in time, and no error has the key in it.
func TestAnswerOfABadAPI(t *testing.T) {
	t.Parallel()
	status := func(code int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"error": {"message": "Incorrect API key %s"}}`, key)
		}
	}
	for _, tt := range []struct {
		name  string
		api   http.HandlerFunc
		class fault.Class
		after time.Duration
	}{
		{"too many questions", status(429, "Retry-After", "40"), fault.Throttled, 40 * time.Second},
		{"a wait of a year", status(429, "Retry-After", "31536000"), fault.Throttled, time.Hour},
		{"a wrong key", status(401), fault.Blocked, 0},
		{"a wrong question", status(400), fault.Invalid, 0},
		{"a model that is not there", status(404), fault.Gone, 0},
		{"an overload", status(503, "Retry-After", "40"), fault.Throttled, 40 * time.Second},
		{"an outage", status(500), fault.Transient, 0},
		{"a redirect, which would take the key along", status(307, "Location", "https://elsewhere.example/"), fault.Invalid, 0},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }, fault.Transient, 0},
		{"no choice", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"choices": []}`) },
			fault.Transient, 0},
		{"without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		}, fault.Transient, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t, tt.api, model.Options{})
			class, after := fault.Of(err)
			require.Equal(t, tt.class, class, "%v", err)
			require.Equal(t, tt.after, after)
			require.NotContains(t, err.Error(), key)
		})
	}
}

// A model that begins to answer and stops is given up in time.
func TestAnswerThatStalls(t *testing.T) {
	t.Parallel()
	for _, begins := range []bool{false, true} {
		_, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
			if begins {
				_, _ = fmt.Fprint(w, `{"choices": [`)
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = r.Body.Read(make([]byte, 1<<16)) // or the server does not see that the caller is gone
			<-r.Context().Done()
		}, model.Options{Timeout: 50 * time.Millisecond})
		require.Equal(t, fault.Transient, fault.ClassOf(err), "%v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, o := range []model.Options{
		{URL: "model.example", Model: "small"}, {URL: "https://me:pw@model.example/v1", Model: "small"},
		{URL: "https://model.example/v1?x", Model: "small"}, {URL: "https://model.example/v1"},
		{URL: "https://model.example/v1", Model: "small", Key: "a b"},
	} {
		_, err := model.New(o)
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%+v", o)
		require.NotContains(t, err.Error(), "pw")
	}
}
