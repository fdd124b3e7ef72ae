package db

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A Replayed is one dead letter that goes back to its queue.
type Replayed struct {
	ID      int64
	Queue   string
	Replays int // times it was replayed, this one included
}

// SQLLettersLane is the outbox's lane of replays.
const SQLLettersLane = `'dead-letters'`

// A replay goes to the queue that the letter died in, by the default exchange: through the exchange that it was
// published to first, every other queue bound there would get it a second time, and an exchange that is gone would
// end the relay's batch. A message that could not be published died in the outbox, and goes to its exchange and key
// again, whose tenant's it may be; an event of saved searches, which is of no tenant, goes into their table. It carries
// the headers that the message arrived with, without those that describe its deaths or that brokers act on, and the
// number of its letter. Headers that may not fit into a frame are dropped, or the relay would try for ever.
//
// Letters that another transaction has locked are skipped: two replays of the same letters at once replay each one
// once. Letters whose last replay has not been sent yet are skipped too.
const sqlLetterReplay = `/* sqlLetterReplay */
WITH due AS (
    SELECT id, replayed_at AS was_at, replay_id AS was_id FROM dead_letters d
    WHERE ` + sqlLetterFilter + `
        AND ($10::bigint IS NULL OR id = $10) AND id > $11
        AND octet_length(queue) BETWEEN 1 AND 255
        AND NOT EXISTS (SELECT FROM outbox WHERE message_id = d.replay_id AND published_at IS NULL)
    ORDER BY id
    LIMIT $12
    FOR UPDATE SKIP LOCKED
), replayed AS (
    UPDATE dead_letters d
    SET state = 'replayed', replays = replays + 1, replayed_at = $13, replay_id = gen_random_uuid()
    FROM due WHERE d.id = due.id
    RETURNING d.*, due.was_at, due.was_id
), sent AS (
    INSERT INTO outbox (message_id, publish_as, lane, exchange, routing_key, headers, body, created_at)
    SELECT replay_id, CASE WHEN octet_length(r.message_id) <= 255 THEN r.message_id ELSE '' END, ` + SQLLettersLane + `,
        CASE queue WHEN 'outbox' THEN exchange ELSE '' END, CASE queue WHEN 'outbox' THEN routing_key ELSE queue END,
        CASE WHEN octet_length(h.kept::text) < 65536 THEN h.kept ELSE '{}' END
            || jsonb_build_object($14::text, r.id::text), body, $13
    FROM replayed r CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_object_agg(key, value), '{}') AS kept FROM jsonb_each_text(r.headers)
        WHERE octet_length(key) < 128
            AND key !~* '^(cc|bcc|x-(death|delivery-count|acquired-count|error|error-class|'
                'conveyor-(version|death)|workflow-(id|run)|(first|last)-death-.*|origin-(queue|exchange|routing-key)|'
                'opt-.*))$'
    ) h
    WHERE (tenant = '' OR queue = 'outbox') AND queue <> 'notify'
    ORDER BY r.id
)
SELECT id, queue, replays, tenant, message_id, was_at, was_id FROM replayed ORDER BY id`

// A Reopener puts what a dead letter is of back into its queue, which is a table, in the transaction of the replay.
type Reopener struct {
	// Of does it for a letter of a tenant. The letter's message ID is id, that of what the letter is of. What is over by
	// now is fault.Conflict or fault.Gone.
	Of func(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, now time.Time) error
	// Hold is the statement that locks what letters are of, of any tenant, by the IDs $1 in their order. "" = Of locks it.
	Hold string
	// Back is the statement that does it for letter $1, which is of no tenant. "" = those go back to a broker's queue.
	Back string
}

// Reopeners are those of the queues that are tables, by the queue that a letter died in. Only Replay and ReplayAll need
// them: a letter of a tenant whose queue has none cannot be replayed, but for an event that could not be published.
type Reopeners map[string]Reopener

// A reopened is a letter that letterReplay has taken.
type reopened struct {
	Replayed
	Tenant    string
	MessageID string
	WasAt     *time.Time // its last replay before this one
	WasID     *uuid.UUID
}

