#!/bin/sh
# Creates the roles and the database of Conveyor, and the role of Temporal, which creates its own databases:
#
#   conveyor_owner   owns the database and its tables, and runs `conveyor migrate`
#   conveyor         what the jobs are: reads and writes rows, owns nothing
#   conveyor_api, conveyor_worker, conveyor_crawler, conveyor_importer, conveyor_dispatcher, conveyor_bridge
#                    what these are: each has what `conveyor migrate` grants it (CONVEYOR_DATABASE_ROLES)
#   conveyor_pages   likewise, what the workers browser and drafts are
#   temporal         owns Temporal's databases
#
# None is a superuser. The image runs it when the volume is created; it may run again, to set changed passwords. It needs
# psql as a superuser, and OWNER_PASSWORD, APP_PASSWORD, API_PASSWORD, PAGES_PASSWORD, WORKER_PASSWORD,
# CRAWLER_PASSWORD, IMPORTER_PASSWORD, DISPATCHER_PASSWORD, BRIDGE_PASSWORD and TEMPORAL_PASSWORD.
set -eu

# Passwords are taken from the environment by psql itself, so that no list of processes shows them.
psql -v ON_ERROR_STOP=1 --no-psqlrc --quiet --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv owner OWNER_PASSWORD
\getenv app APP_PASSWORD
\getenv api API_PASSWORD
\getenv pages PAGES_PASSWORD
\getenv worker WORKER_PASSWORD
\getenv crawler CRAWLER_PASSWORD
\getenv importer IMPORTER_PASSWORD
\getenv dispatcher DISPATCHER_PASSWORD
\getenv bridge BRIDGE_PASSWORD
\getenv temporal TEMPORAL_PASSWORD
SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['conveyor_owner', 'conveyor', 'conveyor_api', 'conveyor_pages', 'conveyor_worker',
    'conveyor_crawler', 'conveyor_importer', 'conveyor_dispatcher', 'conveyor_bridge', 'temporal']) name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE conveyor_owner NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner';
ALTER ROLE conveyor NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'app';
ALTER ROLE conveyor_api NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'api';
ALTER ROLE conveyor_pages NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'pages';
ALTER ROLE conveyor_worker NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'worker';
ALTER ROLE conveyor_crawler NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'crawler';
ALTER ROLE conveyor_importer NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'importer';
ALTER ROLE conveyor_dispatcher NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'dispatcher';
ALTER ROLE conveyor_bridge NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'bridge';
ALTER ROLE temporal NOSUPERUSER CREATEDB NOCREATEROLE PASSWORD :'temporal';
SELECT 'CREATE DATABASE conveyor OWNER conveyor_owner'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'conveyor') \gexec
REVOKE ALL ON DATABASE conveyor FROM PUBLIC;
GRANT CONNECT ON DATABASE conveyor TO conveyor, conveyor_api, conveyor_pages, conveyor_worker, conveyor_crawler,
    conveyor_importer, conveyor_dispatcher, conveyor_bridge;
SQL
