package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/cranfield"
)

// Common ways to search in Postgres and in Go, as measures for the search, over the same pages.
const (
	tsRank    = "yardstick: ts_rank"
	bleveName = "yardstick: Bleve"
)

// sqlTSRank are the pages as a tutorial indexes them: the title in front, a language a row, and a GIN index.
var sqlTSRank = []string{
	`CREATE TABLE yardstick_pages (id bigint PRIMARY KEY, tsv tsvector NOT NULL)`,
	`INSERT INTO yardstick_pages SELECT id,
    setweight(to_tsvector(c, title || ' ' || array_to_string(headings, ' ')), 'A') ||
    setweight(to_tsvector(c, left(description || ' ' || text, 500000)), 'D')
FROM pages, LATERAL (SELECT CASE language WHEN 'fr' THEN 'french' ELSE 'english' END::regconfig AS c) l`,
	`CREATE INDEX yardstick_pages_tsv ON yardstick_pages USING gin (tsv)`,
	`VACUUM ANALYZE yardstick_pages`,
}

const sqlTSRankFind = `
SELECT y.id, ts_rank(y.tsv, q) AS rank, p.url, p.title, left(p.text, 240), count(*) OVER () AS total
FROM yardstick_pages y JOIN pages p USING (id), websearch_to_tsquery('english', $1) q
WHERE y.tsv @@ q ORDER BY rank DESC LIMIT 10`

