package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// fewAnswers is how many pages with a word are so few that it may be misspelt.
const fewAnswers = 5

const (
	maxPrefixes    = 4  // of a query; others stand for themselves alone
	maxPrefixWords = 64 // that the prefixes of a query stand for: the commonest
)

// The beginnings of blocks of several terms that may have some from $2 to below $3, up to $5 of a segment and range.
// The block before may have the first of them.
const sqlSearchBeginning = `/* sqlSearchBeginning */
SELECT p.segment, substring(p.postings FROM 1 FOR $4)
FROM search_segments s CROSS JOIN unnest($2::text[], $3::text[]) AS r(low, high) CROSS JOIN LATERAL (
    SELECT * FROM search_postings WHERE segment = s.id AND term < r.high AND last >= r.low AND term < last
        AND term >= coalesce((
            SELECT term FROM search_postings WHERE segment = s.id AND term <= r.low ORDER BY term DESC LIMIT 1), '')
    ORDER BY term LIMIT $5) p
WHERE s.collection = $1`

// The same of blocks of one term, mostly common ones: the largest, as the term of a large one is in many documents.
const sqlSearchBeginningCommon = `/* sqlSearchBeginningCommon */
SELECT p.segment, substring(p.postings FROM 1 FOR $4)
FROM search_segments s CROSS JOIN unnest($2::text[], $3::text[]) AS r(low, high) CROSS JOIN LATERAL (
    SELECT * FROM search_postings WHERE segment = s.id AND term >= r.low AND term < r.high AND term = last
    ORDER BY octet_length(postings) DESC LIMIT $5) p
WHERE s.collection = $1`

// maxBlocks is how many blocks of a segment are looked at for a prefix. Only a prefix of one or two letters has more,
// and of those the common words are enough.
const maxBlocks = 200

// beginning returns the commonest words with a prefix, up to most, and in about how many documents they are.
func (x *SearchIndex) beginning(
	ctx context.Context, tx pgx.Tx, prefix string, most int,
) (words []string, docs map[string]int, err error) {
	low, high := wordRanges(prefix)
	docs = map[string]int{}
	for _, statement := range []string{sqlSearchBeginningCommon, sqlSearchBeginning} {
		rows, _ := tx.Query(ctx, statement, x.collection, low, high, search.Head, maxBlocks)
		var segment int64
		var b search.Block
		_, err := pgx.ForEachRow(rows, []any{&segment, &b.Postings}, func() error {
			return b.Counts(prefix, func(term string, n int) {
				if !search.IsStem(term) {
					docs[term] += n
				}
			})
		})
		if err != nil {
			return nil, nil, err
		}
		if len(docs) >= most {
			break
		}
	}
	words = slices.Collect(maps.Keys(docs))
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(docs[b], docs[a]), cmp.Compare(a, b))
	})
	return words[:min(len(words), most)], docs, nil
}

// wordRanges are the ranges of terms, from low to below high, that begin with a prefix and are words.
func wordRanges(prefix string) (low, high []string) {
	from := prefix
	for _, stems := range search.StemPrefixes {
		if strings.HasPrefix(stems, prefix) {
			low, high = append(low, from), append(high, stems)
			from = stems[:len(stems)-1] + ";" // what follows ":"
		}
	}
	return append(low, from), append(high, prefix+string(utf8.MaxRune))
}

// A fix is a word that was probably misspelt, and what was probably meant, the likeliest first; or the one word that
// pages have for it and its neighbour; or the two words that they have in a row for it.
type fix struct {
	clause int
	words  []string
	whole  bool // the only one of words is this one and a neighbour
	apart  []string
}

func hasFix(fixes []fix, clause int) bool {
	return slices.ContainsFunc(fixes, func(f fix) bool { return f.clause == clause })
}

const sqlSearchSimilarity = `/* sqlSearchSimilarity */
SELECT set_config('pg_trgm.similarity_threshold', $1::text, true)`

const sqlSearchSpellings = `/* sqlSearchSpellings */
SELECT term FROM search_terms WHERE term % $1 AND length(term) BETWEEN $2 AND $3
ORDER BY similarity(term, $1) DESC LIMIT $4`

