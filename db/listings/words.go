package listings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/domain/search"
)

// Lexemes of the column words that are no words: one of all listings; one of all in a language; stems, which a prefix
// must not find; the words and stems of the title once more, as an index and the planner know no weights. No word
// begins with these signs, and none has a single colon.
const (
	lexemeAll  = ":"
	titleSign  = "^"
	signOfStem = ":"
)

func lexemeOf(language string) string { return ":" + language }

// lexeme is how a term is written.
func lexeme(term string, title bool) string {
	if len(term) > 3 && term[2] == ':' && term[3] != ':' {
		term = signOfStem + term
	}
	if title {
		term = titleSign + term
	}
	return term
}

// Bounds below those of Postgres: 16,383 positions in a tsvector, 256 of one lexeme, 1 MiB.
const (
	mostWordPositions = 16_000
	mostWordRepeats   = 255
	mostWordBytes     = 256 << 10
	wordGap           = 10 // positions between fields
)

// A listingText is what a listing is found by.
type listingText struct{ title, description, address, neighbourhood string }

// words is the column of that name, as text: the title has weight A, the description B, the address C. What is beyond
// the bounds of a tsvector is left out.
func (t listingText) words() string {
	languages := search.Languages(t.title + "\n" + t.description)
	at := map[string][]byte{lexemeAll: nil}
	for _, l := range languages {
		at[lexemeOf(l)] = nil
	}
	base, size := int32(1), 0
	add := func(key string, position int32, weight byte) {
		list, known := at[key]
		if !known {
			size += len(key) + 8
		}
		if bytes.Count(list, []byte{','}) == mostWordRepeats-1 {
			return
		}
		if len(list) > 0 {
			list = append(list, ',')
		}
		at[key] = append(strconv.AppendInt(list, int64(position), 10), weight)
		size += 2
	}
	for _, f := range []struct {
		text   string
		weight byte
	}{{t.title, 'A'}, {t.address, 'C'}, {t.neighbourhood, 'C'}, {t.description, 'B'}} {
		last := int32(-1)
		search.Terms(f.text, languages, func(term string, position int32) bool {
			last = position
			if base+position > mostWordPositions || size > mostWordBytes {
				return false
			}
			add(lexeme(term, false), base+position, f.weight)
			if f.weight == 'A' {
				add(lexeme(term, true), base+position, f.weight)
			}
			return true
		})
		if last >= 0 {
			base += last + 1 + wordGap
		}
	}
	var b strings.Builder
	for term, list := range at {
		b.WriteString(quoteLexeme(term))
		if len(list) > 0 {
			b.WriteByte(':')
			b.Write(list)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

var lexemeQuotes = strings.NewReplacer(`'`, `''`, `\`, `\\`)

func quoteLexeme(term string) string { return "'" + lexemeQuotes.Replace(term) + "'" }

// A textQuery is a text to search listings by.
type textQuery struct {
	conditions []search.Condition
	words      string // tsquery on the column words
	unfilled   string // tsquery on the column search, of listings whose words are not filled yet: no stems
	without    string // tsquery on either that must not match; "" = none
}

// parseText reads a query of listings, as saved.Conditions does.
func parseText(text string) (q textQuery, err error) {
	if q.conditions, err = saved.Conditions(text); err != nil {
		return q, err
	}
	var words, unfilled, without []string
	positive := false
	for i := range q.conditions {
		c := &q.conditions[i]
		positive = positive || !c.Not
		if c.Not && c.Phrase { // the planner would take it for as common as its words are together
			without = append(without, tsquery(c, c.Title, false))
			continue
		}
		sign := ""
		if c.Not {
			sign = "!"
		}
		words = append(words, sign+tsquery(c, c.Title, false))
		unfilled = append(unfilled, sign+tsquery(c, false, true))
	}
	if !positive { // or the index would be read whole
		words, unfilled = append(words, quoteLexeme(lexemeAll)), append(unfilled, "!"+quoteLexeme(lexemeAll))
	}
	q.words, q.unfilled = strings.Join(words, " & "), strings.Join(unfilled, " & ")
	q.without = strings.Join(without, " | ")
	return q, nil
}

// tsquery is a condition in Postgres' syntax, without its negation. signed is by the lexemes of titles, and not by
// weight; exact leaves the stems out.
func tsquery(c *search.Condition, signed, exact bool) string {
	suffix := ""
	if c.Prefix {
		suffix = "*"
	}
	if c.Title && !signed {
		suffix += "A"
	}
	if suffix != "" {
		suffix = ":" + suffix
	}
	var terms []string
	for _, t := range c.Terms {
		if exact && !t.Exact {
			continue
		}
		term := quoteLexeme(lexeme(t.Text, signed)) + suffix
		if t.Language != "" {
			term = "(" + term + " & " + quoteLexeme(lexemeOf(t.Language)) + ")"
		}
		terms = append(terms, term)
	}
	between := " | "
	if c.Phrase {
		between = " <-> "
	}
	return "(" + strings.Join(terms, between) + ")"
}

// decodeWords reads what a query needs of a tsvector in its binary form: the terms of its conditions, and how long the
// fields are.
func decodeWords(b []byte, conditions []search.Condition) (search.Found, error) {
	var d search.Found
	if b == nil { // not filled yet
		return d, nil
	}
	broken := errors.New("read words of a listing: unknown form")
	if len(b) < 4 {
		return d, broken
	}
	n := int(binary.BigEndian.Uint32(b))
	b = b[4:]
	var first, last [4]int32 // by weight: D, C, B, A
	for range n {
		end := bytes.IndexByte(b, 0)
		if end < 0 || len(b) < end+3 {
			return d, broken
		}
		term, count := b[:end], int(binary.BigEndian.Uint16(b[end+1:]))
		if b = b[end+3:]; len(b) < 2*count {
			return d, broken
		}
		var found *search.FoundTerm
		switch {
		case count == 0 && len(term) == 3:
			d.Languages = append(d.Languages, string(term[1:]))
		case wanted(term, conditions):
			if term[0] == ':' {
				term = term[1:]
			}
			d.Terms = append(d.Terms, search.FoundTerm{Text: string(term)})
			found = &d.Terms[len(d.Terms)-1]
		}
		for i := range count {
			v := binary.BigEndian.Uint16(b[2*i:])
			weight, at := v>>14, int32(v&(1<<14-1))
			last[weight] = max(last[weight], at)
			if first[weight] == 0 || at < first[weight] {
				first[weight] = at
			}
			if found == nil {
				continue
			}
			switch weight {
			case 3:
				found.Title = append(found.Title, at)
			case 2:
				found.Body = append(found.Body, at)
			case 1:
				found.Address = append(found.Address, at)
			}
		}
		b = b[2*count:]
	}
	length := func(weight int) int {
		if last[weight] == 0 {
			return 0
		}
		return int(last[weight]-first[weight]) + 1
	}
	d.Title, d.Body, d.Address = length(3), length(2), length(1)
	return d, nil
}

// wanted says that a condition names a lexeme.
func wanted(lexeme []byte, conditions []search.Condition) bool {
	if len(lexeme) > 0 && lexeme[0] == ':' {
		lexeme = lexeme[1:]
	}
	for i := range conditions {
		c := &conditions[i]
		if c.Not {
			continue
		}
		for _, t := range c.Terms {
			if string(lexeme) == t.Text || c.Prefix && len(lexeme) > len(t.Text) && string(lexeme[:len(t.Text)]) == t.Text {
				return true
			}
		}
	}
	return false
}

// mostRanked is how many listings are ranked, the newest first: those beyond are not shown in the order of relevance.
const mostRanked = 1000

// FindWords finds up to most listings by words, the newest first. A text that has none, or that is no search, finds
// none.
func (s *Listings) FindWords(ctx context.Context, text string, most int) (out []db.Found, err error) {
	found, _, err := s.Search(ctx, ListingFilter{Text: text, Sort: Newest, Limit: most})
	if class, _ := fault.Of(err); err != nil && class != fault.Invalid {
		return nil, err
	}
	for _, l := range found {
		out = append(out, db.Found{ID: l.ID.String(), Title: l.Title, State: l.Status})
	}
	return out, nil
}

// scaleBytes writes a scale; scaleOf reads it as all pages use it.
func scaleBytes(s search.Scale) []byte {
	var b []byte
	for _, mean := range []float32{s.Title, s.Address, s.Body} {
		b = binary.BigEndian.AppendUint16(b, uint16(min(mean+0.5, 65_535)))
	}
	for _, w := range s.Weights {
		b = append(b, byte(min(w*16+0.5, 255)))
	}
	return b
}

func scaleOf(b []byte) (s search.Scale) {
	for i, mean := range []*float32{&s.Title, &s.Address, &s.Body} {
		*mean = float32(binary.BigEndian.Uint16(b[2*i:]))
	}
	for _, w := range b[6:] {
		s.Weights = append(s.Weights, float32(w)/16)
	}
	return s
}

const sqlListingsMatch = `/* sqlListingsMatch */
SELECT id, published_at, words FROM (` + sqlListingFilter + `(published_at, id) < ($14::timestamptz, $13::uuid))
    ORDER BY published_at DESC, id DESC LIMIT $15) l`

const sqlListingsMatchPlan = `/* sqlListingsMatchPlan */ EXPLAIN (FORMAT JSON) ` + sqlListingsMatch

const sqlSummaries = `/* sqlSummaries */ ` + sqlSummary + `SELECT * FROM listings WHERE id = ANY ($1)` + sqlSummaryEnd

// What the last ANALYZE has seen of the column words; nothing before the first.
const sqlWordShares = `/* sqlWordShares */
SELECT most_common_elems::text::text[], most_common_elem_freqs FROM pg_stats
WHERE (schemaname, tablename) = (SELECT relnamespace::regnamespace::text, relname FROM pg_class
        WHERE oid = 'listings'::regclass) AND attname = 'words' AND most_common_elems IS NOT NULL`

// A rankedListing is a listing that matches, and its place.
type rankedListing struct {
	id    uuid.UUID
	at    time.Time
	found search.Found
	score float32
}

// compare puts the better listing first, of two that score the same the newer one.
func (r *rankedListing) compare(o *rankedListing) int {
	return cmp.Or(cmp.Compare(o.score, r.score), o.at.Compare(r.at), bytes.Compare(o.id[:], r.id[:]))
}

// rank reads the newest listings that match, at most mostRanked, and returns those of the page after f.After, one more
// than fit, in order. args are those of sqlListingFilter.
func (q *textQuery) rank(ctx context.Context, tx pgx.Tx, f ListingFilter, args []any) (
	page []rankedListing, place db.RankPosition, err error,
) {
	if after := f.After; after != nil && after.Rank != nil {
		place = *after.Rank
	}
	common, shares, err := wordShares(ctx, tx)
	if err != nil {
		return nil, place, err
	}
	all, err := q.matches(ctx, tx, place, args, q.rare(common))
	if err != nil || len(all) == 0 {
		return nil, place, err
	}
	if place.Until.IsZero() {
		place.Until = all[0].at
	}
	if len(place.Scale) != 6+len(q.conditions) {
		place.Scale = scaleBytes(q.scale(common, shares, all))
	}
	scale := scaleOf(place.Scale)
	for i := range all {
		all[i].score = scale.Score(q.conditions, &all[i].found)
	}
	slices.SortFunc(all, func(a, b rankedListing) int { return a.compare(&b) })
	if after := f.After; after != nil {
		last := rankedListing{id: after.ID, at: after.At, score: place.Score}
		n, _ := slices.BinarySearchFunc(all, last, func(a, b rankedListing) int { return a.compare(&b) })
		for n < len(all) && all[n].compare(&last) <= 0 {
			n++
		}
		all = all[n:]
	}
	return all[:min(len(all), f.Limit+1)], place, nil
}

// matches reads the newest listings that match, each once. In the order of the answer it is given half a second, as by
// searchText: what it has found by then stays, and the rest is found by words first, or in that order where that goes
// on fast. A plan that finds all of them before it sorts is by words first, and may take as long as it takes.
func (q *textQuery) matches(ctx context.Context, tx pgx.Tx, place db.RankPosition, args []any, first bool) (
	all []rankedListing, err error,
) {
	args = slices.Clone(args)
	args[12], args[13], args[14] = nil, nil, mostRanked
	if !place.Until.IsZero() {
		args[12], args[13] = uuid.Max, place.Until
	}
	if !first {
		var plan []byte
		if err := tx.QueryRow(ctx, sqlListingsMatchPlan, args...).Scan(&plan); err != nil {
			return nil, err
		}
		first = bytes.Contains(plan, []byte(`"Node Type": "Sort"`))
	}
	for {
		some, err := q.matchesIn(ctx, tx, args, first)
		if all = append(all, some...); first || !late(err) {
			return all, err
		}
		if len(some) > 0 {
			last := some[len(some)-1]
			args[12], args[13], args[14] = last.id, last.at, mostRanked-len(all)
		}
		first = 4*len(some) < mostRanked-len(all) // so that it takes two seconds more at most
	}
}

// matchesIn reads listings that match, of which some are returned where it fails. The settings of a plan that finds the
// words first, or is to be patient, hold for nothing else.
func (q *textQuery) matchesIn(ctx context.Context, tx pgx.Tx, args []any, first bool) (
	some []rankedListing, err error,
) {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, savepoint.Rollback(ctx)) }()
	settings := sqlTextPatience
	if first {
		settings = sqlTextFirst
	}
	if _, err := savepoint.Exec(ctx, settings); err != nil {
		return nil, err
	}
	formats := pgx.QueryResultFormats{pgx.BinaryFormatCode, pgx.BinaryFormatCode, pgx.BinaryFormatCode}
	rows, err := savepoint.Query(ctx, sqlListingsMatch, append([]any{formats}, args...)...)
	if err != nil {
		return nil, err
	}
	var r rankedListing
	_, err = pgx.ForEachRow(rows, []any{&r.id, &r.at, nil}, func() (err error) {
		r.found, err = decodeWords(rows.RawValues()[2], q.conditions)
		some = append(some, r)
		return err
	})
	return some, err
}

// scale is what the first page finds: how common words are among all listings, and how long those are that match.
func (q *textQuery) scale(common []string, shares []float32, all []rankedListing) (s search.Scale) {
	s.Weights = wordWeights(q.conditions, common, shares)
	for _, r := range all {
		s.Title += float32(r.found.Title)
		s.Address += float32(r.found.Address)
		s.Body += float32(r.found.Body)
	}
	n := float32(len(all))
	s.Title, s.Address, s.Body = s.Title/n, s.Address/n, s.Body/n
	return s
}

// wordShares are the commonest lexemes and the shares of listings that have them, as for wordWeights.
func wordShares(ctx context.Context, tx pgx.Tx) (common []string, shares []float32, err error) {
	err = tx.QueryRow(ctx, sqlWordShares).Scan(&common, &shares)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, fmt.Errorf("read how common words are: %w", err)
	}
	return common, shares, nil
}

// rare says that listings with a text must have a word that is not among the commonest lexemes.
func (q *textQuery) rare(common []string) bool {
	return len(common) > 0 && slices.ContainsFunc(q.conditions, func(c search.Condition) bool {
		return !c.Not && !slices.ContainsFunc(c.Terms, func(t search.Term) bool {
			key := lexeme(t.Text, c.Title)
			return slices.ContainsFunc(common, func(term string) bool {
				return term == key || c.Prefix && strings.HasPrefix(term, key)
			})
		})
	})
}

// wordWeights are the weights of conditions, by the shares of listings that have the commonest lexemes. shares has as
// many, and the least of them; any other lexeme has half of that, as Postgres' planner takes it. Without either all
// words are equal.
func wordWeights(conditions []search.Condition, common []string, shares []float32) (weights []float32) {
	const unknown = 0.01
	rare := float32(unknown)
	if len(shares) > len(common) {
		rare = shares[len(common)] / 2
	}
	of := make(map[string]float32, len(common))
	for i, term := range common[:min(len(common), len(shares))] {
		of[term] = shares[i]
	}
	for i := range conditions {
		c := &conditions[i]
		least, sum := float32(1), float32(0)
		for _, t := range c.Terms {
			share, known := of[lexeme(t.Text, c.Title)]
			if c.Prefix {
				for term, n := range of {
					if strings.HasPrefix(term, lexeme(t.Text, c.Title)) {
						share, known = min(share+n, 1), true
					}
				}
			}
			switch {
			case !known && c.Phrase:
				share = rare
			case !known:
				share = 0
			}
			least, sum = min(least, share), sum+share
		}
		if !c.Phrase {
			least = max(min(sum, 1), rare)
		}
		weights = append(weights, search.Weight(float64(least)))
	}
	return weights
}

const sqlListingsUnfilled = `/* sqlListingsUnfilled */
SELECT id, title, description, address, coalesce(neighbourhood, '') FROM listings WHERE words IS NULL AND id > $1
ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED`

const sqlListingsFill = `/* sqlListingsFill */
UPDATE listings l SET words = f.words::tsvector FROM unnest($1::uuid[], $2::text[]) f (id, words) WHERE l.id = f.id`

// FillWords fills the words of the next listings after the ID last that have none, at most n: those from before there
// was the column. Listings that are being written are passed over. next is the last one; uuid.Nil after the end. It may
// be repeated, and run beside itself.
func (s *Listings) FillWords(ctx context.Context, last uuid.UUID, n int) (next uuid.UUID, filled int, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlListingsUnfilled, last, n)
		var ids []uuid.UUID
		var words []string
		var id uuid.UUID
		var t listingText
		_, err := pgx.ForEachRow(rows, []any{&id, &t.title, &t.description, &t.address, &t.neighbourhood}, func() error {
			ids, words = append(ids, id), append(words, t.words())
			return nil
		})
		if filled = len(ids); err != nil || filled == 0 {
			return err
		}
		if filled == n {
			next = id
		}
		_, err = tx.Exec(ctx, sqlListingsFill, ids, words)
		return err
	})
	if err != nil {
		return last, 0, fmt.Errorf("fill words of listings: %w", err)
	}
	return next, filled, nil
}
