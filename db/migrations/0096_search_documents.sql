-- +goose Up
-- The numbers of documents have eight bytes.
ALTER SEQUENCE search_documents NO MAXVALUE;

-- +goose Down
ALTER SEQUENCE search_documents MAXVALUE 4294967295;