// What is tried for words that are misspelt.
const (
	maxFixedWords = 4 // of a query
	maxFixedLong  = 2 // of one with more than maxFixedAll words, which is answered well without one of them
	maxFixedAll   = 8
	maxSpellings  = 100
	maxFixes      = 3 // of a word
	// leastSimilarity is that of other spellings, as pg_trgm has it: below it, too many words have to be looked at.
	leastSimilarity = 0.2
	// commoner is how many times commoner another spelling must be than one that pages have.
	commoner = 20
)

// misspelt adds to fixes words of the query that hardly any page has, with words that are spelt nearly so, or, where no
// page has one, with those that begin so or are compounds of it. Where there is one, hardly any page has all words.
func (s *searching) misspelt(ctx context.Context, ranking *search.Ranking, fixes []fix) ([]fix, error) {
	tried, most, words := 0, maxFixedWords, s.plan.Words()
	if len(words) > maxFixedAll {
		most = maxFixedLong
	}
	for _, clause := range words {
		word := s.ask.Clauses[clause].Words[0]
		edits, found := search.Typos(word), ranking.Found(clause)
		if edits == 0 || found < 0 || found >= fewAnswers || tried == most || hasFix(fixes, clause) {
			continue
		}
		tried++
		n := utf8.RuneCountInString(word)
		// A word that is less similar has more typing errors. It is rounded, and the server's is a float of four bytes.
		similar := max(leastSimilarity, search.Similarity(word, edits)-0.001)
		if _, err := s.tx.Exec(ctx, sqlSearchSimilarity, strconv.FormatFloat(similar, 'f', 3, 64)); err != nil {
			return nil, err
		}
		near, err := db.Rows(ctx, s.tx, pgx.RowTo[string], sqlSearchSpellings, word, n-edits, n+edits, maxSpellings)
		if err != nil {
			return nil, err
		}
		distance := make(map[string]int, len(near))
		near = slices.DeleteFunc(near, func(w string) bool {
			if distance[w] = search.Edits(word, w, edits); distance[w] > edits && search.Alike(word, w) {
				distance[w] = edits
			}
			return distance[w] == 0 || distance[w] > edits
		})
		if len(near) == 0 && found == 0 {
			if fixes, err = s.begun(ctx, fixes, clause); err != nil {
				return nil, err
			}
		}
		if len(near) == 0 {
			continue
		}
		docs, err := s.docs(ctx, append(near, word), s.list)
		if err != nil {
			return nil, err
		}
		if s.ask.Clauses[clause].Title { // found are those with it in the title, docs those with it anywhere
			found = max(found, docs[word])
		}
		near = slices.DeleteFunc(near, func(w string) bool { return found >= fewAnswers || docs[w] <= found*commoner })
		slices.SortFunc(near, func(a, b string) int {
			return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(docs[b], docs[a]), cmp.Compare(a, b))
		})
		if len(near) > 0 {
			fixes = append(fixes, fix{clause: clause, words: near[:min(len(near), maxFixes)]})
		}
	}
	return fixes, nil
}

// The words with $1 behind at least $3 letters, and one of the endings $2 behind it.
const sqlSearchWithin = `/* sqlSearchWithin */
SELECT t.term FROM unnest($2::text[]) AS e(ending) CROSS JOIN LATERAL (
    SELECT term FROM search_terms
    WHERE reverse(term) >= reverse($1 || e.ending) AND reverse(term) < reverse($1 || e.ending) || U&'\+10FFFF'
        AND length(term) >= length($1 || e.ending) + $3 LIMIT $4) t
ORDER BY length(t.term), t.term LIMIT $5`

// What a compound is whose last part is a word: paris is no part of comparison, light none of delight.
const (
	leastWithin = 5   // letters of the last part
	leastBefore = 4   // letters before it
	maxEnding   = 200 // compounds that are looked at, of each ending
	maxWithin   = 50  // of all: the dictionary has some whose pages are gone
)

// endings are those of the last part of a compound, in the languages that have many.
var endings = append(strings.Fields("a e m n r s t ar em en er es et je na ne or se"), "")