func letterReplay(ctx context.Context, tx pgx.Tx, f LetterFilter, id *int64, after int64, limit int, now time.Time) (
	[]reopened, error,
) {
	args := append(f.args(), id, after, limit, now, contract.DeadLetterHeader)
	got, err := Rows(ctx, tx, pgx.RowToStructByPos[reopened], sqlLetterReplay, args...)
	return got, Refused(fault.Wrap(err, "replay dead letters"))
}

const sqlLettersDone = `/* sqlLettersDone */
INSERT INTO audit (at, actor, action, subject, detail, remote, request_id, key_id)
SELECT $2, $3, $4, 'dead-letter/' || id,
    jsonb_build_object('queue', queue, 'class', class, 'deaths', deaths, 'replays', replays), $5, $6, $7
FROM dead_letters WHERE id = ANY ($1) ORDER BY id`

// lettersDone writes what was done to letters into the audit.
func lettersDone(ctx context.Context, tx pgx.Tx, ids []int64, action, actor string, now time.Time) error {
	args := append([]any{ids, now, Storable(actor), action}, OriginOf(ctx).Args()...)
	_, err := tx.Exec(ctx, sqlLettersDone, args...)
	return fault.Wrap(err, "write the audit of %d dead letters", len(ids))
}

// hold locks what letters are of, before any of it is changed: others lock many of these in the order of their IDs.
func hold(ctx context.Context, tx pgx.Tx, letters []reopened, by Reopeners) error {
	of := map[string][]uuid.UUID{}
	for _, r := range letters {
		if id, err := uuid.Parse(r.MessageID); err == nil && r.Tenant != "" && by[r.Queue].Hold != "" {
			of[by[r.Queue].Hold] = append(of[by[r.Queue].Hold], id)
		}
	}
	for text, ids := range of {
		if _, err := tx.Exec(ctx, sqlTenant, everyTenant); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, text, ids); err != nil {
			return fault.Wrap(err, "lock what %d dead letters are of", len(ids))
		}
	}
	return nil
}

// reopen puts what a letter is of back into its queue, where that is a table.
func (r reopened) reopen(ctx context.Context, tx pgx.Tx, by Reopeners, now time.Time) error {
	again := by[r.Queue]
	switch {
	case r.Tenant == "" && again.Back != "":
		_, err := tx.Exec(ctx, again.Back, r.ID)
		return fault.Wrap(err, "replay dead letter %d", r.ID)
	case r.Tenant == "", r.Queue == outboxQueue:
		return nil
	}
	id, err := uuid.Parse(r.MessageID)
	if again.Of == nil || err != nil {
		return fault.Newf(fault.Conflict, "dead letter %d cannot be replayed", r.ID)
	}
	if _, err := tx.Exec(ctx, sqlTenant, r.Tenant); err != nil {
		return err
	}
	return fault.Wrap(again.Of(ctx, tx, r.Tenant, id, now), "replay dead letter %d", r.ID)
}

// A statement that waits for a locked row reads that row anew and nothing else: it would see the letter as the other
// transaction left it, and the outbox as it was before. So the wait is a statement of its own.
const sqlLetterHold = `/* sqlLetterHold */ SELECT id FROM dead_letters WHERE id = $1 FOR UPDATE`

const sqlLetterState = `/* sqlLetterState */
SELECT state, replayed_at, queue <> '' AND octet_length(queue) <= 255,
    EXISTS (SELECT FROM outbox WHERE message_id = d.replay_id AND published_at IS NULL)
FROM dead_letters d WHERE id = $1`

// Replay sends a dead letter to its queue again, in one transaction with the audit entry of actor. It is in the outbox
// when Replay returns, and open again when it dies again. A letter that is not open is fault.Conflict unless force is
// set; one whose last replay still waits to be sent is fault.Conflict even then, so that two calls send it once. An
// unknown letter is fault.Gone.
func (s *DeadLetters) Replay(ctx context.Context, id int64, force bool, actor string, now time.Time) (Replayed, error) {
	f := LetterFilter{State: []string{"open"}}
	if force {
		f.State = nil
	}
	var got []reopened
	err := Tx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, sqlLetterHold, id); err == nil {
			got, err = letterReplay(ctx, tx, f, &id, 0, 1, now)
		}
		if err == nil {
			err = hold(ctx, tx, got, s.reopeners)
		}
		for _, r := range got {
			if err == nil {
				err = r.reopen(ctx, tx, s.reopeners, now)
			}
		}
		if err == nil && len(got) > 0 {
			err = lettersDone(ctx, tx, []int64{id}, "dead_letter.replayed", actor, now)
		}
		return err
	})
	if err != nil {
		return Replayed{}, err
	}
	if len(got) == 1 {
		s.added.Wake(ctx)
		return got[0].Replayed, nil
	}
	return Replayed{}, s.whyNot(ctx, id, force)
}

