#!/bin/sh
# Prints .env.example with a random password or key in place of each empty one, and with opt-outs hashed by a key, as new
# installations have them: deploy/env.sh > .env
set -eu

umask 077
while IFS= read -r line; do
    case $line in
    *_PASSWORD=) printf '%s%s\n' "$line" "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" ;;
    CONVEYOR_SECRET_KEYS=) printf '%sk1:%s\n' "$line" "$(head -c 32 /dev/urandom | base64)" ;;
    '#CONVEYOR_KEY_OPT_OUTS=false') echo CONVEYOR_KEY_OPT_OUTS=true ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$(dirname "$0")/../.env.example"