// tsRank measures Postgres' own text search.
func (s *searching) tsRank(ctx context.Context) error {
	began := time.Now()
	for _, sql := range sqlTSRank {
		if _, err := s.db.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%.40s: %w", sql, err)
		}
	}
	size, err := s.size(ctx, "yardstick_pages")
	if err != nil {
		return err
	}
	s.filled(Filled{Engine: tsRank, Pages: s.n, Seconds: time.Since(began).Seconds(), Bytes: size})
	for _, q := range pageQueries {
		if !q.plain {
			continue
		}
		err := s.measure(tsRank, q, 20, func(text string) (total int, err error) {
			rows, err := s.db.Query(ctx, sqlTSRankFind, text)
			if err != nil {
				return 0, err
			}
			defer rows.Close()
			for rows.Next() {
				if err := rows.Scan(nil, nil, nil, nil, nil, &total); err != nil {
					return 0, err
				}
			}
			return total, rows.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A bleveIndex is the pages in Bleve.
type bleveIndex struct{ bleve.Index }

// bleveFields are the weights of its fields.
var bleveFields = map[string]float64{"title": 3, "headings": 2, "text": 1}

// openBleve makes an index in a folder: English and French by the type of a document, positions for phrases, no copies
// of the text.
func openBleve(dir string) (bleveIndex, error) {
	m := bleve.NewIndexMapping()
	for _, analyzer := range []string{en.AnalyzerName, fr.AnalyzerName} {
		doc := bleve.NewDocumentStaticMapping()
		for name := range bleveFields {
			f := mapping.NewTextFieldMapping()
			f.Analyzer, f.Store, f.DocValues, f.IncludeInAll = analyzer, false, false, false
			doc.AddFieldMappingsAt(name, f)
		}
		m.AddDocumentMapping(analyzer, doc)
	}
	index, err := bleve.New(filepath.Join(dir, "pages.bleve"), m)
	return bleveIndex{index}, err
}

// A blevePage is a document of Bleve.
type blevePage struct {
	Title    string   `json:"title"`
	Headings []string `json:"headings"`
	Text     string   `json:"text"`
	language string
}

// Type implements mapping.Classifier.
func (p blevePage) Type() string {
	if p.language == "fr" {
		return fr.AnalyzerName
	}
	return en.AnalyzerName
}

// add indexes pages in one batch, with the numbers from first on as their IDs.
func (x bleveIndex) add(first int, docs []search.Document) error {
	batch := x.NewBatch()
	for i, d := range docs {
		page := blevePage{d.Title, d.Headings, d.Description + " " + d.Text, d.Language}
		if err := batch.Index(strconv.Itoa(first+i), page); err != nil {
			return err
		}
	}
	return x.Batch(batch)
}

// find returns the IDs of the best pages and how many there are: with all words, or with any.
func (x bleveIndex) find(ctx context.Context, text string, all bool, limit int) (ids []string, total int, err error) {
	var words []query.Query
	for w := range strings.FieldsSeq(text) {
		var in []query.Query
		for name, boost := range bleveFields {
			m := bleve.NewMatchQuery(w)
			m.SetField(name)
			m.SetBoost(boost)
			m.Analyzer = en.AnalyzerName
			in = append(in, m)
		}
		words = append(words, bleve.NewDisjunctionQuery(in...))
	}
	var q query.Query = bleve.NewDisjunctionQuery(words...)
	if all {
		q = bleve.NewConjunctionQuery(words...)
	}
	r, err := x.SearchInContext(ctx, bleve.NewSearchRequestOptions(q, limit, 0, false))
	if err != nil {
		return nil, 0, err
	}
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids, int(r.Total), nil //nolint:gosec // few
}

// bleve measures Bleve in process.
func (s *searching) bleve(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "conveyor-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	index, err := openBleve(dir)
	if err != nil {
		return err
	}
	defer index.Close()
	began, first := time.Now(), 0
	_, err = s.eachBatch(ctx, s.n, 1000, 1, func(_ context.Context, docs []search.Document) error {
		first += len(docs)
		return index.add(first-len(docs), docs)
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := pause(ctx, 10*time.Second); err != nil { // it merges its files in the background
		return err
	}
	size := 0.0
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += float64(info.Size())
		}
		return nil // a file that was merged meanwhile is gone
	})
	if err != nil {
		return err
	}
	s.filled(Filled{Engine: bleveName, Pages: s.n, Seconds: took.Seconds(), Bytes: size / float64(s.n)})
	for _, q := range pageQueries {
		if !q.plain {
			continue
		}
		err := s.measure(bleveName, q, 60, func(text string) (int, error) {
			_, total, err := index.find(ctx, text, true, 10)
			return total, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mostGraded is how many documents a ranking is graded by.
const mostGraded = 1000

// The collection as sqlTSRank has pages, and two ways to ask for it: all words, which few documents have of a question
// in a sentence, and any of them, where longer documents count less and titles as much as the rest, which ranks best.
const (
	sqlCranfieldTable = `CREATE TEMP TABLE yardstick_cranfield (id int PRIMARY KEY, tsv tsvector NOT NULL)`
	sqlCranfieldFill  = `
INSERT INTO yardstick_cranfield
SELECT id, setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', text), 'D')
FROM unnest($1::int[], $2::text[], $3::text[]) AS d(id, title, text)`
	sqlCranfieldAll = `
SELECT id FROM yardstick_cranfield, websearch_to_tsquery('english', $1) q
WHERE tsv @@ q ORDER BY ts_rank(tsv, q) DESC, id LIMIT $2`
	sqlCranfieldAny = `
SELECT id FROM yardstick_cranfield, CAST(replace(plainto_tsquery('english', $1)::text, ' & ', ' | ') AS tsquery) q
WHERE tsv @@ q ORDER BY ts_rank('{1, 1, 1, 1}', tsv, q, 1) DESC, id LIMIT $2`
)

// tsRankings rank a collection in Postgres, in a table of one connection, which done closes; none without a Postgres.
func tsRankings(ctx context.Context, c cranfield.Collection) (list []named, done func(), err error) {
	address := os.Getenv("DATABASE_URL")
	if address == "" {
		fmt.Fprintln(os.Stderr, "bench: DATABASE_URL is not set: the relevance of ts_rank is not measured")
		return nil, func() {}, nil
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	var ids []int
	var titles, texts []string
	for _, d := range c.Documents {
		ids, titles, texts = append(ids, d.Number), append(titles, d.Title), append(texts, d.Text)
	}
	done = func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	if _, err = conn.Exec(ctx, sqlCranfieldTable); err == nil {
		_, err = conn.Exec(ctx, sqlCranfieldFill, ids, titles, texts)
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("fill the table of ts_rank: %w", err)
	}
	by := func(sql string) ranking {
		return func(ctx context.Context, question string) ([]int, error) {
			rows, _ := conn.Query(ctx, sql, question, mostGraded)
			return pgx.CollectRows(rows, pgx.RowTo[int])
		}
	}
	return []named{{tsRank + ", all words", by(sqlCranfieldAll)}, {tsRank + ", any word", by(sqlCranfieldAny)}}, done, nil
}

// bleveRankings rank a collection by Bleve, with any of the words, in a folder that done removes.
func bleveRankings(_ context.Context, c cranfield.Collection) (list []named, done func(), err error) {
	dir, err := os.MkdirTemp("", "conveyor-bench-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	index, err := openBleve(dir)
	if err != nil {
		done()
		return nil, nil, err
	}
	done = func() { _, _ = index.Close(), os.RemoveAll(dir) }
	docs := make([]search.Document, len(c.Documents))
	for i, d := range c.Documents {
		docs[i] = search.Document{Title: d.Title, Text: d.Text, Language: "en"}
	}
	if err := index.add(0, docs); err != nil {
		done()
		return nil, nil, err
	}
	return []named{{bleveName + ", any word", func(ctx context.Context, question string) ([]int, error) {
		ids, _, err := index.find(ctx, question, false, mostGraded)
		if err != nil {
			return nil, err
		}
		out := make([]int, len(ids))
		for i, id := range ids {
			at, err := strconv.Atoi(id)
			if err != nil {
				return nil, err
			}
			out[i] = c.Documents[at].Number
		}
		return out, nil
	}}}, done, nil
}
