-- +goose Up
-- The trace of the transaction that wrote an event, as the W3C headers that its message gets. Writers say it once a
-- transaction, by settings; '' is an event that was not traced.
ALTER TABLE outbox
    ADD COLUMN traceparent text NOT NULL DEFAULT coalesce(current_setting('conveyor.traceparent', true), ''),
    ADD COLUMN tracestate  text NOT NULL DEFAULT coalesce(current_setting('conveyor.tracestate', true), '');

-- +goose Down
ALTER TABLE outbox DROP COLUMN traceparent, DROP COLUMN tracestate;