// begun adds to fixes the words that begin with that of a clause, which no page has, or else compounds of which it is
// the last part: schraube of Terrassenschrauben.
func (s *searching) begun(ctx context.Context, fixes []fix, clause int) ([]fix, error) {
	word := s.ask.Clauses[clause].Words[0]
	longer, _, err := s.beginning(ctx, s.tx, word, maxFixes+1)
	longer = slices.DeleteFunc(longer, func(w string) bool { return w == word }) // of pages that are gone
	if err == nil && len(longer) == 0 && search.Spellable(word) && utf8.RuneCountInString(word) >= leastWithin {
		longer, err = s.within(ctx, word)
	}
	if len(longer) > 0 {
		fixes = append(fixes, fix{clause: clause, words: longer[:min(len(longer), maxFixes)]})
	}
	return fixes, err
}

// within are compounds that pages have of which a word is the last part, the shortest first.
func (s *searching) within(ctx context.Context, word string) ([]string, error) {
	longer, err := db.Rows(ctx, s.tx, pgx.RowTo[string], sqlSearchWithin, word, endings, leastBefore, maxEnding, maxWithin)
	if err != nil || len(longer) == 0 {
		return nil, err
	}
	docs, err := s.docs(ctx, longer, s.list)
	return slices.DeleteFunc(longer, func(w string) bool { return docs[w] == 0 }), err
}

// The beginnings of the blocks that may have the terms $1 of the segments $2; $3 are the starts before the terms.
const sqlSearchCounts = `/* sqlSearchCounts */
SELECT n.term, substring(p.postings FROM 1 FOR $4)
FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n(term, segment, start) CROSS JOIN LATERAL (
    SELECT * FROM search_postings WHERE segment = n.segment AND term >= n.start AND term <= n.term
    ORDER BY term DESC LIMIT 1) p
WHERE p.last >= n.term`

// docs is how many documents of some segments have each of these words, void ones too.
func (s *searching) docs(ctx context.Context, words []string, list []segmentKey) (map[string]int, error) {
	docs := make(map[string]int, len(words))
	missing, kept := s.takeKept(s.segments.lookups(words, list), nil, nil, map[string]search.Size{})
	for _, k := range kept {
		docs[k.Term] += search.Documents(k.Postings)
	}
	if len(missing) == 0 {
		return docs, nil
	}
	terms, of, from := columnsOf(missing)
	rows, _ := s.tx.Query(ctx, sqlSearchCounts, terms, of, from, search.Head)
	var word string
	var postings lent
	_, err := pgx.ForEachRow(rows, []any{&word, &postings}, func() error {
		return search.Block{Postings: postings}.Counts(word, func(term string, n int) {
			if term == word {
				docs[word] += n
			}
		})
	})
	return docs, err
}

// reworded is a query with the likeliest word in place of each that was misspelt; "" = none was.
func reworded(a search.Ask, fixes []fix) string {
	a.Clauses = slices.Clone(a.Clauses)
	fixed := false
	for _, f := range fixes {
		if len(f.words) > 0 && !f.whole {
			a.Reword(f.clause, f.words[0])
			fixed = true
		}
	}
	if !fixed {
		return ""
	}
	return a.String()
}

// withFixes is a query whose answers have other words, too, in place of those that were misspelt.
func withFixes(a search.Ask, fixes []fix) search.Ask {
	a.Clauses = slices.Clone(a.Clauses)
	for _, f := range fixes {
		title := a.Clauses[f.clause].Title
		for _, w := range f.words {
			a.Clauses = append(a.Clauses, search.Clause{Words: []string{w}, Title: title})
		}
		if f.apart != nil {
			a.Clauses = append(a.Clauses, search.Clause{Words: f.apart, Phrase: true, Title: title})
		}
	}
	return a
}

// Suggest returns up to most ways in which the last word of a text may go on, the commonest first.
func (x *SearchIndex) Suggest(ctx context.Context, text string, most int) (words []string, err error) {
	prefix := search.LastWord(text)
	if prefix == "" || most < 1 {
		return nil, nil
	}
	err = db.TxWith(ctx, x.pool, readOnly, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlSearchPlan); err != nil {
			return err
		}
		words, _, err = x.beginning(ctx, tx, db.Storable(prefix), most)
		return err
	})
	return words, fault.Wrap(err, "suggest words")
}
