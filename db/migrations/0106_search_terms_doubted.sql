-- +goose Up
-- Words of search_terms that a merge of segments found in no document that lives. Those that no segment has a day later
-- are forgotten.
CREATE TABLE search_terms_doubted (
    term  text COLLATE "C" PRIMARY KEY,
    since timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX search_terms_doubted_since ON search_terms_doubted (since);

-- +goose Down
DROP TABLE search_terms_doubted;
