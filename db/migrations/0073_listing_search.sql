-- +goose Up
-- The column search is read only where words is NULL. It is made only there, and by a trigger, since an expression of a
-- generated column cannot be changed: a fifth of what it costs to save a listing. Rows keep what they have.
-- Its name puts it after listings_words_void, which sets words to NULL.
-- +goose StatementBegin
CREATE FUNCTION listings_words_without() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.search := search_text(NEW.title, NEW.description);
    RETURN NEW;
END $$;
-- +goose StatementEnd
ALTER TABLE listings ALTER COLUMN search DROP EXPRESSION;
CREATE TRIGGER listings_words_without BEFORE INSERT OR UPDATE ON listings
    FOR EACH ROW WHEN (NEW.words IS NULL) EXECUTE FUNCTION listings_words_without();

-- +goose Down
DROP TRIGGER listings_words_without ON listings;
DROP FUNCTION listings_words_without();
ALTER TABLE listings DROP COLUMN search;
ALTER TABLE listings ADD COLUMN search tsvector GENERATED ALWAYS AS (search_text(title, description)) STORED;
CREATE INDEX listings_unfilled_search ON listings USING gin (search) WHERE words IS NULL;
