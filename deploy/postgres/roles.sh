#!/bin/sh
# Creates the roles and the database of Conveyor, and the role of Temporal, which creates its own databases:
#
#   conveyor_owner   owns the database and its tables, and runs `conveyor migrate`
#   conveyor         what api, worker and bridge are: reads and writes rows, owns nothing
#   conveyor_pages   what the workers browser and drafts are: has what `conveyor migrate` grants it (CONVEYOR_DATABASE_ROLES)
#   temporal         owns Temporal's databases
#
# None is a superuser. The image runs it when the volume is created; it may run again, to set changed passwords. It needs
# psql as a superuser, and OWNER_PASSWORD, APP_PASSWORD, PAGES_PASSWORD and TEMPORAL_PASSWORD.
set -eu

# Passwords are taken from the environment by psql itself, so that no list of processes shows them.
psql -v ON_ERROR_STOP=1 --no-psqlrc --quiet --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv owner OWNER_PASSWORD
\getenv app APP_PASSWORD
\getenv pages PAGES_PASSWORD
\getenv temporal TEMPORAL_PASSWORD
SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['conveyor_owner', 'conveyor', 'conveyor_pages', 'temporal']) name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE conveyor_owner NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner';
ALTER ROLE conveyor NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'app';
ALTER ROLE conveyor_pages NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'pages';
ALTER ROLE temporal NOSUPERUSER CREATEDB NOCREATEROLE PASSWORD :'temporal';
SELECT 'CREATE DATABASE conveyor OWNER conveyor_owner'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'conveyor') \gexec
REVOKE ALL ON DATABASE conveyor FROM PUBLIC;
GRANT CONNECT ON DATABASE conveyor TO conveyor, conveyor_pages;
SQL
