#!/bin/sh
# Creates Temporal's two databases where they are missing and brings their schema up to date. Every step may run again,
# so this is also the first step of an upgrade; one that was cut short before a database had its first version is made
# anew, for the tool has no transactions. It needs temporal-sql-tool of the server's version, which the image
# temporalio/admin-tools has, and SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD; SQL_TLS=true where it takes TLS.
set -eu

schema() {
    sql="temporal-sql-tool --plugin postgres12_pgx --db $1"
    $sql create
    overwrite=
    if $sql update-schema --schema-name "$2" -v 0.0 >/dev/null 2>&1; then overwrite=--overwrite; fi # it has 0.0
    $sql setup-schema -v 0.0 $overwrite
    $sql update-schema --schema-name "$2"
}

schema temporal postgresql/v12/temporal
schema temporal_visibility postgresql/v12/visibility
