#!/bin/sh
# Prints .env.example with a random password or key in place of each empty one: deploy/env.sh > .env
set -eu

umask 077
while IFS= read -r line; do
    case $line in
    *_PASSWORD=) printf '%s%s\n' "$line" "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" ;;
    CONVEYOR_SECRET_KEYS=) printf '%sk1:%s\n' "$line" "$(head -c 32 /dev/urandom | base64)" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$(dirname "$0")/../.env.example"
