package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/notify"
	"github.com/mtlrent/conveyor/internal/notify/smtptest"
)

// A hookCall is a request that a hook has answered.
type hookCall struct {
	delivery string
	signed   bool  // by the latest secret alone
	by       []int // which of the secrets that the hook has had the signatures are by, in their order; -1: by none
	status   int
	items    []newsItem
}

// newsItem is what is told of a home.
type newsItem struct {
	Kind         string
	URL          string
	RentCents    int64  `json:"rent_cents"`
	OldRentCents *int64 `json:"old_rent_cents"`
}

// hook is a webhook of a stranger.
type hook struct {
	URL string

	mu      sync.Mutex
	secrets []string // the latest last
	fail    int      // requests that are answered with 500 before it is well again
	calls   []hookCall
}

func newHook(t *testing.T) *hook {
	t.Helper()

	h := new(hook)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	h.mu.Lock()
	defer h.mu.Unlock()
	call := hookCall{delivery: r.Header.Get(notify.IDHeader), status: http.StatusOK}
	for signature := range strings.SplitSeq(r.Header.Get(notify.SignatureHeader), ",") {
		call.by = append(call.by, slices.IndexFunc(h.secrets, func(secret string) bool {
			return signature == "v1="+notify.Sign(secret, call.delivery, r.Header.Get(notify.TimeHeader), body)
		}))
	}
	call.signed = slices.Equal(call.by, []int{len(h.secrets) - 1})
	var told struct {
		Type, Challenge string
		Items           []newsItem
	}
	_ = json.Unmarshal(body, &told) // what cannot be read has no items
	if told.Type == "challenge" {
		_, _ = io.WriteString(w, told.Challenge)
		return
	}
	call.items = told.Items
	if h.fail > 0 {
		h.fail--
		call.status = http.StatusInternalServerError
	}
	h.calls = append(h.calls, call)
	w.WriteHeader(call.status)
}

func (h *hook) set(change func(*hook)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// seen returns the requests so far.
func (h *hook) seen() []hookCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hookCall(nil), h.calls...)
}

// bot is a fake of Telegram's API. It keeps the texts of messages, and the first request is one too many.
type bot struct {
	URL string

	mu    sync.Mutex
	asked int
	texts []string
}

func newBot(t *testing.T) *bot {
	t.Helper()

	b := new(bot)
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.URL = server.URL
	return b
}

func (b *bot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ Text string }
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&m) // what cannot be read has no text
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked++; b.asked == 1 {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":429,"parameters":{"retry_after":1}}`)
		return
	}
	b.texts = append(b.texts, m.Text)
	_, _ = io.WriteString(w, `{"ok":true,"result":{}}`)
}

// told returns the texts so far.
func (b *bot) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.texts...)
}

// link is the address in an e-mail or a message that ends in a path.
func link(t *testing.T, text, path string) string {
	t.Helper()

	text = strings.ReplaceAll(text, "=\n", "") // of quoted-printable, which breaks long lines
	found := regexp.MustCompile(`http://\S+/subscriptions/[A-Za-z0-9_-]+/` + path).FindString(text)
	require.NotEmpty(t, found, text)
	return found
}

