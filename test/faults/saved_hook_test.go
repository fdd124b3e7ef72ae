package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/internal/notify"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The manners of webhooks: the first part of their paths.
const (
	steady = "steady" // answers at once
	moody  = "moody"  // answers 500, or dies before or after it has taken a notice
	stuck  = "stuck"  // now and then takes a notice and does not answer
)

// A hookCall is a request for a webhook. A receiver keeps what it has taken, by its ID, whatever it could answer.
type hookCall struct {
	path     string
	delivery string
	signed   bool
	taken    bool // it was understood and kept
	answered bool // with 2xx, as far as the receiver knows
	items    []hookItem
}

// A hookItem is what is told of a home.
type hookItem struct {
	Kind      string `json:"kind"`
	Listing   string `json:"listing_id"`
	RentCents int64  `json:"rent_cents"`
}

// hooks are webhooks that misbehave, each by its manner, and remember every request.
type hooks struct {
	mu      sync.Mutex
	dice    *rand.Rand
	secrets map[string]string // by path
	tries   map[string]int    // by delivery
	calls   []hookCall
	inHand  func() // called once, with a notice taken and not answered
}

func newHooks() *hooks {
	return &hooks{dice: rand.New(rand.NewPCG(*seed, 11)), secrets: map[string]string{}, tries: map[string]int{}}
}

// fails is how often at most one delivery is failed by a moody webhook: the pause before the next try grows by three.
const fails = 2

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	call := hookCall{path: r.URL.Path, delivery: r.Header.Get(notify.IDHeader)}
	var told struct {
		Type, Challenge string
		Items           []hookItem
	}
	if err == nil {
		err = json.Unmarshal(body, &told)
	}
	if err != nil { // its sender was killed
		return
	}
	if told.Type == "challenge" {
		_, _ = io.WriteString(w, told.Challenge)
		return
	}
	call.items = told.Items
	manner, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	h.mu.Lock()
	call.signed = r.Header.Get(notify.SignatureHeader) ==
		"v1="+notify.Sign(h.secrets[r.URL.Path], call.delivery, r.Header.Get(notify.TimeHeader), body)
	h.tries[call.delivery]++
	first, p, inHand := h.tries[call.delivery] == 1, h.dice.IntN(100), h.inHand
	if manner == steady || h.tries[call.delivery] > fails {
		p = 99
	}
	h.mu.Unlock()
	answer := func() { w.WriteHeader(http.StatusNoContent) }
	switch {
	case manner == moody && p < 25:
		h.note(call)
		w.WriteHeader(http.StatusInternalServerError)
		return
	case manner == moody && p < 40:
		h.note(call)
		panic(http.ErrAbortHandler)
	case manner == moody && p < 55:
		answer = func() { panic(http.ErrAbortHandler) }
	case manner == stuck && first && p < 25:
		answer = func() { <-r.Context().Done() } // until the sender has had enough, or is killed
	case manner == steady && inHand != nil:
		call.taken = true
		h.note(call)
		inHand()
		panic(http.ErrAbortHandler) // nobody listens
	default:
		call.answered = true
	}
	call.taken = true
	h.note(call)
	answer()
}

func (h *hooks) note(c hookCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

// struck has something happen while a steady webhook has a notice in hand that it has taken and not answered. tempt makes
// more notices until one is.
func (h *hooks) struck(w *world, happen func() error) (err error) {
	done := make(chan struct{})
	var once sync.Once
	h.mu.Lock()
	h.inHand = func() {
		once.Do(func() {
			h.mu.Lock()
			h.inHand = nil
			h.mu.Unlock()
			err = happen()
			close(done)
		})
	}
	h.mu.Unlock()
	for end := time.Now().Add(servicetest.Patience()); time.Now().Before(end); {
		w.tempt()
		select {
		case <-done:
			return err
		case <-time.After(time.Second):
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
	h.mu.Lock()
	h.inHand = nil
	h.mu.Unlock()
	return fmt.Errorf("no notice came")
}

func (h *hooks) seen() []hookCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}
