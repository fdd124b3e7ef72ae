package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// DefaultTelegramURL is where Telegram's bots are served.
const DefaultTelegramURL = "https://api.telegram.org"

// TelegramOptions are the settings of Telegram.
type TelegramOptions struct {
	URL     string // of the API, without the bot; default DefaultTelegramURL
	Token   string // of the bot
	Links   string // URL of the API, which the links of questions lead to
	Timeout time.Duration
}

// Telegram sends notices by a bot.
type Telegram struct {
	o    TelegramOptions
	send string // address of the method; it holds the token
	http *http.Transport
}

var botToken = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{10,100}$`)

// NewTelegram returns a sender. It opens nothing. The error quotes no token.
func NewTelegram(o TelegramOptions) (*Telegram, error) {
	u, err := url.Parse(cmp.Or(o.URL, DefaultTelegramURL))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the URL of Telegram is not http[s]://host[:port][/path]")
	}
	if !botToken.MatchString(o.Token) {
		return nil, errors.New("the token of the Telegram bot is not of the form 123456:ABC…")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
	transport.MaxResponseHeaderBytes, transport.MaxIdleConnsPerHost = 64<<10, 8
	transport.IdleConnTimeout = 30 * time.Second
	return &Telegram{o, u.JoinPath("bot"+o.Token, "sendMessage").String(), transport}, nil
}

// Close drops the idle connections.
func (t *Telegram) Close() { t.http.CloseIdleConnections() }

// maxWait is the longest wait that Telegram, or the host of a webhook, may ask for.
const maxWait = time.Hour

// Send sends a notice to its chat. A chat that is not there any more, or that has blocked the bot, is fault.Gone; HTTP
// 429 is fault.Throttled, with the wait that it asks for; a message that Telegram does not take is fault.Invalid; any
// other failure may pass, and is saved.ErrUnreached where no connection was made. No error has the address that was
// requested, which holds the token, or a text of Telegram.
func (t *Telegram) Send(ctx context.Context, n saved.Notice) error {
	body, err := json.Marshal(map[string]any{
		"chat_id": n.Address.Chat, "text": t.text(n), "parse_mode": "HTML",
		"link_preview_options": map[string]any{"is_disabled": true},
	})
	if err != nil {
		return fault.Newf(fault.Invalid, "write Telegram message: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.send, bytes.NewReader(body))
	if err != nil {
		return fault.Newf(fault.Invalid, "the address of Telegram cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	var trip way
	answer, err := t.http.RoundTrip(r.WithContext(trip.traced(ctx)))
	switch {
	case err == nil:
	case trip.made(err) || trip.wrote.Load(): // it may have taken the message, and takes it again each time
		return fault.Newf(fault.Transient, "Telegram refused the connection, broke it off, or did not answer")
	default:
		return fault.Newf(fault.Transient, "Telegram %w", saved.ErrUnreached)
	}
	defer answer.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fault.Newf(fault.Transient, "Telegram did not end its answer")
	}
	return telegramFault(answer.StatusCode, doc)
}

// telegramRights are in the descriptions of refusals for what the administrators of a chat let a bot do.
var telegramRights = []string{
	"not enough rights", "no rights to send", "need administrator rights", "topic_closed", "chat_write_forbidden",
	"chat_restricted", "chat_send_plain_forbidden",
}

// telegramFault classifies an answer; nil is that the message was taken.
func telegramFault(status int, doc []byte) error {
	var a struct {
		OK          bool   `json:"ok"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int64 `json:"retry_after"` // seconds
		} `json:"parameters"`
	}
	readable := json.Unmarshal(doc, &a) == nil
	says := strings.ToLower(a.Description)
	switch {
	case status == http.StatusOK && readable && a.OK:
		return nil
	case status == http.StatusTooManyRequests:
		wait := time.Duration(min(max(a.Parameters.RetryAfter, 1), int64(maxWait/time.Second))) * time.Second
		return &fault.Error{Class: fault.Throttled, After: wait, Err: fmt.Errorf("Telegram answered %d", status)}
	case status == http.StatusForbidden:
		return fault.Newf(fault.Gone, "the Telegram chat takes no messages of the bot")
	case status == http.StatusBadRequest && strings.Contains(says, "upgraded to a supergroup"):
		return fault.Newf(fault.Gone, "the Telegram group has another ID now")
	case status == http.StatusBadRequest && strings.Contains(says, "chat not found"):
		return fault.Newf(fault.Gone, "the bot knows no such Telegram chat")
	case status == http.StatusBadRequest && slices.ContainsFunc(telegramRights, func(s string) bool {
		return strings.Contains(says, s)
	}):
		return fault.Newf(fault.Blocked, "the bot may not write to the Telegram chat: its administrators can let it")
	case status == http.StatusBadRequest:
		return fault.Newf(fault.Invalid, "Telegram does not take the message")
	}
	return fault.Newf(fault.Transient, "Telegram answered %d", status) // 401 and 404: of another token, which can be mended
}

// maxTelegram is how long a message may be: Telegram counts UTF-16, without markup; we count that, too.
const maxTelegram = 4096

// text is a notice in Telegram's HTML.
func (t *Telegram) text(n saved.Notice) string {
	if n.Confirms {
		return telegramQuestion(n.Letter(), linksOf(t.o.Links, &n))
	}
	return telegramText(n)
}

// telegramQuestion asks a chat whether it wants news. The addresses are written out: Telegram makes no link of one that
// is not public, and drops it where it stands behind a word.
func telegramQuestion(l saved.Letter, to links) string {
	lines := append([]string{"<b>" + html.EscapeString(l.Subject) + "</b>"}, "")
	for _, line := range l.Intro {
		lines = append(lines, html.EscapeString(line))
	}
	lines = append(lines, "<b>"+html.EscapeString(l.Confirm)+"</b>: "+html.EscapeString(to.Confirm), "",
		html.EscapeString(l.Never), html.EscapeString(to.Stop))
	return strings.Join(lines, "\n")
}

// telegramText is a notice in Telegram's HTML. Homes that do not fit are counted.
func telegramText(n saved.Notice) string {
	letter := n.Letter()
	var b strings.Builder
	used := 0
	add := func(s string, spare int) bool {
		size := len(utf16.Encode([]rune(s)))
		if used+size+spare > maxTelegram {
			return false
		}
		used += size
		b.WriteString(s)
		return true
	}
	const spare = 100 // for how many do not fit
	if len(letter.Items) != 1 {
		add("<b>"+html.EscapeString(letter.Subject)+"</b>\n\n", 0)
	}
	left := len(n.Items) + n.More
	for _, i := range letter.Items {
		line := "<b>" + html.EscapeString(i.Headline) + "</b>"
		if i.URL != "" {
			line = `<a href="` + html.EscapeString(i.URL) + `">` + line + "</a>"
		}
		for _, more := range []string{i.Where, i.Change, i.Note} {
			if more != "" {
				line += "\n" + html.EscapeString(more)
			}
		}
		if !add(line+"\n\n", spare) {
			break
		}
		left--
	}
	if left > 0 {
		add(n.Language.More(left), 0)
	}
	return strings.TrimSpace(b.String())
}
