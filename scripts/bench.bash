# Functions of the benchmarks, which source this file. A part sets its options, by default (`no` if it is a flag) and for a short run, and
# begins:
#   option=([pairs]=5 …) short=([pairs]=1 …)
#   begin NAME "$@"                               reads the options; sets prewarm, work (a folder, removed at the end), out, port, base
# The figures of a run:
#   write_job NAME MANIFEST [CONCURRENCY]         writes $work/NAME.yaml, a job that only warms the cache in $out
#   empty                                         leaves an empty cache and a synced disk
#   level MB                                      allocates and frees that much memory in one piece, for a fair start: memory that other
#                                                 programs left fragmented, or long unused in a virtual machine, is slower
#   timed NAME PAIR COMMAND…                      runs it, and notes a row; its output is in $work/said
#   tree NAME PAIR COMMAND…                       as timed; column 4 of NAME-tree is the sampled peak of all its processes together
#   counted NAME PAIR OUTCOME COUNT ARGUMENT…     times prewarm with these arguments; exactly COUNT URLs must have that outcome
#   warm NAME PAIR JOB OUTCOME COUNT [OPTION…]    the same for `prewarm run` with that job
#   note NAME PAIR FIGURE…                        notes a row. Columns of timed, counted and warm: 3 wall seconds, 4 peak resident KB,
#                                                 5 user, 6 system, 7 CPU seconds; of prewarm also, from its report, 8 seconds, 9 KB
#   figure NAME                                   the first figure of that name in prewarm's last report
# Programs of PyPI:
#   peer PROGRAM PACKAGE                          prints its path, and installs the package unless it is there; fails without network
# An origin for runs of many URLs:
#   small_image                                   writes $work/img/small.jpg
#   small_origin, small_urls FIRST END            one image of 1.5 KB, and its URLs: numbers FIRST to below END as queries, which it ignores
# Results:
#   value NAME PAIR COLUMN, median NAME COLUMN    of the noted rows; empty if there are none
#   seconds NAME [COLUMN], megabytes NAME [COLUMN], rate NAME COUNT [COLUMN]    medians for people; a dash if there are none
#   calculate A OPERATOR B                        empty if either is missing
#   average_size FOLDER                           average size of its files, in KB
#   goal GOAL OURS PEERS LIMIT RATIO MET          a row of the table that scripts/bench prints at the end
#   met FIGURE RELATION WANTED                    yes or no; a dash if there is no figure, or the run was short
# shellcheck shell=bash

export LC_ALL=C
# shellcheck source=scripts/origin.bash
source scripts/origin.bash

declare -A option short

usage() { sed -n '2,/^set /{/^#   /s/^# *//p}' "$0" >&2 && exit 3; }

