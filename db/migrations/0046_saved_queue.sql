-- +goose Up
-- What can be news: a listing that is created, priced anew, or offered again.
CREATE TRIGGER saved_enqueue AFTER INSERT ON listing_events FOR EACH ROW
    WHEN (NEW.kind <> 'status' OR NEW.old_status = 'archived' AND NEW.new_status = 'active')
    EXECUTE FUNCTION saved_enqueue();

-- +goose Down
DROP TRIGGER saved_enqueue ON listing_events;
