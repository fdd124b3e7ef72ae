-- +goose Up
-- A replay goes out through the outbox, with headers and under the MessageId that the message came with: message_id is
-- unique, and a letter may be replayed again.
ALTER TABLE outbox
    ADD COLUMN headers    jsonb NOT NULL DEFAULT '{}', -- names and texts
    ADD COLUMN publish_as text  NOT NULL DEFAULT '';   -- AMQP MessageId; '' = message_id

-- open waits for a person; replayed was published again and has not died since; resolved was brought to a good end;
-- discarded was given up. Whatever dies again is open again.
ALTER TABLE dead_letters
    ADD COLUMN replayed_at timestamptz, -- the last time
    ADD COLUMN replay_id   uuid,        -- message_id of that in the outbox
    DROP CONSTRAINT dead_letters_state_check,
    ADD CONSTRAINT dead_letters_state_check CHECK (state IN ('open', 'replayed', 'resolved', 'discarded'));
DROP INDEX dead_letters_queue;
CREATE INDEX dead_letters_queue      ON dead_letters (queue, state, last_at DESC, id DESC);
CREATE INDEX dead_letters_newest     ON dead_letters (state, last_at DESC, id DESC);
CREATE INDEX dead_letters_newest_any ON dead_letters (last_at DESC, id DESC);

-- +goose Down
UPDATE dead_letters SET state = 'open' WHERE state = 'replayed';
DROP INDEX dead_letters_newest_any, dead_letters_newest, dead_letters_queue;
CREATE INDEX dead_letters_queue ON dead_letters (queue, state, id);
ALTER TABLE dead_letters
    DROP COLUMN replayed_at,
    DROP COLUMN replay_id,
    DROP CONSTRAINT dead_letters_state_check,
    ADD CONSTRAINT dead_letters_state_check CHECK (state IN ('open', 'resolved', 'discarded'));
ALTER TABLE outbox DROP COLUMN headers, DROP COLUMN publish_as;
