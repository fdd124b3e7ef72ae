package notify_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/notify"
)

const telegramToken = "123456:very-secret_token"

// A telegram is a fake of Telegram's API that answers as it is told.
type telegram struct {
	*notify.Telegram

	path, answer string
	asked        map[string]any
	code         int
}

func newTelegram(t *testing.T) (*telegram, *httptest.Server) {
	t.Helper()

	f := &telegram{code: http.StatusOK, answer: `{"ok":true,"result":{}}`}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.path, f.asked = r.URL.Path, nil
		_ = json.NewDecoder(r.Body).Decode(&f.asked) // what cannot be read is nil
		if f.code == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(f.code)
		_, _ = w.Write([]byte(f.answer))
	}))
	t.Cleanup(s.Close)
	var err error
	f.Telegram, err = notify.NewTelegram(notify.TelegramOptions{URL: s.URL, Token: telegramToken, Links: "https://homes.example/",
		Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f, s
}

// A chat is asked by a message with the links that confirm and refuse, and nothing of a listing.
func TestTelegramAsks(t *testing.T) {
	t.Parallel()
	f, _ := newTelegram(t)
	n := saved.Notice{
		Confirms: true, Channel: saved.Telegram, Name: "<b>Plateau", Language: saved.English,
		Address: saved.Address{Chat: "42", Token: "t0ken"},
	}
	require.NoError(t, f.Send(t.Context(), n))
	require.Equal(t, "<b>Please confirm: news of homes for rent</b>\n\n"+
		"Someone entered this chat to receive news of homes for rent.\n"+
		"To receive the news of the search “&lt;b&gt;Plateau”, confirm it:\n"+
		"<b>Confirm this chat</b>: https://homes.example/subscriptions/t0ken/confirm\n\n"+
		"If it was not you, ignore this: without your confirmation nothing else is sent. Or refuse for good:\n"+
		"https://homes.example/subscriptions/t0ken/unsubscribe", f.asked["text"])
}

func TestTelegram(t *testing.T) {
	t.Parallel()
	f, s := newTelegram(t)
	n := dropped()
	n.Address = saved.Address{Chat: "-1001234"}
	require.NoError(t, f.Send(t.Context(), n))
	require.Equal(t, "/bot"+telegramToken+"/sendMessage", f.path)
	require.Equal(t, "-1001234", f.asked["chat_id"])
	require.Equal(t, "HTML", f.asked["parse_mode"])
	require.Equal(t, `<a href="https://www.kijiji.ca/v-1?a=1&amp;b=2"><b>Price drop: 4½ &lt;b&gt;near&lt;/b&gt; `+
		"Bcc: all@example.org, 1,390 $ a month instead of 1,450 $</b></a>\n"+
		"4000 Rue Saint-Denis (Plateau-Mont-Royal)\n1,450 $ → 1,390 $", f.asked["text"])

	for range 200 {
		n.Items = append(n.Items, saved.Item{Kind: saved.New, Title: strings.Repeat("🏠&", 60), Offered: true})
	}
	require.NoError(t, f.Send(t.Context(), n))
	text := f.asked["text"].(string)
	require.LessOrEqual(t, len([]rune(text)), 4096)
	require.True(t, strings.HasPrefix(text, "<b>201 homes: Plateau</b>\n\n<a href="), text)
	require.Regexp(t, `\nand 19\d more$`, text)

	for name, tt := range map[string]struct {
		code   int
		answer string
		class  fault.Class
		after  time.Duration
	}{
		"too many":     {429, `{"ok":false,"parameters":{"retry_after":35}}`, fault.Throttled, 35 * time.Second},
		"far too many": {429, `{"ok":false,"parameters":{"retry_after":99999999999}}`, fault.Throttled, time.Hour},
		"blocked":      {403, `{"ok":false,"description":"Forbidden: bot was blocked by the user"}`, fault.Gone, 0},
		"no chat":      {400, `{"ok":false,"description":"Bad Request: chat not found"}`, fault.Gone, 0},
		"moved": {
			400, `{"ok":false,"description":"Bad Request: group chat was upgraded to a supergroup chat"}`, fault.Gone, 0,
		},
		"no rights": {
			400, `{"ok":false,"description":"Bad Request: not enough rights to send text messages to the chat"}`, fault.Blocked, 0,
		},
		"topic closed":   {400, `{"ok":false,"description":"Bad Request: TOPIC_CLOSED"}`, fault.Blocked, 0},
		"bad text":       {400, `{"ok":false,"description":"Bad Request: can't parse entities"}`, fault.Invalid, 0},
		"down":           {502, `<html>`, fault.Transient, 0},
		"another token":  {401, `{"ok":false,"description":"Unauthorized"}`, fault.Transient, 0},
		"a proxy's page": {200, `<html>`, fault.Transient, 0},
	} {
		f.code, f.answer = tt.code, tt.answer
		err := f.Send(t.Context(), n)
		class, after := fault.Of(err)
		require.Equal(t, tt.class, class, name)
		require.Equal(t, tt.after, after, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
	for _, connection := range []string{"the one that is open", "a new one"} {
		f.code, f.asked = 0, nil
		err := f.Send(t.Context(), n)
		require.Equal(t, fault.Transient, fault.ClassOf(err))
		require.NotNil(t, f.asked)
		require.NotErrorIs(t, err, saved.ErrUnreached, "%s: it has the message", connection)
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	require.ErrorIs(t, f.Send(over, n), saved.ErrUnreached)
	s.Close()
	err := f.Send(t.Context(), n)
	require.Equal(t, fault.Transient, fault.ClassOf(err))
	require.NotContains(t, err.Error(), "secret")
	require.NotErrorIs(t, err, saved.ErrUnreached, "it refuses the connection")
	for _, o := range []notify.TelegramOptions{{}, {Token: "secret"}, {Token: telegramToken, URL: "ftp://x"}} {
		_, err := notify.NewTelegram(o)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
