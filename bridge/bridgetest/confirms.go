package bridgetest

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// Mute makes the line behave as a broker with a queue that has lost its majority: messages that are published by a
// routing key from now on arrive, and are never confirmed. All others are. "" ends it for messages to come.
func (l *Line) Mute(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = key
}

// confirms are those that the server owes one connection.
type confirms struct {
	line *Line

	mu       sync.Mutex
	channels map[uint16]*unconfirmed
}

// unconfirmed are the messages of one channel that are to be confirmed: whether their confirms are forwarded, by
// delivery tag.
type unconfirmed struct {
	last    uint64
	forward map[uint64]bool
}

// asked counts what a frame publishes. It is called before the server has the frame.
func (c *confirms) asked(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	on := binary.BigEndian.Uint16(frame[1:])
	switch ch := c.channels[on]; {
	case isMethod(frame, 85, 10): // confirm.select
		c.channels[on] = &unconfirmed{forward: map[uint64]bool{}}
	case isMethod(frame, 60, 40) && ch != nil: // basic.publish: a reserved word, the exchange, the key
		exchange := 13
		key := exchange + 1 + int(frame[exchange])
		c.line.mu.Lock()
		mute := c.line.mute
		c.line.mu.Unlock()
		ch.last++
		ch.forward[ch.last] = mute == "" || mute != string(frame[key+1:key+1+int(frame[key])])
	}
}

// answered returns the frames to forward for one of the server: a confirm of several messages is one of each of them
// where some are not forwarded.
func (c *confirms) answered(frame []byte) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.channels[binary.BigEndian.Uint16(frame[1:])]
	if ch == nil || !isMethod(frame, 60, 80) && !isMethod(frame, 60, 120) { // basic.ack, basic.nack
		return [][]byte{frame}
	}
	const tagAt, bitsAt, multiple = 11, 19, 1
	tags := []uint64{binary.BigEndian.Uint64(frame[tagAt:])}
	if frame[bitsAt]&multiple != 0 {
		last := tags[0]
		tags = slices.Sorted(maps.Keys(ch.forward))
		tags = slices.DeleteFunc(tags, func(tag uint64) bool { return tag > last })
	}
	out, whole := [][]byte{}, true
	for _, tag := range tags {
		if forward, ok := ch.forward[tag]; forward {
			one := slices.Clone(frame)
			binary.BigEndian.PutUint64(one[tagAt:], tag)
			one[bitsAt] &^= multiple
			out = append(out, one)
			delete(ch.forward, tag)
		} else if ok { // it stays: a later confirm of several would be of this one, too
			whole = false
		}
	}
	if whole {
		return [][]byte{frame}
	}
	return out
}
