package activities_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// once is fault.Limited with err in its chain, the first time.
func once(err error) func() error {
	n := 0
	return func() error {
		if n++; n > 1 {
			return nil
		}
		return &fault.Error{Class: fault.Limited, After: 20 * time.Millisecond, Err: err}
	}
}

// A URL that is put back says what holds its host back.
func TestCrawlHeld(t *testing.T) {
	t.Parallel()

	far, cools := errors.New("far away"), fmt.Errorf("a turn: %w", crawl.ErrCooldown)
	for name, tt := range map[string]struct {
		rules              string
		turn, unread, asks error
		refuses            int // status of the first answer
		by                 crawl.Held
		cause              string
	}{
		"the gap":         {turn: far, by: crawl.HeldGap},
		"a Crawl-delay":   {rules: "User-agent: *\nCrawl-delay: 10\n", turn: far, by: crawl.HeldDelay, cause: "10s"},
		"a cooldown":      {rules: "User-agent: *\nCrawl-delay: 10\n", turn: cools, by: crawl.HeldCooldown},
		"after an answer": {turn: cools, refuses: 429, by: crawl.HeldCooldown, cause: "HTTP 429"},
		"robots.txt":      {unread: errors.New("status 500"), by: crawl.HeldRobots, cause: "status 500"},
		"our network":     {unread: web.ErrNoNetwork, by: crawl.HeldOurs, cause: "read robots.txt: " + web.ErrNoNetwork.Error()},
		"our browser":     {asks: far, by: crawl.HeldOurs, cause: "far away"},
	} {
		c := newCrawled(t)
		c.rules = tt.rules
		turn, unread, asks, answers := once(tt.turn), once(tt.unread), once(tt.asks), 0
		c.answer = func(r web.Request) (web.Exchange, error) {
			if tt.asks != nil {
				if err := asks(); err != nil {
					return web.Exchange{}, err
				}
			}
			if answers++; answers == 1 && tt.refuses > 0 {
				return status(r, tt.refuses), nil
			}
			return html(r, ""), nil
		}
		c.turn = func(string) error {
			if tt.turn == nil || tt.refuses > 0 && answers == 0 {
				return nil
			}
			return turn()
		}
		if tt.unread != nil {
			c.unread = unread
		}
		require.Equal(t, map[string]string{"/": "VISITED"}, c.work(), name)
		results := c.results["https://a.example/"]
		back := results[len(results)-2]
		require.Equal(t, 20*time.Millisecond, back.Pause, name)
		require.Equal(t, []string{string(tt.by), tt.cause}, []string{string(back.Held), back.Cause}, name)
	}
}