// whyNot says why a letter was not replayed.
func (s *DeadLetters) whyNot(ctx context.Context, id int64, force bool) error {
	var state string
	var at *time.Time
	var addressed, waits bool
	err := s.pool.QueryRow(ctx, sqlLetterState, id).Scan(&state, &at, &addressed, &waits)
	switch {
	case err != nil:
		return letterFault(err, "read", id)
	case !addressed:
		return fault.Newf(fault.Conflict, "dead letter %d does not say which queue it died in", id)
	case waits:
		return fault.Newf(fault.Conflict, "dead letter %d was replayed at %s and waits to be sent", id, stamp(at))
	case state == "replayed" && !force:
		return fault.Newf(fault.Conflict,
			"dead letter %d was replayed at %s and has not died since; force sends it all the same", id, stamp(at))
	case state != "open" && !force:
		return fault.Newf(fault.Conflict, "dead letter %d is %s; force sends it all the same", id, state)
	}
	return fault.Newf(fault.Conflict, "dead letter %d is being changed by another request; try again", id)
}

func stamp(t *time.Time) string {
	if t == nil {
		return "some time"
	}
	return t.UTC().Format(time.RFC3339)
}

// letterReplayBatch is how many letters one transaction replays. Their bodies have up to 1 MiB each, mostly 3 KiB.
const letterReplayBatch = 100

// What is over was not sent, so it does not count as a replay: the one before is the last.
const sqlLetterOver = `/* sqlLetterOver */
UPDATE dead_letters d SET state = 'resolved', replays = d.replays - 1, replayed_at = o.was_at, replay_id = o.was_id
FROM unnest($1::bigint[], $2::timestamptz[], $3::uuid[]) AS o(id, was_at, was_id) WHERE d.id = o.id`

// LettersReplayed is what ReplayAll has done.
type LettersReplayed struct {
	Sent int
	Over int // of what is over by now, or has lost its file: resolved, not sent
}

// ReplayAll replays up to limit open letters that f selects, the oldest first, in one transaction a batch, and
// returns what was done, on an error too: those stay replayed. A letter that dies again meanwhile is not replayed
// twice. One of a tenant that is of something which is over by now is resolved, beyond the limit.
func (s *DeadLetters) ReplayAll(ctx context.Context, f LetterFilter, limit int, actor string, now time.Time) (
	done LettersReplayed, err error,
) {
	f.State = []string{"open"}
	for after := int64(0); done.Sent < limit; {
		var got []reopened
		var sent, over []int64
		var wasAt []*time.Time
		var wasID []*uuid.UUID
		err := Tx(ctx, s.pool, func(tx pgx.Tx) (err error) {
			got, err = letterReplay(ctx, tx, f, nil, after, min(letterReplayBatch, limit-done.Sent), now)
			if err == nil {
				err = hold(ctx, tx, got, s.reopeners)
			}
			for _, r := range got {
				if err != nil {
					return err
				}
				err = r.reopen(ctx, tx, s.reopeners, now)
				if class, _ := fault.Of(err); class == fault.Conflict || class == fault.Gone {
					over, wasAt, wasID, err = append(over, r.ID), append(wasAt, r.WasAt), append(wasID, r.WasID), nil
				} else {
					sent = append(sent, r.ID)
				}
			}
			if err == nil && len(sent) > 0 {
				err = lettersDone(ctx, tx, sent, "dead_letter.replayed", actor, now)
			}
			if err == nil && len(over) > 0 {
				if _, err = tx.Exec(ctx, sqlLetterOver, over, wasAt, wasID); err == nil {
					err = lettersDone(ctx, tx, over, "dead_letter.resolved", actor, now)
				}
			}
			return err
		})
		if err != nil {
			return done, err
		}
		if len(got) == 0 {
			break
		}
		s.added.Wake(ctx)
		done.Sent, done.Over = done.Sent+len(sent), done.Over+len(over)
		after = got[len(got)-1].ID
	}
	return done, nil
}

