-- +goose Up
ALTER TABLE replays
    -- A replay counts its adverts while it runs. A release before this one counted them before it stored the row.
    ADD COLUMN counted      boolean NOT NULL DEFAULT true,                                   -- total is final
    ADD COLUMN counted_id   uuid    NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- the last one counted
    ADD COLUMN skipped_gone bigint  NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE replays DROP COLUMN counted, DROP COLUMN counted_id, DROP COLUMN skipped_gone;
