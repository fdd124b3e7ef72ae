package search

import (
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/search"
)

const sqlSearchKnown = `/* sqlSearchKnown */ SELECT term FROM search_terms WHERE term = ANY ($1)`

// maxParted is how many pages have words at most that are looked for in a row in place of one: where they stand is read
// of all of these.
const maxParted = 300_000

// maxTogether is how many pairs of words are looked for as one.
const maxTogether = 4

// together returns the words of the query that pages have as one with the next, where hardly any page has one of the
// two: web site.
func (s *searching) together(ctx context.Context, ranking *search.Ranking) (fixes []fix, err error) {
	var wholes []string
	var pairs []int
	for at := range s.ask.Clauses {
		whole := s.ask.Together(at)
		first, last := ranking.Found(at), ranking.Found(at+1)
		if whole != "" && first >= 0 && (first < fewAnswers || last >= 0 && last < fewAnswers) && len(pairs) < maxTogether {
			wholes, pairs = append(wholes, whole), append(pairs, at)
		}
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	docs, err := s.docs(ctx, wholes, s.list)
	for i, at := range pairs {
		for clause := at; clause < at+2 && docs[wholes[i]] > 0; clause++ {
			fixes = append(fixes, fix{clause: clause, words: wholes[i : i+1], whole: true})
		}
	}
	return fixes, err
}

// parted adds to fixes the words of the query that hardly any page has, but as several: redbull. Of the ways to part a
// word it is the one whose rarest part most pages have.
func (s *searching) parted(ctx context.Context, ranking *search.Ranking, fixes []fix) ([]fix, error) {
	tried := len(fixes)
	for _, clause := range s.plan.Words() {
		word, found := s.ask.Clauses[clause].Words[0], ranking.Found(clause)
		ways, code := search.Parts(word, found == 0), found == 0 && search.Code(word)
		if len(ways) == 0 && !code || found < 0 || found >= fewAnswers || tried >= maxFixedLong || hasFix(fixes, clause) {
			continue
		}
		tried++
		if len(ways) > 1 { // most are no words
			known, err := db.Rows(ctx, s.tx, pgx.RowTo[string], sqlSearchKnown, slices.Concat(ways...))
			if err != nil {
				return nil, err
			}
			ways = slices.DeleteFunc(ways, func(way []string) bool {
				return slices.ContainsFunc(way, func(w string) bool { return search.Spellable(w) && !slices.Contains(known, w) })
			})
		}
		docs, err := s.docs(ctx, slices.Concat(ways...), s.list)
		if err != nil {
			return nil, err
		}
		var best []string
		most := 0
		for _, way := range ways {
			rarest, sum := math.MaxInt, 0
			for _, w := range way {
				rarest, sum = min(rarest, docs[w]), sum+docs[w]
			}
			if rarest > most && sum <= maxParted {
				best, most = way, rarest
			}
		}
		if best != nil {
			fixes = append(fixes, fix{clause: clause, apart: best})
			continue
		}
		if code {
			if fixes, err = s.begun(ctx, fixes, clause); err != nil {
				return nil, err
			}
		}
	}
	return fixes, nil
}
