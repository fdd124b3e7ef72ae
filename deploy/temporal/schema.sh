#!/bin/sh
# Creates Temporal's two databases where they are missing and brings their schema up to date. Every step may run again,
# so this is also the first step of an upgrade. The tool has no transactions: a first start that was cut short is begun
# anew, which an empty database beside each (NAME_first_start) marks until it is over. It needs temporal-sql-tool of the
# server's version, which the image temporalio/admin-tools has, and SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD;
# SQL_TLS=true where it takes TLS.
set -eu

schema() {
    sql="temporal-sql-tool --plugin postgres12_pgx --db $1"
    first="temporal-sql-tool --plugin postgres12_pgx --db $1_first_start"
    $sql create
    $sql setup-schema -v 0.0
    if $sql update-schema --schema-name "$2" -v 0.0 >/dev/null 2>&1; then # it is at 0.0, so nothing is in it
        $first create
        $sql setup-schema -v 0.0 --overwrite
    fi
    if ! $sql update-schema --schema-name "$2"; then
        $first setup-schema -v 0.0 >/dev/null 2>&1 || exit 1 # no such database: an upgrade, which is not undone
        echo "the first start was cut short: the tables of $1 are made anew"
        $sql setup-schema -v 0.0 --overwrite
        $sql update-schema --schema-name "$2"
    fi
    if $first setup-schema -v 0.0 >/dev/null 2>&1; then $first drop --force; fi
}

schema temporal postgresql/v12/temporal
schema temporal_visibility postgresql/v12/visibility
