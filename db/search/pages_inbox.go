package search

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// InboxKey is what a message is known by: the first 16 bytes of the SHA-256 of its body.
func InboxKey(body []byte) uuid.UUID {
	sum := sha256.Sum256(body)
	return uuid.UUID(sum[:16])
}

// A message that was refused before is tried again. One that comes again is received anew, so it is not taken for one
// that nobody holds.
const sqlInboxAdd = `/* sqlInboxAdd */
INSERT INTO page_inbox AS i (key, body, received_at)
SELECT key, body, $3 FROM unnest($1::uuid[], $2::bytea[]) AS b(key, body) ORDER BY key
ON CONFLICT (key) DO UPDATE SET error = NULL, received_at = excluded.received_at`

// Inbox keeps the bodies of messages until Done and returns their keys, in the same order. It may be repeated.
func (s *Pages) Inbox(ctx context.Context, bodies [][]byte, at time.Time) ([]uuid.UUID, error) {
	keys := make([]uuid.UUID, len(bodies))
	seen := make(map[uuid.UUID]bool, len(bodies))
	var fresh []uuid.UUID
	var kept [][]byte
	for i, body := range bodies {
		keys[i] = InboxKey(body)
		if !seen[keys[i]] {
			seen[keys[i]] = true
			fresh, kept = append(fresh, keys[i]), append(kept, body)
		}
	}
	_, err := s.pool.Exec(ctx, sqlInboxAdd, fresh, kept, at)
	return keys, fault.Wrap(err, "keep %d messages", len(bodies))
}

const sqlInboxRead = `/* sqlInboxRead */ SELECT key, body FROM page_inbox WHERE key = ANY ($1)`

// Unread returns the messages of keys that are kept, in the order of keys. One that is not was stored before.
func (s *Pages) Unread(ctx context.Context, keys []uuid.UUID) ([]search.Letter, error) {
	letters, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[search.Letter], sqlInboxRead, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d messages: %w", len(keys), err)
	}
	place := make(map[uuid.UUID]int, len(keys))
	for i, key := range keys {
		place[key] = i
	}
	slices.SortFunc(letters, func(a, b search.Letter) int { return place[a.Key] - place[b.Key] })
	return letters, nil
}

const sqlInboxDone = `/* sqlInboxDone */
DELETE FROM page_inbox
WHERE key = ANY (ARRAY(SELECT key FROM page_inbox WHERE key = ANY ($1) ORDER BY key FOR UPDATE))`

// Done forgets messages whose pages are stored and findable. Those that are not kept are ignored.
func (s *Pages) Done(ctx context.Context, keys []uuid.UUID) error {
	_, err := s.pool.Exec(ctx, sqlInboxDone, keys)
	return fault.Wrap(err, "forget %d messages", len(keys))
}

const sqlInboxRefuse = `/* sqlInboxRefuse */ UPDATE page_inbox SET error = $2 WHERE key = $1`

// Refuse notes why a message can never be stored.
func (s *Pages) Refuse(ctx context.Context, key uuid.UUID, reason string) error {
	_, err := s.pool.Exec(ctx, sqlInboxRefuse, key, db.Storable(reason))
	return fault.Wrap(err, "refuse message %s", key)
}

// Only messages that were refused are deleted: each is a dead letter as well.
const sqlInboxSweep = `/* sqlInboxSweep */
WITH old AS (
    SELECT key FROM page_inbox WHERE received_at < $1 AND error IS NOT NULL
    ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM page_inbox WHERE key IN (SELECT key FROM old)`

// Sweep deletes at most most messages that were refused and came before a time, and returns how many it deleted.
func (s *Pages) Sweep(ctx context.Context, before time.Time, most int) (int, error) {
	tag, err := s.pool.Exec(ctx, sqlInboxSweep, before, most)
	return int(tag.RowsAffected()), fault.Wrap(err, "sweep refused messages")
}

const sqlInboxLeft = `/* sqlInboxLeft */
SELECT key FROM page_inbox WHERE received_at < $1 AND error IS NULL ORDER BY received_at LIMIT $2`

// Left returns the keys of at most most messages that came before a time and are neither done nor refused, the oldest
// first: mostly those of a batch that died before its workflow began, whose messages come again with the same keys.
// They may be stored like any other; deleting them could lose a message that a workflow is about to read.
func (s *Pages) Left(ctx context.Context, before time.Time, most int) ([]uuid.UUID, error) {
	keys, err := db.Rows(ctx, s.pool, pgx.RowTo[uuid.UUID], sqlInboxLeft, before, most)
	return keys, fault.Wrap(err, "find messages that are left")
}