read_options() {
  option[directory]=.build
  while (($#)); do
    local name=${1#--}
    if [[ $1 == --short ]]; then
      option[short]=yes
      for name in "${!short[@]}"; do option[$name]=${short[$name]}; done
    elif [[ $1 == --?* && ${option[$name]-} == no ]]; then
      option[$name]=yes
    elif [[ $1 == --?* && ${option[$name]+known} && ($name == directory || ${2:-} =~ ^[1-9][0-9]{0,9}$) ]]; then
      option[$name]=${2:?} && shift
    else
      usage
    fi
    shift
  done
}

begin() {
  part=$1 && shift
  read_options "$@"
  if [[ -n ${PREWARM:-} ]]; then
    prewarm=$(realpath "$PREWARM")
  else
    scripts/install-dependencies build run bench
    prewarm=$(scripts/build)
  fi
  mkdir -p "${option[directory]}"
  work=$(mktemp -d "$(realpath "${option[directory]}")/bench.XXXXXX")
  out=$work/out results=$work/results figures=${BENCH_FIGURES:-$work}
  trap 'stop_origin "$work"; rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  port=18090
  while port_is_taken "$port"; do port=$((port + 1)); done
  # shellcheck disable=SC2034 # used by the parts
  base=http://127.0.0.1:$port
}

# need_room MB: exits with an error if the disk has less
need_room() {
  local free
  free=$(df --output=avail -BM "$work" | tail -1 | tr -dc 0-9)
  ((free >= $1)) || { echo "bench-$part: ${option[directory]} needs $1 MB, but only $free MB are free" >&2 && exit 1; }
}

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

empty() { rm -rf "$out" && mkdir "$out" && sync -f "$work"; }

level() { head -c "$1M" /dev/zero >"$work/level" && sync -f "$work" && rm "$work/level"; }

note() { echo "$*" | tee -a "$figures/runs" >>"$results"; }

# measure COMMAND…: sets `measured` to the columns of timed. Bash measures CPU time in milliseconds, time(1) only in hundredths.
measure() {
  local TIMEFORMAT='%3R %3U %3S' wall user system
  measured=$({ time /usr/bin/time -q -f %M -o "$work/peak" timeout --foreground 1800 "$@" >"$work/said" 2>&1; } 2>&1) || return 1
  read -r wall user system <<<"$measured"
  measured="$wall $(tail -1 "$work/peak") $user $system $(calculate "$user" + "$system")"
}

timed() {
  local name=$1 pair=$2 measured
  shift 2
  measure "$@" && note "$name" "$pair" "$measured"
}

figure() { grep -oE "\"$1\": *[0-9.]+" "$work/report.json" | head -1 | grep -oE '[0-9.]+$'; }

tree() {
  local process most=0 now
  timed "$@" &
  process=$!
  while kill -0 "$process" 2>/dev/null; do
    now=$(ps -eo pid=,ppid=,rss= | awk -v root="$process" '{parent[$1] = $2; kb[$1] = $3} END {
      for (id in kb) for (above = parent[id]; above in parent; above = parent[above]) if (above == root) sum += kb[id]
      print sum + 0
    }')
    ((now <= most)) || most=$now
    sleep 0.3
  done
  wait "$process" && note "$1-tree" "$2" - "$most"
}

counted() {
  local name=$1 pair=$2 outcome=$3 count=$4 measured
  shift 4
  if ! measure "$prewarm" "$@" --quiet --progress none || [[ $(figure "$outcome") != "$count" ]]; then
    echo "bench-$part: expected $count '$outcome' from prewarm:" >&2
    cat "$work/said" >&2
    exit 1
  fi
  note "$name" "$pair" "$measured" "$(figure duration_seconds)" "$(($(figure peak_memory_bytes) / 1024))"
}

warm() { counted "$1" "$2" "$4" "$5" run "$work/$3.yaml" "${@:6}"; }

peer() {
  local bin=$PWD/.build/peers/bin
  if [[ ! -x $bin/$1 ]] && ! { python3 -m venv "${bin%/*}" && "$bin/pip" install -q --retries 0 --timeout 20 "$2"; } >"$work/said" 2>&1
  then
    echo "Without $1: $(tail -n 1 "$work/said")" >&2 && return 1
  fi
  echo "$bin/$1"
}

value() { awk -v name="$1" -v pair="$2" -v column="$3" '$1 == name && $2 == pair {print $column}' "$results"; }

median() {
  awk -v name="$1" -v column="$2" '$1 == name && $column ~ /^[0-9]/ {print $column}' "$results" 2>/dev/null | sort -g |
    awk '{v[NR] = $1} END {if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}

calculate() {
  awk -v a="$1" -v operator="$2" -v b="$3" 'BEGIN {
    if (a == "" || b == "" || operator == "/" && b == 0) exit
    printf "%.9g", operator == "+" ? a + b : operator == "-" ? a - b : operator == "*" ? a * b : a / b
  }'
}

# shellcheck disable=SC2059 # the format is the caller's
round() { if [[ -n $2 ]]; then printf "$1" "$2"; else printf -; fi; }
seconds() { round '%.2f s' "$(median "$1" "${2:-3}")"; }
megabytes() { round '%.0f MB' "$(calculate "$(median "$1" "${2:-4}")" / 1024)"; }
rate() { round '%.0f/s' "$(calculate "$2" / "$(median "$1" "${3:-3}")")"; }
average_size() { find "$1" -type f -printf '%s\n' | awk '{sum += $1} END {printf "%.1f", sum / NR / 1000}'; }

goal() { printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$part" "$@" >>"$figures/goals.tsv"; }

met() {
  [[ -n $1 && -z ${option[short]:-} ]] || { echo - && return; }
  awk "BEGIN {print ($1 $2 $3) ? \"yes\" : \"no\"}"
}

small_image() {
  mkdir -p "$work/img"
  scripts/scene 64 48 1 | cjpeg -quality 80 -outfile "$work/img/small.jpg"
}

small_origin() { small_image && start_origin "$work" "$port" "$work"; }

small_urls() { awk -v url="$base/img/small.jpg" -v i="$1" -v end="$2" 'BEGIN {for (; i < end; i++) printf "%s?%d\n", url, i}'; }
