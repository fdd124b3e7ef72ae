package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// maxMessage is the largest body that the broker takes after poisonOutbox, in bytes.
const maxMessage = 2 << 20

const sqlPoison = `
INSERT INTO outbox (message_id, lane, exchange, routing_key, type, body, created_at)
VALUES ($1, 'kijiji', $2, $3, '', $4, now())`

const sqlRefused = `
SELECT count(*) FROM unnest($1::uuid[]) p(id)
WHERE EXISTS (SELECT FROM outbox WHERE message_id = p.id AND refusals > 0)
    OR EXISTS (SELECT FROM dead_letters WHERE message_id = p.id::text)`

// poisonOutbox puts messages into the outbox that the broker never takes: for an exchange that does not exist, and one
// that is too large for it. The events of their lane must go on.
func poisonOutbox(w *world) (string, error) {
	// Until the broker starts again: then the large one is published, which is as good.
	limit := fmt.Sprintf("application:set_env(rabbit, max_message_size, %d).", maxMessage)
	if err := w.rabbitmqctl(w.ctx, "eval", limit); err != nil {
		return "", err
	}
	if _, err := w.cut(relay); err != nil { // the limit is that of channels that are opened from now on
		return "", err
	}
	nowhere, large := uuid.New(), uuid.New()
	body := func(id uuid.UUID, pad int) []byte {
		b, err := json.Marshal(contract.Event{
			EventID: id.String(), EventName: "faults.poison", TS: time.Now().UTC(), Data: json.RawMessage(
				`{"platform_id":"` + strings.Repeat("x", pad) + `"}`),
		})
		if err != nil {
			panic(err)
		}
		return b
	}
	w.mu.Lock()
	if w.losses.rows == nil {
		w.losses.rows = map[string]bool{}
	}
	w.losses.rows[nowhere.String()], w.losses.rows[large.String()] = true, true
	w.mu.Unlock()
	_, err1 := w.db.Exec(w.ctx, sqlPoison, nowhere, "nowhere", "listings.normalized", body(nowhere, 1))
	_, err2 := w.db.Exec(w.ctx, sqlPoison, large, "listings.events", "listings.normalized", body(large, maxMessage))
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	var n int
	err := eventually(w.ctx, servicetest.Patience(), func() bool {
		w.tempt()
		pause(w.ctx, 100*time.Millisecond)
		return w.db.QueryRow(w.ctx, sqlRefused, []uuid.UUID{nowhere, large}).Scan(&n) == nil && n == 2
	})
	return fmt.Sprintf(": %d refused", n), err
}

// poison are the message IDs of the rows that poisonOutbox wrote.
func (w *world) poison() []uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := []uuid.UUID{}
	for id := range w.losses.rows {
		list = append(list, uuid.MustParse(id))
	}
	return list
}

// poisonPictures publishes adverts with pictures that are small to send and costly to decode, among good ones.
func poisonPictures(w *world) (string, error) {
	h := w.hosts["poison"]
	before := h.total()
	w.flow.kinds(poisoned, fresh, poisoned, fresh, poisoned, fresh)
	err := eventually(w.ctx, servicetest.Patience(), func() bool { return h.total() >= before+3 })
	return fmt.Sprintf(": %d requests for pictures of %d KiB", h.total()-before, len(costly())>>10), err
}

// wrongClock publishes adverts whose dates are 59 minutes ahead, and honest versions of them when they are stored.
func wrongClock(w *world) (string, error) {
	var ids []string
	for _, m := range w.flow.kinds(ahead, ahead, ahead) {
		ids = append(ids, m.advert)
	}
	var n int
	err := eventually(w.ctx, servicetest.Patience(), func() bool {
		const sql = `SELECT count(*) FROM raw_listings WHERE platform_id = ANY ($1)`
		return w.db.QueryRow(w.ctx, sql, ids).Scan(&n) == nil && n == len(ids)
	})
	w.flow.correct()
	return "", err
}

// side of the costly picture in pixels: just under 50 megapixels.
const side = 7070

// costly is a picture of 0.4 MB, a progressive JPEG in CMYK, for which a decoder keeps 16 bytes of coefficients a pixel,
// and more: 1.2 GB.
var costly = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	part := func(marker byte, data ...byte) {
		n := len(data) + 2
		b.Write(append([]byte{0xff, marker, byte(n >> 8), byte(n)}, data...))
	}
	b.Write([]byte{0xff, 0xd8})
	part(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x00")...)       // CMYK
	part(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...) // quantization
	part(0xc2, 8, side>>8, side&0xff, side>>8, side&0xff, 4, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 4, 0x11, 0)
	part(0xc4, append(append([]byte{0x00, 1}, make([]byte, 15)...), 0)...) // DC: the bit 0 means "as before"
	part(0xda, 4, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0, 0)                         // first scan: the DC of all four
	const blocks = ((side + 7) / 8) * ((side + 7) / 8)
	b.Write(make([]byte, blocks*4/8+1))
	b.Write([]byte{0xff, 0xd9})
	return b.Bytes()
})

// memoryLimits are those of docker-compose.yml, in MiB, by kind of role.
var memoryLimits = map[string]int{"api": 512, "bridge": 512, "worker": 1536}

// weigh notes the memory of every role and the processes that it started, until the world ends.
func (w *world) weigh(ctx context.Context) {
	for pause(ctx, 200*time.Millisecond) {
		for _, r := range w.roles {
			if pid := r.pid(); pid != 0 {
				n := resident(pid) >> 20
				r.mu.Lock()
				r.memory = max(r.memory, n)
				r.mu.Unlock()
			}
		}
	}
}

// resident is the memory of a process and of all that it started, in bytes; 0 when it has ended.
func resident(pid int) (n int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	n = pages * os.Getpagesize()
	started, _ := children(pid)
	for _, p := range started {
		n += resident(p)
	}
	return n
}
