# What the benchmarks share; for other scripts to source after they have set `work`, the folder where everything is, and `prewarm`.
#   write_job NAME MANIFEST [CONCURRENCY]         writes $work/NAME.yaml, a job that does nothing but warm the cache in $work/out
#   empty                                         leaves an empty cache and a synced disk
#   timed NAME PAIR COMMAND…                      runs it, and notes a row: name, pair, wall seconds, KB resident at most,
#                                                 user and system CPU seconds; what it printed is in $work/said
#   warm NAME PAIR JOB OUTCOME COUNT [OPTION…]    times prewarm, of which exactly COUNT URLs must end in OUTCOME
#   figure NAME                                   the first figure of that name in prewarm's last report
#   value NAME PAIR COLUMN, median NAME COLUMN    of the rows that were noted; nothing where there is none
# shellcheck shell=bash

: "${work:?}" "${prewarm:?}"
out=$work/out results=$work/results

write_job() {
  cat >"$work/$1.yaml" <<YAML
version: 1
name: bench
manifests: [{path: $2}]
prefetch: {concurrency: ${3:-32}, per-host: ${3:-32}}
cache: {directory: out, max-age: none}
report: [{json: report.json}]
YAML
}

empty() { rm -rf "$out" && mkdir "$out" && sync; }

timed() {
  local name=$1 pair=$2
  shift 2
  /usr/bin/time -f '%e %M %U %S' -o "$work/time" timeout --foreground 900 "$@" >"$work/said" 2>&1 || return 1
  echo "$name $pair $(tail -1 "$work/time")" >>"$results"
}

figure() { grep -oE "\"$1\": *[0-9.]+" "$work/report.json" | head -1 | grep -oE '[0-9.]+$'; }

warm() {
  local name=$1 pair=$2 job=$3 outcome=$4 count=$5
  shift 5
  if ! timed "$name" "$pair" "$prewarm" run "$work/$job.yaml" --quiet --progress none "$@" ||
    [[ $(figure "$outcome") != "$count" ]]; then
    echo "bench: prewarm should have ended with $count '$outcome':" >&2
    cat "$work/said" >&2
    exit 1
  fi
}

value() { awk -v name="$1" -v pair="$2" -v column="$3" '$1 == name && $2 == pair {print $column}' "$results"; }

median() {
  awk -v name="$1" -v column="$2" '$1 == name {print $column}' "$results" | sort -g |
    awk '{v[NR] = $1} END {if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}
