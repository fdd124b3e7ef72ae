-- +goose Up
-- The words of a listing as the search engine has them (domain/search): title A, description B, address C. NULL in rows
-- from before, until a worker has filled them; those are found by the column search. The release after the one in which
-- no row is NULL drops that column, search_text, listings_unfilled and listings_unfilled_search.
ALTER TABLE listings ADD COLUMN words tsvector;

-- An update that changes a text and not its words, as one of the release before does, has them filled again.
-- +goose StatementBegin
CREATE FUNCTION listings_words_void() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.words := NULL;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER listings_words_void BEFORE UPDATE OF title, description, address, neighbourhood ON listings
    FOR EACH ROW
    WHEN ((NEW.title, NEW.description, NEW.address, NEW.neighbourhood)
            IS DISTINCT FROM (OLD.title, OLD.description, OLD.address, OLD.neighbourhood)
        AND NEW.words IS NOT DISTINCT FROM OLD.words)
    EXECUTE FUNCTION listings_words_void();

-- +goose Down
DROP TRIGGER listings_words_void ON listings;
DROP FUNCTION listings_words_void();
ALTER TABLE listings DROP COLUMN words;
