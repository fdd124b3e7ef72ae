-- +goose NO TRANSACTION
-- +goose Up
-- Row-level security keeps the operators of arrays from an index, so a person was looked for in the refused rows of all
-- tenants. A row has a phone, an address, both or none.
CREATE INDEX CONCURRENTLY IF NOT EXISTS upload_errors_person ON upload_errors ((persons[1]));
CREATE INDEX CONCURRENTLY IF NOT EXISTS upload_errors_person_too ON upload_errors ((persons[2]));
DROP INDEX CONCURRENTLY IF EXISTS upload_errors_persons;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS upload_errors_persons ON upload_errors USING gin (persons);
DROP INDEX CONCURRENTLY IF EXISTS upload_errors_person_too;
DROP INDEX CONCURRENTLY IF EXISTS upload_errors_person;