// The end of a crawl request deletes its secrets. It is named by its workflow or, where that was not started, by its
// message, whose ID may be any text.
const sqlLettersUnsealed = `named AS (
    SELECT coalesce(substring(workflow_id FROM '^draft/(.*)$'), message_id) AS event FROM discarded
), unsealed AS (
    DELETE FROM draft_secrets WHERE event_id IN (
        SELECT CASE WHEN event ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' THEN event::uuid END FROM named)
)`

const sqlLetterDiscard = `/* sqlLetterDiscard */
WITH due AS (
    SELECT id, state FROM dead_letters WHERE id = $1 AND state <> 'discarded' FOR UPDATE
), discarded AS (
    UPDATE dead_letters d SET state = 'discarded' FROM due WHERE d.id = due.id
    RETURNING d.id, d.queue, d.class, d.replay_id, d.workflow_id, d.message_id, due.state
), ` + sqlLettersUnsealed + `, unsent AS (
    DELETE FROM outbox o USING discarded d
    WHERE o.message_id = d.replay_id AND o.published_at IS NULL AND (o.leased_until IS NULL OR o.leased_until < now())
), audited AS (
    INSERT INTO audit (at, actor, action, subject, detail, remote, request_id, key_id)
    SELECT $2, $3, 'dead_letter.discarded', 'dead-letter/' || id,
        jsonb_build_object('queue', queue, 'class', class, 'was', state), $4, $5, $6
    FROM discarded
)
SELECT id FROM dead_letters WHERE id = $1`

// Discard closes a dead letter without a replay: it stays stored and is open again only when it dies again. A replay
// that has not been sent is withdrawn, and the secrets of a crawl request are deleted. Discarding twice is discarding
// once. An unknown letter is fault.Gone.
func (s *DeadLetters) Discard(ctx context.Context, id int64, actor string, now time.Time) error {
	args := append([]any{id, now, Storable(actor)}, OriginOf(ctx).Args()...)
	err := s.pool.QueryRow(ctx, sqlLetterDiscard, args...).Scan(&id)
	return letterFault(err, "discard", id)
}

const sqlLettersDiscard = `/* sqlLettersDiscard */
WITH due AS (
    SELECT id FROM dead_letters WHERE ` + sqlLetterFilter + ` AND id > $10 ORDER BY id LIMIT $11 FOR UPDATE SKIP LOCKED
), discarded AS (
    UPDATE dead_letters d SET state = 'discarded' FROM due WHERE d.id = due.id
    RETURNING d.id, d.queue, d.class, d.workflow_id, d.message_id
), ` + sqlLettersUnsealed + `, audited AS (
    INSERT INTO audit (at, actor, action, subject, detail, remote, request_id, key_id)
    SELECT $12, $13, 'dead_letter.discarded', 'dead-letter/' || id,
        jsonb_build_object('queue', queue, 'class', class, 'was', 'open'), $14, $15, $16
    FROM discarded ORDER BY id
)
SELECT id FROM discarded ORDER BY id`

// letterDiscardBatch is how many letters one transaction discards. Their bodies are not touched.
const letterDiscardBatch = 1000

// DiscardAll discards up to limit open letters that f selects, the oldest first, in one transaction a batch, and
// returns their number, on an error too: those stay discarded. Each is open again only when it dies again. The secrets
// of crawl requests are deleted.
func (s *DeadLetters) DiscardAll(ctx context.Context, f LetterFilter, limit int, actor string, now time.Time) (
	n int, err error,
) {
	f.State = []string{"open"}
	for after := int64(0); n < limit; {
		args := append(f.args(), after, min(letterDiscardBatch, limit-n), now, Storable(actor))
		ids, err := Rows(ctx, s.pool, pgx.RowTo[int64], sqlLettersDiscard, append(args, OriginOf(ctx).Args()...)...)
		if err != nil {
			return n, Refused(fmt.Errorf("discard dead letters: %w", err))
		}
		if len(ids) == 0 {
			break
		}
		n += len(ids)
		after = ids[len(ids)-1]
	}
	return n, nil
}
