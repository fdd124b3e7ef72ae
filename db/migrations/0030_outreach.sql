-- +goose Up
-- Outreach. A tenant sees its own rows only: besides the WHERE of every statement, each table has a policy that compares
-- with the setting conveyor.tenant of the transaction. The system itself (schedulers, retention, metrics) sets it to '*'.
-- Without the setting there are no rows. FORCE holds for the owner too, so a dump needs a superuser or the setting.
CREATE TABLE tenants (
    id               text        PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9-]{0,39}$'), -- in workflow IDs and fairness keys
    name             text        NOT NULL,
    tier             text        NOT NULL CHECK (tier IN ('standard', 'enterprise')),
    region           text        CHECK (region ~ '^[A-Z]{2}$'), -- of phone numbers without a country code
    contacts         bigint      NOT NULL DEFAULT 0, -- that it has
    max_contacts     bigint      CHECK (max_contacts >= 0), -- null = no limit
    max_messages_day bigint      CHECK (max_messages_day >= 0),
    state            text        NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'stopped')),
    stopped_reason   text        NOT NULL DEFAULT '',
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL
);

ALTER TABLE api_keys ADD COLUMN tenant text REFERENCES tenants; -- null = not of a tenant

ALTER TABLE dead_letters ADD COLUMN tenant text NOT NULL DEFAULT ''; -- '' = not of a tenant

-- Telephone numbers that messages are sent from.
CREATE TABLE senders (
    id                  uuid        PRIMARY KEY,
    tenant              text        NOT NULL REFERENCES tenants,
    name                text        NOT NULL,
    phone_number_id     text        NOT NULL UNIQUE, -- Meta's
    business_account_id text        NOT NULL,
    token               bytea       NOT NULL, -- sealed by AES-256-GCM, bound to id
    token_key           text        NOT NULL, -- ID of the key in CONVEYOR_SECRET_KEYS
    per_second          int         NOT NULL DEFAULT 80 CHECK (per_second BETWEEN 1 AND 1000),
    state               text        NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'stopped')),
    paused_until        timestamptz, -- nothing is sent before it; null while paused: until it is resumed
    holds               int         NOT NULL DEFAULT 0, -- pauses in a row that limits of the API have caused
    reason              text        NOT NULL DEFAULT '',
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

-- The people that a tenant writes to. No index has a column that an import of known contacts changes, unless their
-- addresses are others.
CREATE TABLE contacts (
    tenant      text        NOT NULL,
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    upload      uuid, -- the last one that wrote it
    digest      bytea       NOT NULL, -- 16 bytes of the SHA-256 of tenant, NUL, key
    key         text        NOT NULL, -- the phone for matching, or mailto: and the address
    phone       text        NOT NULL DEFAULT '', -- E.164, as given
    country     text        NOT NULL DEFAULT '', -- ISO 3166-1 alpha-2, of the phone
    wa_id       text        NOT NULL DEFAULT '', -- as WhatsApp said
    email       text        NOT NULL DEFAULT '',
    name        text        NOT NULL DEFAULT '',
    given_name  text        NOT NULL DEFAULT '',
    family_name text        NOT NULL DEFAULT '',
    locale      text        NOT NULL DEFAULT '',
    tags        text[]      NOT NULL DEFAULT '{}',
    fields      jsonb       NOT NULL DEFAULT '{}',
    email_digest bytea NOT NULL DEFAULT '', -- as digest, of mailto: and the address, where key is a phone
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, key)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX contacts_email ON contacts (email_digest) WHERE email_digest <> ''; -- for an address that opts out

CREATE TABLE contact_lists (
    id         uuid        PRIMARY KEY,
    tenant     text        NOT NULL REFERENCES tenants,
    name       text        NOT NULL,
    members    bigint      NOT NULL DEFAULT 0, -- that it has
    created_at timestamptz NOT NULL,
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);

