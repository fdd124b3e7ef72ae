package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// The statements below look up many keys of a large table by its index: see SQLCrawlPlan. A plan for one list of terms
// is as good for another, so none is made for each.
const sqlSearchPlan = `/* sqlSearchPlan */
SELECT set_config(name, value, true) FROM (VALUES
    ('jit', 'off'), ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'),
    ('enable_material', 'off'), ('plan_cache_mode', 'force_generic_plan')) AS s(name, value)`

// The blocks that may have the terms $1 of the segments $2, with the positions of the terms $4, and their sizes; $3 are
// the starts before the terms. Those of one term that have more than $5 bytes are left to sqlSearchLarge: the sizes of
// blocks are known without reading them.
const sqlSearchPosted = `/* sqlSearchPosted */
SELECT n.term, n.segment, p.term, CASE WHEN i.here THEN p.postings END,
    CASE WHEN i.here AND n.term = ANY ($4::text[]) THEN p.positions END,
    octet_length(p.postings), octet_length(p.positions)
FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n(term, segment, start) CROSS JOIN LATERAL (
    SELECT * FROM search_postings WHERE segment = n.segment AND term >= n.start AND term <= n.term
    ORDER BY term DESC LIMIT 1) p
    CROSS JOIN LATERAL (SELECT p.term < p.last OR octet_length(p.postings) <= $5 AS here) i
WHERE p.last >= n.term`

const sqlSearchLarge = `/* sqlSearchLarge */
SELECT n.term, n.segment, p.postings, CASE WHEN n.term = ANY ($3::text[]) THEN p.positions END
FROM unnest($1::text[], $2::bigint[]) AS n(term, segment)
CROSS JOIN LATERAL (SELECT * FROM search_postings WHERE segment = n.segment AND term = n.term LIMIT 1) p`

// The positions of the blocks of segments $2 that begin with $3 and have the terms $1.
const sqlSearchPositions = `/* sqlSearchPositions */
SELECT n.term, n.segment, p.positions
FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n(term, segment, first) CROSS JOIN LATERAL (
    SELECT positions FROM search_postings WHERE segment = n.segment AND term = n.first LIMIT 1) p`

// maxPositions is how many bytes of positions are read for the order of the best answers. Words that are too common for
// it say little about how near together the words of a query are.
const maxPositions = 8 << 20

const sqlSearchShown = `/* sqlSearchShown */
SELECT id, url, site, title, description, language, type, crawled_at, substr(text, 1, $2)
FROM pages WHERE id = ANY ($1)`

// maxShownText is how much of the text of a page a snippet may come from, in code points.
const maxShownText = 256 << 10

// Search answers a query from one state of the index.
func (x *SearchIndex) Search(ctx context.Context, q search.Query) (search.Results, error) {
	start := time.Now()
	ask, err := search.Parse(q.Text)
	if err != nil {
		return search.Results{}, err
	}
	if q.Limit < 1 || q.Limit > search.MaxLimit {
		return search.Results{}, fault.Newf(fault.Invalid, "limit: %d is not from 1 to %d", q.Limit, search.MaxLimit)
	}
	var out search.Results
	err = db.TxWith(ctx, x.pool, readOnly, func(tx pgx.Tx) error {
		s := &searching{SearchIndex: x, tx: tx, ask: ask, marked: ask, query: q}
		out, err = s.run(ctx)
		return err
	})
	if err != nil {
		return search.Results{}, fmt.Errorf("search: %w", err)
	}
	out.Took = time.Since(start)
	return out, nil
}

// searching is one query in its transaction.
type searching struct {
	*SearchIndex
	tx       pgx.Tx
	ask      search.Ask
	marked   search.Ask // ask, and corrections
	query    search.Query
	snapshot *search.Snapshot
	list     []segmentKey // of snapshot
	plan     *search.Plan
	have     map[string]bool // terms that were read
	found    map[search.Need]foundTerm
}

// A foundTerm is what a query has of a term that a segment has.
type foundTerm struct {
	of segmentKey
	keptTerm
}

// inBlock is where a term of a segment is: in the block that begins with a term, after so many others.
type inBlock struct {
	first string
	place int
}

// lent is bytes in the memory of the connection, until the next row.
type lent []byte