// A tenant's saved search tells its webhook, its feed, a mailbox and a Telegram chat of an advert that meets it, and of a
// fall of its rent, each once, also when their servers are down at first; of other adverts it tells nothing. The mailbox
// and the chat are told nothing before their owner has confirmed them, and nothing after the owner has unsubscribed.
func TestASavedSearchTellsItsNews(t *testing.T) {
	t.Parallel()

	h := newHook(t)
	mailbox, chat := smtptest.New(t, smtptest.Options{}), newBot(t)
	p := newPost(t, "CONVEYOR_WEBHOOK_PRIVATE_HOSTS="+strings.TrimPrefix(h.URL, "http://"),
		"CONVEYOR_SMTP_URL=smtp://"+mailbox.Address, "CONVEYOR_SMTP_FROM=Homes <homes@conveyor.example>",
		"CONVEYOR_TELEGRAM_URL="+chat.URL, "CONVEYOR_TELEGRAM_TOKEN=1:0123456789abcdef")
	require.NoError(t, db.NewTenants(p.db).Create(t.Context(),
		db.Tenant{ID: "acme", Name: "acme", Tier: campaign.Standard, CreatedAt: time.Now()}, "test"))
	p.start("api")
	p.start("worker")
	p.start("bridge")
	p.ready()
	p.eventually("the API answers", func() bool { return p.get("/health", nil) == http.StatusOK })

	made, err := http.Post(p.world.api+"/searches?tenant=acme", "application/json", strings.NewReader(
		`{"name":"4½ under 1,500","filter":{"max_price":1500,"bedrooms":[2],"text":"rénové"},
		"targets":[{"kind":"webhook","url":"`+h.URL+`/hook"},{"kind":"feed"},{"kind":"email","email":"jo@example.org"},{"kind":"telegram","chat":"42"}]}`))
	require.NoError(t, err)
	defer made.Body.Close()
	var search struct {
		ID      uuid.UUID
		Targets []struct {
			ID      uuid.UUID
			Secret  string
			AtomURL string `json:"atom_url"`
			JSONURL string `json:"json_url"`
		}
	}
	require.Equal(t, http.StatusCreated, made.StatusCode)
	require.NoError(t, json.NewDecoder(made.Body).Decode(&search))
	require.Len(t, search.Targets, 4)
	h.set(func(h *hook) { h.secrets = []string{search.Targets[0].Secret} })

	// feed returns the news of the feed, newest first.
	feed := func() []newsItem {
		t.Helper()
		var f struct {
			Items []struct {
				Home newsItem `json:"_conveyor"`
			}
		}
		path, ok := strings.CutPrefix(search.Targets[1].JSONURL, p.world.api)
		require.True(t, ok, "the address of the feed is of the API")
		require.Equal(t, http.StatusOK, p.get(path, &f))
		items := make([]newsItem, len(f.Items))
		for i, item := range f.Items {
			items[i] = item.Home
		}
		return items
	}
	// deliveries counts those of all tenants that meet a condition.
	deliveries := func(where string) (n int) {
		t.Helper()
		b := new(pgx.Batch)
		b.Queue("SELECT set_config('conveyor.tenant', '*', true)")
		b.Queue("SELECT count(*) FROM saved_deliveries WHERE " + where).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		require.NoError(t, p.db.SendBatch(t.Context(), b).Close())
		return n
	}
	// settled waits until so many versions were published, and nothing is left to be compared or told.
	settled := func(versions int) {
		t.Helper()
		p.eventually("everything is told", func() bool {
			return one[int](p.world, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.published'") == versions &&
				one[int](p.world, "SELECT count(*) FROM saved_queue") == 0 &&
				deliveries("state IN ('waiting', 'started')") == 0
		})
	}

	p.eventually("the owners of the mailbox and the chat are asked", func() bool {
		return len(mailbox.Taken()) == 1 && len(chat.told()) == 1
	})
	for _, asked := range []string{mailbox.Taken()[0].Text, chat.told()[0]} {
		confirm := link(t, asked, "confirm")
		for _, visit := range []func() (*http.Response, error){
			func() (*http.Response, error) { return http.Get(confirm) },
			func() (*http.Response, error) { return http.Post(confirm, "application/x-www-form-urlencoded", nil) },
		} {
			r, err := visit()
			require.NoError(t, err)
			require.NoError(t, r.Body.Close())
			require.Equal(t, http.StatusOK, r.StatusCode)
		}
	}

	p.eventually("the webhook is confirmed", func() bool { return deliveries("confirms AND state = 'sent'") == 3 })

	rented := func(cents int) func(map[string]any) {
		return with("price", map[string]any{"amount_cents": cents, "type": "FIXED"})
	}
	p.publish("scraped", "kijiji", advert("9801"), advert("9802", rented(250_000),
		with("address", "4000 Rue Saint-Denis, Montréal, QC H2W 2M5"), with("latitude", 45.5197), with("longitude", -73.5771)))
	settled(2)
	calls := h.seen()
	require.Len(t, calls, 1)
	require.True(t, calls[0].signed)
	require.Len(t, calls[0].items, 1)
	first := calls[0].items[0]
	require.Equal(t, "new", first.Kind)
	require.Equal(t, "https://www.kijiji.ca/v-appartement/9801", first.URL)
	require.Equal(t, []newsItem{first}, feed())
	require.Len(t, mailbox.Taken(), 2)
	require.Equal(t, "jo@example.org", mailbox.Taken()[1].To)
	require.Len(t, chat.told(), 2)

	h.set(func(h *hook) { h.fail = 2 })
	mailbox.Play(smtptest.Trick{At: "RCPT", Answer: "451 4.7.1 try again later"})
	p.publish("scraped", "kijiji", advert("9801", rented(139_500), with("scraped_at", "2026-01-11T12:00:00Z")))
	settled(3)
	calls = h.seen()[1:]
	require.Len(t, calls, 3, "two tries that failed, and one that did not")
	for i, status := range []int{500, 500, 200} {
		require.Equal(t, status, calls[i].status)
		require.True(t, calls[i].signed)
		require.Equal(t, calls[0].delivery, calls[i].delivery)
	}
	require.Len(t, calls[2].items, 1)
	fell := calls[2].items[0]
	require.Equal(t, newsItem{"price_drop", first.URL, 139_500, new(int64(145_000))}, fell)
	require.Equal(t, []newsItem{fell, first}, feed())
	require.Len(t, mailbox.Taken(), 3)
	told := mailbox.Taken()[2]
	subject, err := new(mime.WordDecoder).DecodeHeader(told.Message(t).Header.Get("Subject"))
	require.NoError(t, err)
	require.Contains(t, subject, "1,395 $ a month instead of 1,450 $")
	require.Len(t, chat.told(), 3)
	require.Contains(t, chat.told()[2], "1,450 $ → 1,395 $")
	require.Equal(t, 9, deliveries("state = 'sent' AND tries IN (0, 1, 2)"))

	stop := strings.Trim(told.Message(t).Header.Get("List-Unsubscribe"), "<>")
	r, err := http.Post(stop, "application/x-www-form-urlencoded", strings.NewReader("List-Unsubscribe=One-Click"))
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, http.StatusOK, r.StatusCode)
	p.publish("scraped", "kijiji", advert("9801", rented(130_000), with("scraped_at", "2026-01-12T12:00:00Z")))
	settled(4)
	require.Len(t, h.seen(), 5)
	require.Len(t, feed(), 3)
	require.Len(t, chat.told(), 4)
	require.Len(t, mailbox.Taken(), 3)

	// The secret of the webhook is rotated, while a delivery is tried again and again: its next try is signed by both. What
	// is told after a rotation without an overlap is signed by the new one alone. Nothing is lost, and nothing told twice.
	rotate := func(overlap int) {
		t.Helper()
		r, err := http.Post(fmt.Sprintf("%s/searches/%s/targets/%s/rotate?tenant=acme&overlap_hours=%d", p.world.api, search.ID,
			search.Targets[0].ID, overlap), "application/json", nil)
		require.NoError(t, err)
		defer r.Body.Close()
		require.Equal(t, http.StatusOK, r.StatusCode)
		var made struct{ Secret string }
		require.NoError(t, json.NewDecoder(r.Body).Decode(&made))
		h.set(func(h *hook) { h.secrets, h.fail = append(h.secrets, made.Secret), 0 })
	}
	h.set(func(h *hook) { h.fail = 1_000 })
	p.publish("scraped", "kijiji", advert("9801", rented(125_000), with("scraped_at", "2026-01-13T12:00:00Z")))
	p.eventually("the webhook has failed", func() bool { return len(h.seen()) > 5 })
	rotate(24)
	settled(5)
	calls = h.seen()[5:]
	last := calls[len(calls)-1]
	require.Equal(t, []int{0}, calls[0].by)
	require.Equal(t, []int{1, 0}, last.by)
	require.Equal(t, http.StatusOK, last.status)
	require.Equal(t, calls[0].delivery, last.delivery)
	for _, call := range calls[:len(calls)-1] {
		require.Equal(t, http.StatusInternalServerError, call.status)
	}
	rotate(24)
	p.publish("scraped", "kijiji", advert("9801", rented(120_000), with("scraped_at", "2026-01-14T12:00:00Z")))
	settled(6)
	rotate(0)
	p.publish("scraped", "kijiji", advert("9801", rented(115_000), with("scraped_at", "2026-01-15T12:00:00Z")))
	settled(7)
	after := h.seen()[5+len(calls):]
	require.Len(t, after, 2)
	require.Equal(t, [][]int{{2, 1}, {3}}, [][]int{after[0].by, after[1].by}, "of three secrets the oldest is good no more")
	var rents []int64
	for _, call := range h.seen() {
		if call.status == http.StatusOK {
			require.Len(t, call.items, 1)
			rents = append(rents, call.items[0].RentCents)
		}
	}
	require.Equal(t, []int64{145_000, 139_500, 130_000, 125_000, 120_000, 115_000}, rents)
}
