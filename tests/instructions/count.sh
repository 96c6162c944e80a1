#!/usr/bin/env bash
# Counts the instructions of one fixed run, as cachegrind does, and compares with what counts.txt says.
#   count.sh PROGRAM NAME      checks one row, which is what ctest does
#   count.sh PROGRAM --write   writes the counts of rows that cost 5 % less, and of new rows (0); never a greater count
# Counts do not depend on the machine's speed or load, but on compiler and libraries: counts.txt names them, and elsewhere
# the check is skipped. They are those of one fixed commit, so that small losses cannot add up. More than 2 % above is a
# failure; 5 % below asks for the new count, so that the gain is not lost again.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$program" trace synth --arrivals poisson:rate_per_s=5.38 --lengths lognormal:input_mean=1155,output_mean=211 \
  --requests 4000 -o "$scratch/plain.kvt" >"$scratch/log"
"$program" trace synth --arrivals poisson:rate_per_s=5.38 --lengths lognormal:input_mean=1155,output_mean=211 \
  --prefixes groups:groups=40,tokens=700 --turns sessions:turns=3 --requests 2000 -o "$scratch/shared.kvt" >"$scratch/log"

count_run() {  # arguments of `kvplan run`, with TRACE names as in counts.txt
  cd "$scratch"
  valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$program" run "$@" --json /dev/null \
    >out 2>err || { cat err >&2; return 1; }
  local count
  count=$(sed -nE 's/.*I +refs: +([0-9,]+).*/\1/p' err | tr -d ,)
  [ -n "$count" ] || { cat err >&2; return 1; }
  echo "$count"
}

if [ "$2" = --write ]; then
  while IFS= read -r line; do
    case "$line" in '#'* | '') printf '%s\n' "$line"; continue ;; esac
    read -r name fixed arguments <<<"$line"
    # shellcheck disable=SC2086 -- words of the row
    count=$(count_run $arguments)
    [ "$fixed" = 0 ] || [ $((count * 100)) -lt $((fixed * 95)) ] || count=$fixed
    printf '%-18s %12d  %s\n' "$name" "$count" "$arguments"
  done <"$folder/counts.txt" >"$scratch/counts.txt"
  cp "$scratch/counts.txt" "$folder/counts.txt"
  exit 0
fi
read -r _ expected arguments < <(grep -E "^$2 " "$folder/counts.txt")
# shellcheck disable=SC2086
found=$(count_run $arguments)
awk -v name="$2" -v expected="$expected" -v found="$found" 'BEGIN {
  printf "%s: %.1f million instructions, counts.txt says %.1f (%+.2f %%)\n", name, found / 1e6, expected / 1e6,
         100 * (found / expected - 1)
  if (found > 1.02 * expected) { print "more than 2 % above"; exit 1 }
  if (found < 0.95 * expected) { print "more than 5 % below: count.sh PROGRAM --write keeps the gain"; exit 1 }
}'