func (b *lent) ScanBytes(v []byte) error {
	*b = v
	return nil
}

func (s *searching) run(ctx context.Context) (out search.Results, err error) {
	if _, err := s.tx.Exec(ctx, sqlSearchPlan); err != nil {
		return out, err
	}
	if s.snapshot, s.list, err = s.SearchIndex.snapshot(ctx, s.tx); err != nil {
		return out, err
	}
	s.plan = search.NewPlan(s.ask, s.query, s.snapshot.Languages()...)
	s.have, s.found = map[string]bool{}, map[search.Need]foundTerm{}
	prefixes, sizes := s.plan.Prefixes(), map[string]search.Size{}
	for i, prefix := range prefixes {
		words := []string{prefix}
		if i < maxPrefixes {
			var docs map[string]int
			words, docs, err = s.beginning(ctx, s.tx, prefix, maxPrefixWords/min(len(prefixes), maxPrefixes))
			if err != nil {
				return out, err
			}
			for _, w := range words {
				sizes[w] = search.Size{Postings: int64(docs[w] * sizeOfPosting)}
			}
		}
		s.plan.Expand(prefix, words)
	}
	ranking, err := s.count(ctx, sizes)
	if err != nil {
		return out, err
	}
	fixes, err := s.together(ctx, ranking)
	if err == nil {
		fixes, err = s.misspelt(ctx, ranking, fixes)
	}
	if err == nil {
		fixes, err = s.parted(ctx, ranking, fixes)
	}
	if err != nil {
		return out, err
	}
	if len(fixes) > 0 {
		out.Corrected = s.correct(fixes)
		out.DidYouMean = reworded(s.ask, fixes)
		s.marked = withFixes(s.ask, fixes)
		read, err := s.read(ctx, s.plan.Terms())
		if err == nil {
			err = ranking.Recount(read)
		}
		if err != nil {
			return out, err
		}
	}
	if err := ranking.Answer(); err != nil {
		return out, err
	}
	if err := s.learn(ctx, ranking); err != nil {
		return out, err
	}
	if err := s.refine(ctx, ranking); err != nil {
		return out, err
	}
	out.Total, out.AtLeast, out.Relaxed = ranking.Total, ranking.AtLeast, ranking.Relaxed
	if s.query.Facets {
		out.Facets = ranking.Facets()
	}
	ranked, more := ranking.Hits(s.query.After, s.query.Limit)
	if more {
		out.Next = new(ranked[len(ranked)-1].Position)
	}
	out.Hits, err = s.show(ctx, ranked)
	return out, err
}

// correct puts fixes into the plan, and returns the words that are looked for, too.
func (s *searching) correct(fixes []fix) (words []string) {
	for _, f := range fixes {
		if f.apart != nil {
			s.plan.Part(f.clause, f.apart)
			for _, w := range f.apart {
				delete(s.have, w) // its positions are wanted now
			}
			continue
		}
		s.plan.Also(f.clause, f.words...)
		if !f.whole {
			words = append(words, f.words...)
		}
	}
	return words
}

// About how many bytes a posting has, and its positions, as dear as those of postings.
const (
	sizeOfPosting   = 3
	sizeOfPositions = 3
)

// cheapSearch is how many bytes of postings are read without a look at their sizes. The commonest word is in each page.
const cheapSearch = 7 << 20

// smallPostings is how many bytes postings have that are read where their sizes are looked at: more than most words.
const smallPostings = 4 << 10

