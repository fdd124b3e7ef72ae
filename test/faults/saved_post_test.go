package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/notify/smtptest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// mishaps are what a mail server does to some connections: it puts off, breaks off, or takes an e-mail and is gone
// before it has said so. No two come one after the other.
func mishaps() (tricks []smtptest.Trick) {
	dice := rand.New(rand.NewPCG(*seed, 14))
	for range 200 {
		tricks = append(tricks, smtptest.Trick{}, []smtptest.Trick{
			{}, {}, {At: "CONNECT", Drop: true}, {At: "RCPT", Answer: "451 4.7.1 later"}, {At: "END", Answer: "452 4.3.1 full"},
			{At: "END", Drop: true},
		}[dice.IntN(6)])
	}
	return tricks
}

// A chatroom is the bot API of Telegram. It has enough at times, breaks off, or takes a message and is gone before it
// has said so; of one chat, it does so once in four requests at most.
type chatroom struct {
	mu    sync.Mutex
	dice  *rand.Rand
	asked map[string]int    // by chat
	links map[string]string // by chat: that of the question to confirm it
	calls []hookCall
}

func (c *chatroom) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Chat string `json:"chat_id"`
		Text string
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&m); err != nil { // its sender was killed
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := 99
	if c.asked[m.Chat]++; c.asked[m.Chat]%4 == 0 {
		p = c.dice.IntN(100)
	}
	if p < 50 {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":429,"parameters":{"retry_after":1}}`)
		return
	}
	if link := askLink.FindString(m.Text); link != "" {
		c.links[m.Chat] = link
		_, _ = io.WriteString(w, `{"ok":true,"result":{}}`)
		return
	}
	call := hookCall{path: m.Chat, signed: true, taken: true, answered: p == 99, items: itemsIn(m.Text)}
	c.calls = append(c.calls, call)
	if !call.answered {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, `{"ok":true,"result":{}}`)
}

func (c *chatroom) seen() []hookCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

var (
	headline  = regexp.MustCompile(`(New|Price drop|Back again): .*?, ([0-9,]+) \$ a month`)
	advertURL = regexp.MustCompile(`https://www\.kijiji\.ca/v-appartement/([0-9]+)`)
	askLink   = regexp.MustCompile(`http://\S+/subscriptions/[A-Za-z0-9_-]+/confirm`)
)

// itemsIn reads the homes of a text.
func itemsIn(text string) (items []hookItem) {
	kinds := map[string]string{"New": "new", "Price drop": "price_drop", "Back again": "back"}
	urls := advertURL.FindAllStringSubmatch(text, -1)
	for n, line := range headline.FindAllStringSubmatch(text, -1) {
		rent, _ := strconv.ParseInt(strings.ReplaceAll(line[2], ",", ""), 10, 64) // digits
		i := hookItem{Kind: kinds[line[1]], RentCents: rent * 100}
		if n < len(urls) {
			i.Listing = listing.Ref{Platform: "kijiji", PlatformID: urls[n][1]}.ID().String()
		}
		items = append(items, i)
	}
	return items
}

// read parses an e-mail: the delivery that it names, and its plain text.
func read(e smtptest.Email) (delivery, text string, err error) {
	m, err := mail.ReadMessage(strings.NewReader(e.Text))
	if err != nil {
		return "", "", err
	}
	delivery, _, _ = strings.Cut(strings.Trim(m.Header.Get("Message-ID"), "<>"), "@")
	_, boundary, _ := strings.Cut(m.Header.Get("Content-Type"), "boundary=")
	part, err := multipart.NewReader(m.Body, strings.Trim(boundary, `"`)).NextPart() // which undoes quoted-printable
	if err != nil {
		return delivery, "", err
	}
	plain, err := io.ReadAll(part)
	return delivery, string(plain), err
}

// mailed are the e-mails that a server has taken as calls, without those that ask for a confirmation. Whether it could
// say so it does not remember.
func mailed(all []smtptest.Email) (calls []hookCall) {
	for _, e := range all {
		delivery, text, err := read(e)
		if err == nil && askLink.MatchString(text) {
			continue
		}
		calls = append(calls, hookCall{e.To, delivery, err == nil, true, true, itemsIn(text)})
	}
	return calls
}

// confirm follows the link in the e-mail that asks a mailbox.
func (w *world) confirm(post *smtptest.Server, mailbox string) error {
	return eventually(w.ctx, servicetest.Patience(), func() bool {
		for _, e := range post.Taken() {
			_, text, _ := read(e) // one that cannot be read has no link
			link := askLink.FindString(text)
			if e.To == mailbox && link != "" {
				return follow(link)
			}
		}
		return false
	})
}

// confirmChat follows the link in the message that asks a chat.
func (w *world) confirmChat(chats *chatroom, chat string) error {
	return eventually(w.ctx, servicetest.Patience(), func() bool {
		chats.mu.Lock()
		link := chats.links[chat]
		chats.mu.Unlock()
		return link != "" && follow(link)
	})
}

// follow says whether what a link asks was done.
func follow(link string) bool {
	resp, err := http.Post(link, "application/x-www-form-urlencoded", nil)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// assign finds the delivery of each message of a chat, which does not name it, by what it says: one that nothing was
// said of yet, else one that it repeats.
func assign(calls []hookCall, parts map[string][]due, where map[string]string) {
	said := map[string]bool{}
	for n := range calls {
		c := &calls[n]
		if c.delivery != "" {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(parts)) {
			if where[id] == c.path && slices.Equal(together(parts[id]), c.items) && (c.delivery == "" || said[c.delivery]) {
				c.delivery = id
			}
		}
		if c.delivery == "" {
			c.delivery = fmt.Sprintf("message %d", n)
		}
		said[c.delivery] = true
	}
}
