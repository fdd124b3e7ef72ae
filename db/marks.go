package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Marks says whether what the console shows has changed: a mark that is another text than before means that it has.
type Marks struct{ pool *pgxpool.Pool }

// NewMarks returns the marks of what is kept in pool.
func NewMarks(pool *pgxpool.Pool) *Marks { return &Marks{pool} }

// The topics that have a mark. TopicRun is followed by the number of a crawl run, TopicUpload and TopicCampaign by an
// ID.
const (
	TopicFlow      = "flow"
	TopicFeed      = "feed"
	TopicLetters   = "letters"
	TopicReplays   = "replays"
	TopicPlatforms = "platforms"
	TopicDrafts    = "drafts"
	TopicRun       = "run:"
	TopicUpload    = "upload:"
	TopicCampaign  = "campaign:"
)

// Each reads a few rows by an index: the last minutes by the key of flow, the newest row of a feed by its key, the
// newest rows of a list by its index. Platforms are few. A row that changes and is none of the newest changes no mark.
const (
	sqlMarkFlow = `/* sqlMarkFlow */
SELECT coalesce(sum(n)::text, '') || ' ' || $1::timestamptz FROM flow WHERE minute >= $1`
	sqlMarkFeed    = `/* sqlMarkFeed */ SELECT coalesce(max(id)::text, '') FROM listing_steps`
	sqlMarkLetters = `/* sqlMarkLetters */
SELECT (SELECT count(*) FROM (SELECT FROM dead_letters WHERE state = 'open' LIMIT 10000) o) || ' '
    || coalesce((SELECT max(last_at) FROM dead_letters)::text, '')`
	sqlMarkReplays = `/* sqlMarkReplays */
SELECT md5(coalesce(string_agg(r::text, ' '), ''))
FROM (SELECT * FROM replays ORDER BY created_at DESC, id DESC LIMIT 20) r`
	sqlMarkPlatforms = `/* sqlMarkPlatforms */
SELECT md5(coalesce(string_agg(p::text, ' ' ORDER BY name), '')) FROM platforms p`
	sqlMarkDrafts = `/* sqlMarkDrafts */
SELECT md5((SELECT coalesce(string_agg(d.id::text || d.updated_at, ' '), '') FROM (
        SELECT id, updated_at FROM product_drafts ORDER BY created_at DESC, id DESC LIMIT 20) d)
    || (SELECT coalesce(max(requested_at)::text, '') FROM draft_requests))`
	sqlMarkRun = `/* sqlMarkRun */ SELECT coalesce((SELECT md5(r::text) FROM crawl_runs r WHERE id = $1), '')`

	sqlMarkUpload = `/* sqlMarkUpload */
SELECT coalesce((SELECT concat_ws(' ', state, chunks, stored, rows_read, finished_at) FROM uploads WHERE id = $1), '')`
	sqlMarkCampaign = `/* sqlMarkCampaign */ SELECT coalesce((SELECT md5(c::text) FROM campaigns c WHERE id = $1), '')`
)

// Read returns the marks of topics. Those of uploads and campaigns are of any tenant: a mark tells nothing but that
// something has changed, and only callers that are of no tenant watch.
func (s *Marks) Read(ctx context.Context, topics []string, now time.Time) (map[string]string, error) {
	b := new(pgx.Batch)
	b.Queue(sqlTenant, everyTenant)
	marks := map[string]string{}
	ask := func(topic, sql string, args ...any) {
		b.Queue(sql, args...).QueryRow(func(row pgx.Row) error {
			var mark string
			err := row.Scan(&mark)
			marks[topic] = mark
			return err
		})
	}
	for _, topic := range topics {
		kind, id, _ := strings.Cut(topic, ":")
		switch topic {
		case TopicFlow:
			ask(topic, sqlMarkFlow, now.Add(-2*time.Minute).Truncate(time.Minute))
		case TopicFeed:
			ask(topic, sqlMarkFeed)
		case TopicLetters:
			ask(topic, sqlMarkLetters)
		case TopicReplays:
			ask(topic, sqlMarkReplays)
		case TopicPlatforms:
			ask(topic, sqlMarkPlatforms)
		case TopicDrafts:
			ask(topic, sqlMarkDrafts)
		}
		switch kind + ":" {
		case TopicRun:
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read mark of run %q: %w", id, err)
			}
			ask(topic, sqlMarkRun, n)
		case TopicUpload:
			ask(topic, sqlMarkUpload, id)
		case TopicCampaign:
			ask(topic, sqlMarkCampaign, id)
		}
	}
	if b.Len() == 1 {
		return marks, nil
	}
	err := s.pool.SendBatch(ctx, b).Close()
	return marks, fault.Wrap(err, "read marks")
}