// count reads what the plan needs, and how many pages have each word, given about how many bytes some words have. The
// commonest words of a query that would read too much are left out.
func (s *searching) count(ctx context.Context, known map[string]search.Size) (*search.Ranking, error) {
	terms, phrases := s.plan.Terms(), s.plan.Positions()
	sum := int64(len(phrases)*sizeOfPositions) * int64(s.snapshot.Docs())
	for _, t := range terms {
		if size, ok := known[t]; ok {
			sum += size.Postings
		} else {
			sum += sizeOfPosting * int64(s.snapshot.Docs())
		}
	}
	most := math.MaxInt32
	if sum >= s.cheap {
		most = s.small
	}
	rows, large, sizes, err := s.look(ctx, terms, phrases, most)
	if err != nil {
		return nil, err
	}
	if sum >= s.cheap {
		s.plan.Afford(sizes)
		terms = s.plan.Terms()
	}
	for _, t := range terms {
		s.have[t] = true
	}
	rows = slices.DeleteFunc(rows, func(p search.Posted) bool { return !s.have[p.Term] })
	large = slices.DeleteFunc(large, func(t sought) bool { return !s.have[t.Term] })
	if len(large) > 0 {
		of, segments, _ := columnsOf(large)
		found := byNeed(large)
		read, _ := s.tx.Query(ctx, sqlSearchLarge, of, segments, s.plan.Positions())
		var n search.Need
		var postings, positions lent
		_, err := pgx.ForEachRow(read, []any{&n.Term, &n.Segment, &postings, &positions}, func() (err error) {
			rows, err = s.withTerm(rows, found[n], n.Term, search.Block{Postings: postings, Positions: positions})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return search.CountWords(s.snapshot, s.plan, rows)
}

// look reads the postings of terms that have up to most bytes. Of the others it says where they are. The sizes are
// those of all blocks that may have a term.
func (s *searching) look(ctx context.Context, terms, positions []string, most int) (
	rows []search.Posted, large []sought, sizes map[string]search.Size, err error,
) {
	sizes = make(map[string]search.Size, len(terms))
	missing, rows := s.takeKept(s.segments.lookups(terms, s.list), positions, rows, sizes)
	if len(missing) == 0 {
		return rows, nil, sizes, nil
	}
	of, segments, from := columnsOf(missing)
	left := byNeed(missing)
	read, _ := s.tx.Query(ctx, sqlSearchPosted, of, segments, from, positions, most)
	var n search.Need
	var first string
	var postings, places lent
	var size search.Size
	_, err = pgx.ForEachRow(read, []any{
		&n.Term, &n.Segment, &first, &postings, &places, &size.Postings, &size.Positions,
	}, func() error {
		t := left[n]
		delete(left, n)
		t.size = size
		addSize(sizes, n.Term, size)
		if postings == nil {
			large = append(large, t)
			return nil
		}
		rows, err = s.withTerm(rows, t, first, search.Block{Postings: postings, Positions: places})
		return err
	})
	if err == nil {
		for _, t := range left {
			s.keep(t.Term, t.of, keptTerm{}) // no block has the term
		}
	}
	return rows, large, sizes, err
}

// read reads terms that were not read yet.
func (s *searching) read(ctx context.Context, terms []string) ([]search.Posted, error) {
	terms = slices.DeleteFunc(terms, func(t string) bool { return s.have[t] })
	if len(terms) == 0 {
		return nil, nil
	}
	for _, t := range terms {
		s.have[t] = true
	}
	rows, _, _, err := s.look(ctx, terms, s.plan.Positions(), math.MaxInt32)
	return rows, err
}

const sqlSearchSamples = `/* sqlSearchSamples */
SELECT id, title, substr(text, 1, $2), language FROM pages WHERE id = ANY ($1)`

// maxSampleText is how much of a page is learnt from, in code points.
const maxSampleText = 16 << 10

// learn adds words that the best answers have in common to a long query.
func (s *searching) learn(ctx context.Context, ranking *search.Ranking) error {
	ids := ranking.Samples()
	if len(ids) == 0 {
		return nil
	}
	samples, err := db.Rows(ctx, s.tx, pgx.RowToStructByPos[search.Sample], sqlSearchSamples, ids, maxSampleText)
	if err != nil {
		return err
	}
	more := ranking.Learn(samples)
	largest := s.snapshot.Largest()
	few := slices.DeleteFunc(slices.Clone(s.list), func(key segmentKey) bool { return !slices.Contains(largest, key.ID) })
	docs, err := s.docs(ctx, more.Unknown(), few)
	if err != nil {
		return err
	}
	more.Leave(docs, s.snapshot.Docs())
	for terms := more.Terms(); len(terms) > 0; terms = more.Terms() {
		read, err := s.read(ctx, terms)
		if err != nil {
			return err
		}
		if err := ranking.Expand(more, read); err != nil {
			return err
		}
	}
	return nil
}

// refine reads the positions that the order of the best answers depends on.
func (s *searching) refine(ctx context.Context, ranking *search.Ranking) error {
	needs := s.affordable(ranking.Near())
	read := make([]search.Posted, 0, len(needs))
	var terms, firsts []string
	var segments []int64
	for _, n := range needs {
		if f := s.found[n]; f.positions != nil {
			read = append(read, search.Posted{Term: n.Term, Segment: n.Segment, Positions: f.positions})
		} else {
			terms, segments, firsts = append(terms, n.Term), append(segments, n.Segment), append(firsts, f.first)
		}
	}
	if len(terms) == 0 {
		return ranking.Refine(read)
	}
	rows, _ := s.tx.Query(ctx, sqlSearchPositions, terms, segments, firsts)
	var p search.Posted
	var positions lent
	_, err := pgx.ForEachRow(rows, []any{&p.Term, &p.Segment, &positions}, func() error {
		f := s.found[search.Need{Term: p.Term, Segment: p.Segment}]
		at, err := search.Block{Positions: positions}.PositionsAt(f.place)
		if err != nil {
			return unreadable(p, err)
		}
		f.positions = bytes.Clone(at)
		s.keep(p.Term, f.of, f.keptTerm)
		p.Positions = f.positions
		read = append(read, p)
		return nil
	})
	if err != nil {
		return err
	}
	return ranking.Refine(read)
}

// affordable are the needs whose blocks have the fewest bytes of positions, up to maxPositions together.
func (s *searching) affordable(needs []search.Need) []search.Need {
	slices.SortFunc(needs, func(a, b search.Need) int {
		return cmp.Or(cmp.Compare(s.found[a].size.Positions, s.found[b].size.Positions), cmp.Compare(a.Term, b.Term),
			cmp.Compare(a.Segment, b.Segment))
	})
	sum := int64(0)
	for i, n := range needs {
		if sum += s.found[n].size.Positions; sum > maxPositions {
			return needs[:i]
		}
	}
	return needs
}

// withTerm adds a term to rows, if the block that begins with a term has it.
func (s *searching) withTerm(rows []search.Posted, t sought, first string, b search.Block) ([]search.Posted, error) {
	p := search.Posted{Term: t.Term, Segment: t.Segment}
	found, place, err := b.Find(t.Term)
	if err != nil {
		return rows, unreadable(p, err)
	}
	k := keptTerm{size: t.size}
	if place >= 0 {
		k.inBlock, k.postings, k.positions = inBlock{first, place}, bytes.Clone(found.Postings), bytes.Clone(found.Positions)
		s.found[t.Need] = foundTerm{t.of, k}
		p.Postings, p.Positions = k.postings, k.positions
		rows = append(rows, p)
	}
	s.keep(t.Term, t.of, k)
	return rows, nil
}

func unreadable(p search.Posted, err error) error {
	return fmt.Errorf("read term %q of segment %d: %w", p.Term, p.Segment, err)
}

// show reads what is shown of answers. A page that was deleted is left out.
func (s *searching) show(ctx context.Context, ranked []search.Ranked) ([]search.Hit, error) {
	hits := make([]search.Hit, 0, len(ranked))
	if len(ranked) == 0 {
		return hits, nil
	}
	place := make(map[int64]search.Ranked, len(ranked))
	ids := make([]int64, len(ranked))
	for i, r := range ranked {
		ids[i], place[r.ID] = r.ID, r
	}
	rows, _ := s.tx.Query(ctx, sqlSearchShown, ids, maxShownText)
	var h search.Hit
	var about, text string
	_, err := pgx.ForEachRow(rows, []any{
		&h.ID, &h.URL, &h.Site, &h.Title, &about, &h.Language, &h.Type, &h.CrawledAt, &text,
	}, func() error {
		r := place[h.ID]
		h.CrawledAt, h.Score, h.All, h.Duplicates = h.CrawledAt.UTC(), r.Score, r.All, r.Duplicates
		h.Marks = search.Mark(h.Title, s.marked, h.Language)
		h.Snippet = search.Snip(h.Title, about, text, s.marked, h.Language)
		hits = append(hits, h)
		return nil
	})
	slices.SortFunc(hits, func(a, b search.Hit) int {
		return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID))
	})
	return hits, err
}
