package db

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// DeadLetters are the messages, adverts and images that could not be processed and wait for an operator.
type DeadLetters struct {
	pool      *pgxpool.Pool
	added     Waker // to the outbox
	reopeners Reopeners
}

// NewDeadLetters returns the dead letters kept in pool. Without the reopeners of all systems they are to be added and
// read, not to be replayed.
func NewDeadLetters(pool *pgxpool.Pool, by Reopeners) *DeadLetters {
	return &DeadLetters{pool, NewWaker(pool), by}
}

// A DeadLetter is one message, advert or image that failed for good.
type DeadLetter struct {
	Key            string            // names the message, advert or image: the same key is the same dead letter again
	Letter         int64             // number of the dead letter that it claims to be a replay of; 0 = none
	Tenant         string            // whose it is; "" = of none
	contract.Route                   // Queue is where it was consumed, and where a replay goes
	MessageID      string            //
	Headers        map[string]string // as they arrived
	Body           []byte            // any bytes
	Reason         string            // may quote untrusted text; cleaned before it is stored
	Class          string            // fault class
	WorkflowID     string            // "" when none was started
	RunID          string            //
	At             time.Time
}

// A replay names the dead letter it was made of. Any sender can set that header, so it counts only when the body is
// that letter's. The exchange and key of the first death stay: a replay is published elsewhere.
const sqlDeadLetterAdd = `/* sqlDeadLetterAdd */
INSERT INTO dead_letters AS d
    (fingerprint, queue, exchange, routing_key, message_id, headers, body, reason, class, workflow_id, run_id,
        first_at, last_at, tenant)
VALUES (coalesce((SELECT fingerprint FROM dead_letters WHERE id = $13 AND body = $7), $1),
    $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $15)
ON CONFLICT (fingerprint) DO UPDATE SET
    last_at = greatest(d.last_at, excluded.last_at), deaths = d.deaths + 1, state = 'open',
    reason = excluded.reason, class = excluded.class, headers = excluded.headers,
    workflow_id = coalesce(nullif(excluded.workflow_id, ''), d.workflow_id),
    run_id = coalesce(nullif(excluded.run_id, ''), d.run_id)
WHERE excluded.headers->>$14 IS NULL OR excluded.headers->>$14 IS DISTINCT FROM d.headers->>$14`

// DeadLetterAdd queues a dead letter into the transaction that gives up what it is of.
func DeadLetterAdd(b *pgx.Batch, d DeadLetter) {
	clean := make(map[string]string, len(d.Headers))
	for k, v := range d.Headers {
		clean[Storable(k)] = Storable(v)
	}
	headers, err := json.Marshal(clean)
	if err != nil {
		panic(err) // texts
	}
	body := d.Body
	if body == nil {
		body = []byte{} // NULL would be refused
	}
	b.Queue(sqlDeadLetterAdd, LetterFingerprint(d.Key), amqpName(d.Queue), amqpName(d.Exchange), amqpName(d.RoutingKey),
		amqpName(d.MessageID), headers, body, Storable(d.Reason), amqpName(d.Class), amqpName(d.WorkflowID),
		amqpName(d.RunID), d.At, d.Letter, contract.DeathHeader, d.Tenant)
}

// Storable makes untrusted text fit for a text column, which takes neither NUL nor broken UTF-8.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// amqpName makes untrusted text fit for an indexed column and for sending it again: AMQP's names have at most 255
// bytes.
func amqpName(s string) string {
	const most = 255
	if s = Storable(s); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// Archive stores dead letters. One that is stored already is counted and opened again, unless this is a redelivery of
// the same death.
func (s *DeadLetters) Archive(ctx context.Context, letters ...DeadLetter) error {
	b := new(pgx.Batch)
	for _, d := range letters {
		DeadLetterAdd(b, d)
	}
	return fault.Wrap(Write(ctx, s.pool, b), "archive %d dead letters", len(letters))
}

// LetterFingerprint is what the letters of a key are found by.
func LetterFingerprint(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// SQLDeadLetterResolveKey resolves the dead letter with LetterFingerprint $1.
const SQLDeadLetterResolveKey = `/* sqlDeadLetterResolveKey */
UPDATE dead_letters SET state = 'resolved' WHERE fingerprint = $1 AND state IN ('open', 'replayed')`

// SQLLettersOver are the dead letters that the good end of a workflow resolves; its ID comes behind. That the ID is not
// empty makes the index on workflow_id fit for any, so also for a generic plan.
const SQLLettersOver = `state IN ('open', 'replayed') AND workflow_id <> '' AND workflow_id = `

// SQLDeadLetterResolve: an advert's dead letters, those of the images' queue $4 aside, are resolved when its newest
// revision has been brought to a good end.
const SQLDeadLetterResolve = `/* sqlDeadLetterResolve */
UPDATE dead_letters SET state = 'resolved' WHERE ` + SQLLettersOver + `$1 AND queue <> $4
    AND EXISTS (SELECT FROM raw_listings WHERE id = $2 AND revision = $3)`
