-- +goose Up
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The pages that can be searched: the store of record, whatever the engine.
CREATE TABLE pages (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url_key      uuid        NOT NULL, -- the first 16 bytes of the SHA-256 of url
    revision     bigint      NOT NULL DEFAULT 1, -- grows with each version that is stored
    doc          bigint, -- its number in the index; null = not there
    doc_revision bigint, -- of the version that is in the index
    crawled_at   timestamptz NOT NULL,
    stored_at    timestamptz NOT NULL,
    status_code  int         NOT NULL,
    language     text        NOT NULL, -- ISO 639-1; '' = unknown
    type         text        NOT NULL,
    site         text        NOT NULL,
    url          text        NOT NULL,
    title        text        NOT NULL,
    description  text        NOT NULL,
    headings     text[]      NOT NULL,
    text         text COMPRESSION lz4 NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX pages_url ON pages (url_key);
-- A site and its subdomains are a range.
CREATE INDEX pages_site ON pages (reverse(site) COLLATE "C", id);

-- Messages that are being stored, and those that never can be.
CREATE TABLE page_inbox (
    key         uuid        PRIMARY KEY, -- the first 16 bytes of the SHA-256 of body
    received_at timestamptz NOT NULL,
    error       text, -- why it can never be stored
    body        bytea COMPRESSION lz4 NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
CREATE INDEX page_inbox_received ON page_inbox (received_at);

-- The numbers of documents: each version of a page that is indexed has one of its own.
CREATE SEQUENCE search_documents AS bigint MAXVALUE 4294967295;

-- The parts of the index. A row is written once and never changed.
CREATE TABLE search_segments (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection smallint    NOT NULL, -- 1 = pages
    level      smallint    NOT NULL, -- 0 = as written; those of a level become one of the next
    docs       int         NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    columns    bytea NOT NULL, -- the documents
    kills      bytea NOT NULL -- numbers of documents, mostly of older segments, that are void
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- Compressing them again gains nothing.
ALTER TABLE search_segments ALTER columns SET STORAGE EXTERNAL, ALTER kills SET STORAGE EXTERNAL;

-- The documents that have a term, some terms to a row. A segment is written, read by merges and deleted as a whole; so
-- its rows stand together, and the key grows at its end.
CREATE TABLE search_postings (
    segment   bigint NOT NULL,
    term      text COLLATE "C" NOT NULL, -- the first one
    last      text COLLATE "C" NOT NULL,
    postings  bytea NOT NULL,
    positions bytea NOT NULL,
    PRIMARY KEY (segment, term)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_insert_scale_factor = 0.2);
-- Terms that many documents have are rows of their own: the common words, for prefixes that many words have.
CREATE INDEX search_postings_common ON search_postings (segment, term) WHERE term = last;
ALTER TABLE search_postings ALTER postings SET STORAGE EXTERNAL, ALTER positions SET STORAGE EXTERNAL;

-- The words of all segments, for prefixes and typos.
CREATE TABLE search_terms (
    term text COLLATE "C" PRIMARY KEY
);
CREATE INDEX search_terms_trgm ON search_terms USING gin (term gin_trgm_ops) WITH (gin_pending_list_limit = 512);

-- +goose Down
DROP TABLE search_terms, search_postings, search_segments, page_inbox, pages;
DROP SEQUENCE search_documents;
