-- +goose Up
-- Adverts of one home are a group. An advert that no other is the same home as is a group of its own, without a row in
-- homes. listings and raw_listings (status, duplicate_of) say what follows from it, and are changed in one transaction
-- with these tables.
CREATE TABLE homes (
    id         uuid        PRIMARY KEY,
    shown      uuid        NOT NULL,  -- the member that is shown in place of the others
    chosen     uuid,                  -- the member that a person wants to be shown
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX homes_newest ON homes (updated_at DESC, id DESC);

-- A row an advert that went through the dedupe step.
CREATE TABLE home_members (
    listing_id uuid        PRIMARY KEY REFERENCES raw_listings ON DELETE CASCADE,
    home_id    uuid        NOT NULL,            -- listing_id while it is alone
    keys       bigint[]    NOT NULL,            -- of listing.HomeKeys: adverts of one home share at least one
    rent_cents bigint      NOT NULL,
    kind       text        NOT NULL DEFAULT '' CHECK (kind IN ('', 'duplicate', 'repost')), -- '' = the first, or alone
    matched    uuid,                            -- the member that it was found to be the same as
    against    bigint      NOT NULL DEFAULT 0,  -- revision of the shown one when it was judged
    reasons    jsonb       NOT NULL DEFAULT '[]',
    figures    jsonb       NOT NULL DEFAULT '{}', -- what each rule measured: listing.Figures
    hidden     boolean     NOT NULL DEFAULT false, -- the shown one stands for it
    pinned     boolean     NOT NULL DEFAULT false, -- a person put it there: no rule takes it away
    reviewed_by text       NOT NULL DEFAULT '',
    judged_at  timestamptz NOT NULL
);
CREATE INDEX home_members_home ON home_members (home_id);
CREATE INDEX home_members_keys ON home_members USING gin (keys) WITH (fastupdate = off);

-- Pairs that a person said are two homes, in both directions.
CREATE TABLE home_apart (
    listing_id uuid NOT NULL REFERENCES raw_listings ON DELETE CASCADE,
    other_id   uuid NOT NULL REFERENCES raw_listings ON DELETE CASCADE,
    PRIMARY KEY (listing_id, other_id)
);
CREATE INDEX home_apart_other ON home_apart (other_id);

-- What persons said, with what was there before, to undo it.
CREATE TABLE home_verdicts (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    listing_id uuid        NOT NULL REFERENCES raw_listings ON DELETE CASCADE,
    other_id   uuid        REFERENCES raw_listings ON DELETE CASCADE,
    verdict    text        NOT NULL CHECK (verdict IN ('same', 'different', 'show')),
    reviewer   text        NOT NULL,
    at         timestamptz NOT NULL,
    touched    uuid[]      NOT NULL,  -- all adverts of the homes that it was about
    before     jsonb       NOT NULL,
    undone_at  timestamptz,
    undone_by  text        NOT NULL DEFAULT ''
);
CREATE INDEX home_verdicts_listing ON home_verdicts (listing_id);
CREATE INDEX home_verdicts_other ON home_verdicts (other_id);
CREATE INDEX home_verdicts_touched ON home_verdicts USING gin (touched);

-- +goose Down
DROP TABLE home_verdicts, home_apart, home_members, homes;
