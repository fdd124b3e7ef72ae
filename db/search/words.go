package search

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/search"
)

// A word is learnt before the segment that has it is written, and merges find out which words documents no longer have.
// Between the two, a word may be learnt whose last document has just gone. So it is only doubted at first, learning it
// again ends the doubt, and what no segment has wordDoubted later is forgotten. A process learns a word anew that it
// has not learnt for wordKnown. Segments are written, and merged, within the difference.
const (
	wordDoubted = 24 * time.Hour
	wordKnown   = time.Hour
)

const (
	doubtsAtOnce = 1000 // words that a merge doubts with a statement
	forgetAtOnce = 200  // words that are looked for in all segments
)

const sqlSearchDoubt = `/* sqlSearchDoubt */
INSERT INTO search_terms_doubted (term, since)
SELECT term, clock_timestamp() FROM unnest($1::text[]) AS t(term) ON CONFLICT DO NOTHING`

// wordDoubts are the words that a merge doubts. They stay doubted where the merge fails: what has one is looked for
// before it is forgotten.
type wordDoubts struct {
	on    *pgxpool.Pool
	words []string
}

func (d *wordDoubts) add(ctx context.Context, term string) error {
	if !search.Spellable(term) {
		return nil // is no word of the dictionary
	}
	if d.words = append(d.words, term); len(d.words) < doubtsAtOnce {
		return nil
	}
	return d.flush(ctx)
}

func (d *wordDoubts) flush(ctx context.Context) error {
	if len(d.words) == 0 {
		return nil
	}
	_, err := d.on.Exec(ctx, sqlSearchDoubt, d.words)
	d.words = d.words[:0]
	return err
}

// One that is being learnt is left out, and one that is looked at here is learnt afterwards.
const sqlSearchDoubted = `/* sqlSearchDoubted */
SELECT term FROM search_terms_doubted WHERE since < now() - $1::interval ORDER BY since LIMIT $2
FOR UPDATE SKIP LOCKED`

// The blocks that may have words, of any collection; those of one term without their postings.
const sqlSearchWritten = `/* sqlSearchWritten */
SELECT n.term, CASE WHEN p.term <> p.last THEN p.postings END
FROM search_segments s CROSS JOIN unnest($1::text[]) AS n(term) CROSS JOIN LATERAL (
    SELECT * FROM search_postings WHERE segment = s.id AND term <= n.term ORDER BY term DESC LIMIT 1) p
WHERE p.last >= n.term`

const (
	sqlSearchUnlearn = `/* sqlSearchUnlearn */ DELETE FROM search_terms WHERE term = ANY ($1)`
	sqlSearchDecided = `/* sqlSearchDecided */ DELETE FROM search_terms_doubted WHERE term = ANY ($1)`
)

// forgetWords takes some words from the dictionary that have been doubted for long and are in no segment, and reports
// whether there may be more.
func forgetWords(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	words, err := db.Rows(ctx, tx, pgx.RowTo[string], sqlSearchDoubted, wordDoubted, forgetAtOnce)
	if err != nil || len(words) == 0 {
		return false, err
	}
	if _, err := tx.Exec(ctx, sqlSearchPlan); err != nil {
		return false, err
	}
	written := make(map[string]bool, len(words))
	rows, _ := tx.Query(ctx, sqlSearchWritten, words)
	var word string
	var postings []byte
	_, err = pgx.ForEachRow(rows, []any{&word, &postings}, func() error {
		if written[word] || postings == nil { // the block is the word's own
			written[word] = true
			return nil
		}
		_, place, err := search.Block{Postings: postings}.Find(word)
		if err != nil {
			return fmt.Errorf("look for %q: %w", word, err)
		}
		written[word] = place >= 0
		return nil
	})
	if err != nil {
		return false, err
	}
	gone := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return written[w] })
	b := new(pgx.Batch)
	b.Queue(sqlSearchUnlearn, gone)
	b.Queue(sqlSearchDecided, words)
	return len(words) == forgetAtOnce, tx.SendBatch(ctx, b).Close()
}

// What is locked here is locked in the order of the words, as by all who learn. The doubts come first: one that is
// being decided is waited for, so that the statement after it finds the word gone.
const sqlSearchTrust = `/* sqlSearchTrust */
DELETE FROM search_terms_doubted WHERE term IN (
    SELECT term FROM search_terms_doubted WHERE term = ANY ($1) ORDER BY term FOR UPDATE)`

// Words that are there are left alone, so most of a page costs a look at the index only.
const sqlSearchLearn = `/* sqlSearchLearn */
INSERT INTO search_terms (term)
SELECT term FROM unnest($1::text[]) AS t(term)
WHERE NOT EXISTS (SELECT FROM search_terms k WHERE k.term = t.term) ORDER BY term
ON CONFLICT DO NOTHING`

// learn adds words to the dictionary. That is not part of the transaction: a word that no page has does no harm, and
// the rows of the pages are not locked as long.
func (x *SearchIndex) learn(ctx context.Context, terms []search.TermPostings) error {
	words := make([]string, 0, len(terms))
	for _, t := range terms {
		if search.Spellable(t.Term) {
			words = append(words, t.Term)
		}
	}
	now := x.now()
	if words = x.segments.unknown(words, now); len(words) == 0 {
		return nil
	}
	b := new(pgx.Batch)
	b.Queue(sqlSearchTrust, words)
	b.Queue(sqlSearchLearn, words)
	if err := db.Write(ctx, x.pool, b); err != nil {
		return err
	}
	x.segments.know(words, now)
	return nil
}
