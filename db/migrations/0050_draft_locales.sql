-- +goose Up
ALTER TABLE draft_requests ADD COLUMN locale text NOT NULL DEFAULT ''; -- of the browser; '' = en-US

-- +goose Down
ALTER TABLE draft_requests DROP COLUMN locale;
