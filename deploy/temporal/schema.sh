#!/bin/sh
# Creates Temporal's two databases where they are missing and brings their schema up to date. Every step may run again,
# so this is also the first step of an upgrade. It needs temporal-sql-tool of the server's version, which the image
# temporalio/admin-tools has, and SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD; SQL_TLS=true where it takes TLS.
set -eu

schema() {
    sql="temporal-sql-tool --plugin postgres12_pgx --db $1"
    $sql create
    $sql setup-schema -v 0.0
    $sql update-schema --schema-name "$2"
}

schema temporal postgresql/v12/temporal
schema temporal_visibility postgresql/v12/visibility