CREATE TABLE contact_list_members (
    tenant  text   NOT NULL,
    list    uuid   NOT NULL,
    contact bigint NOT NULL,
    PRIMARY KEY (list, contact)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Saved filters.
CREATE TABLE segments (
    id         uuid        PRIMARY KEY,
    tenant     text        NOT NULL REFERENCES tenants,
    name       text        NOT NULL,
    filter     jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

-- The people that are never written to. There is no phone or address in it, so it outlives their contacts.
CREATE TABLE opt_outs (
    tenant text        NOT NULL,
    digest bytea       NOT NULL, -- digest or email_digest of contacts
    source text        NOT NULL, -- import, api, message
    at     timestamptz NOT NULL,
    PRIMARY KEY (tenant, digest)
);

-- Files of contacts. rows_read = valid + invalid + duplicate, and valid = new + updated + skipped.
CREATE TABLE uploads (
    id          uuid        PRIMARY KEY,
    tenant      text        NOT NULL REFERENCES tenants,
    file_name   text        NOT NULL,
    blob        text        NOT NULL, -- key in the blob store
    bytes       bigint      NOT NULL,
    sha256      bytea       NOT NULL,
    asked       bytea       NOT NULL DEFAULT '', -- SHA-256 of the parameters of the request that made it
    copy        text        NOT NULL DEFAULT '', -- key of its decoded copy; '' = the file is text as it is
    options     jsonb       NOT NULL DEFAULT '{}', -- what was said about how to read it
    plan        jsonb, -- how it is read; null until it was looked at
    known       text        NOT NULL DEFAULT 'update' CHECK (known IN ('update', 'skip', 'fail')), -- contacts that are
    dry_run     boolean     NOT NULL DEFAULT false,
    lists       uuid[]      NOT NULL DEFAULT '{}', -- that its contacts become members of
    tags        text[]      NOT NULL DEFAULT '{}', -- that its contacts get
    state       text        NOT NULL DEFAULT 'received'
        CHECK (state IN ('held', 'received', 'splitting', 'running', 'done', 'failed', 'canceled')),
    error       text        NOT NULL DEFAULT '',
    chunks      int         NOT NULL DEFAULT 0, -- that it has; grows while it is split
    stored      int         NOT NULL DEFAULT 0, -- of them, those that are stored
    rows_read   bigint      NOT NULL DEFAULT 0,
    valid       bigint      NOT NULL DEFAULT 0,
    invalid     bigint      NOT NULL DEFAULT 0,
    duplicate   bigint      NOT NULL DEFAULT 0,
    new         bigint      NOT NULL DEFAULT 0,
    updated     bigint      NOT NULL DEFAULT 0,
    skipped     bigint      NOT NULL DEFAULT 0,
    created_by  text        NOT NULL,
    created_at  timestamptz NOT NULL,
    received_at timestamptz, -- since when it waits to be imported: not while it is held, and anew after a failure
    started_at  timestamptz,
    finished_at timestamptz,
    swept_at    timestamptz, -- nothing is left of its import; its workflow has ended, or is about to
    CHECK (rows_read = valid + invalid + duplicate AND valid = new + updated + skipped)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX uploads_tenant ON uploads (tenant, created_at, id);
CREATE INDEX uploads_blob ON uploads (blob) WHERE blob <> '';
CREATE INDEX uploads_unswept ON uploads (created_at, id) WHERE swept_at IS NULL;

-- Ranges of bytes of a file, at the limits of records.
CREATE TABLE upload_chunks (
    tenant      text        NOT NULL,
    upload      uuid        NOT NULL,
    n           int         NOT NULL, -- from 0, in the order of the file
    byte_offset bigint      NOT NULL,
    byte_length bigint      NOT NULL,
    first_row   bigint      NOT NULL, -- number of its first record, from 1
    first_line  bigint      NOT NULL,
    lines       bigint      NOT NULL, -- line ends
    rows        int         NOT NULL, -- records
    state       text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'parsed', 'stored', 'failed', 'canceled')),
    valid       int         NOT NULL DEFAULT 0,
    invalid     int         NOT NULL DEFAULT 0,
    duplicate   int         NOT NULL DEFAULT 0,
    new         int         NOT NULL DEFAULT 0,
    updated     int         NOT NULL DEFAULT 0,
    skipped     int         NOT NULL DEFAULT 0,
    error       text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    parsed_at   timestamptz,
    stored_at   timestamptz,
    PRIMARY KEY (upload, n),
    CHECK (state <> 'stored' OR rows = valid + invalid + duplicate AND valid = new + updated + skipped)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX upload_chunks_waiting ON upload_chunks (tenant, created_at) WHERE state IN ('pending', 'parsed');
CREATE INDEX upload_chunks_stored ON upload_chunks (stored_at) WHERE state = 'stored';

-- The keys of an upload's rows, while it runs: a row whose key is here is a duplicate of one before it in the file.
CREATE TABLE upload_keys (
    tenant text NOT NULL,
    upload uuid NOT NULL,
    digest uuid NOT NULL, -- that of the contact
    PRIMARY KEY (upload, digest)
);

-- The records that were refused.
CREATE TABLE upload_errors (
    tenant   text   NOT NULL,
    upload   uuid   NOT NULL,
    row      bigint NOT NULL, -- number of the record, from 1
    line     bigint NOT NULL,
    problems jsonb  NOT NULL, -- an array of field, code, message
    record   text[] NOT NULL, -- the cells as they were in the file
    persons  uuid[] NOT NULL DEFAULT '{}', -- digests of its phone and its address, where they can be read
    PRIMARY KEY (upload, row)
);
CREATE INDEX upload_errors_persons ON upload_errors USING gin (persons); -- for one that is to be forgotten

CREATE TABLE campaigns (
    id           uuid        PRIMARY KEY,
    tenant       text        NOT NULL REFERENCES tenants,
    name         text        NOT NULL,
    sender       uuid        NOT NULL,
    template     jsonb       NOT NULL,
    audience     jsonb       NOT NULL,
    state        text        NOT NULL DEFAULT 'draft'
        CHECK (state IN ('draft', 'queued', 'running', 'paused', 'done', 'canceled')),
    reason       text        NOT NULL DEFAULT '',
    scheduled_at timestamptz,
    lease_until  timestamptz,
    frozen_at    timestamptz, -- contacts that were stored by then are its audience
    frozen       jsonb, -- its audience as one filter of contacts, with its segments as they were then
    audience_at  bigint      NOT NULL DEFAULT 0, -- contacts.id up to which messages are written
    written_at   timestamptz, -- all messages were
    waiting      bigint      NOT NULL DEFAULT 0, -- its messages, each in one count: queued and sending
    unknown      bigint      NOT NULL DEFAULT 0,
    sent         bigint      NOT NULL DEFAULT 0,
    delivered    bigint      NOT NULL DEFAULT 0,
    read         bigint      NOT NULL DEFAULT 0,
    failed       bigint      NOT NULL DEFAULT 0,
    skipped      bigint      NOT NULL DEFAULT 0,
    created_by   text        NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    started_at   timestamptz,
    finished_at  timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX campaigns_tenant ON campaigns (tenant, created_at, id);
CREATE INDEX campaigns_ready ON campaigns (scheduled_at, id) WHERE state = 'queued';
CREATE INDEX campaigns_open ON campaigns (id) WHERE started_at IS NOT NULL AND finished_at IS NULL;
CREATE INDEX campaigns_running ON campaigns (tenant, id) WHERE state IN ('running', 'paused');

-- Messages, and the queue of those that are to be sent.
CREATE TABLE messages (
    id           uuid        PRIMARY KEY, -- v5 of campaign and contact, or of tenant and idempotency key; else v7
    tenant       text        NOT NULL,
    campaign     uuid,
    contact      bigint,
    sender       uuid        NOT NULL,
    lease        uuid,
    lease_until  timestamptz,
    written_at   timestamptz, -- the request of this lease may have been written since
    due_at       timestamptz NOT NULL,
    queued_at    timestamptz NOT NULL,
    sent_at      timestamptz,
    delivered_at timestamptz,
    read_at      timestamptz,
    failed_at    timestamptz,
    attempts     int         NOT NULL DEFAULT 0, -- requests
    tried        boolean     NOT NULL GENERATED ALWAYS AS (attempts > 0) STORED,
    spent        int         NOT NULL DEFAULT 0, -- of them, those that count against the most there may be
    code         int, -- of the last error, as the API gave it
    kind         text        NOT NULL CHECK (kind IN ('transactional', 'campaign')),
    state        text        NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'unknown', 'skipped')),
    digest       bytea       NOT NULL, -- of the recipient, as in opt_outs
    email_digest bytea       NOT NULL DEFAULT '', -- of the contact's address
    recipient    text        NOT NULL,
    wamid        text, -- of the API's answer
    class        text        NOT NULL DEFAULT '',
    error        text        NOT NULL DEFAULT '',
    body         jsonb       NOT NULL -- the request, as it was frozen
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- Messages of a campaign or of a sender that is paused are not among those that a claim looks at, nor are those that were
-- tried before among the others.
CREATE INDEX messages_due ON messages (tenant, sender, tried, due_at, id) WHERE state = 'queued' AND campaign IS NULL;
CREATE INDEX messages_due_campaign ON messages (campaign, tried, due_at, id) WHERE state = 'queued' AND campaign IS NOT NULL;
CREATE INDEX messages_leased ON messages (lease_until) WHERE state = 'sending';
CREATE INDEX messages_campaign ON messages (campaign, state, id) WHERE campaign IS NOT NULL;
-- No index on all messages begins with the tenant: a lookup by id would scan it while the planner does not know the table.
CREATE INDEX messages_person ON messages (digest, tenant, queued_at);
CREATE INDEX messages_unknown ON messages (due_at, id) WHERE state = 'unknown' AND class = 'unknown';
-- Those that retention looks at.
CREATE INDEX messages_transactional ON messages (queued_at, id) WHERE campaign IS NULL;
CREATE UNIQUE INDEX messages_wamid ON messages (wamid) WHERE wamid IS NOT NULL;

CREATE TABLE message_attempts (
    tenant      text        NOT NULL,
    message     uuid        NOT NULL,
    n           int         NOT NULL, -- from 1
    took_ms     int         NOT NULL,
    at          timestamptz NOT NULL,
    http_status int,
    code        int,
    outcome     text        NOT NULL,
    class       text        NOT NULL DEFAULT '',
    wamid       text,
    error       text        NOT NULL DEFAULT '',
    PRIMARY KEY (message, n)
);

-- The messages that count against max_messages_day, of tenants that have one, on the last day (UTC) on which there were some.
CREATE TABLE message_days (
    tenant text   PRIMARY KEY,
    day    date   NOT NULL,
    n      bigint NOT NULL
) WITH (fillfactor = 50);

-- Deliveries of webhooks, kept before they are answered. They are of several tenants, so no tenant reads them.
CREATE TABLE webhook_events (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    received_at timestamptz NOT NULL,
    applied_at  timestamptz,
    digest      bytea       NOT NULL UNIQUE, -- SHA-256 of body
    statuses    int         NOT NULL DEFAULT 0,
    messages    int         NOT NULL DEFAULT 0,
    error       text        NOT NULL DEFAULT '',
    body        bytea COMPRESSION lz4 NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX webhook_events_waiting ON webhook_events (id) WHERE applied_at IS NULL;
CREATE INDEX webhook_events_received ON webhook_events (received_at);

-- The setting is read once a statement, not once a row.
-- +goose StatementBegin
DO $migration$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['tenants', 'senders', 'contacts', 'contact_lists', 'contact_list_members', 'segments',
        'opt_outs', 'uploads', 'upload_chunks', 'upload_keys', 'upload_errors', 'campaigns', 'messages',
        'message_attempts', 'message_days', 'webhook_events']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant ON %I USING ((SELECT current_setting(''conveyor.tenant'', true)) %s)', t,
            CASE t WHEN 'webhook_events' THEN '= ''*''' WHEN 'tenants' THEN 'IN (''*'', id)' ELSE 'IN (''*'', tenant)' END);
    END LOOP;
END $migration$;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE dead_letters DROP COLUMN tenant;
ALTER TABLE api_keys DROP COLUMN tenant;
DROP TABLE webhook_events, message_days, message_attempts, messages, campaigns, upload_errors, upload_keys, upload_chunks, uploads,
    opt_outs, segments, contact_list_members, contact_lists, contacts, senders, tenants;
