# Sourced: what the scripts here say, how often they try, and how long they wait. The clock starts with the first script.
export PORTOLAN_CI_STARTED=${PORTOLAN_CI_STARTED:-$(date +%s)}
# A bare environment names no home, and Go's own folder is not on every PATH.
export HOME=${HOME:-~}
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
# A run longer than this is broken; every step is bounded by what is left of it.
BUDGET_S=5100

elapsed() { echo $(($(date +%s) - PORTOLAN_CI_STARTED)); }

say() { printf '[%5ss] %s\n' "$(elapsed)" "$*" >&2; }

# busyness: how many processes wait for each processor, 1 at least. What takes a minute on a machine that does nothing else
# takes that many minutes on this one.
busyness() {
  local load
  read -r load _ </proc/loadavg
  awk -v load="$load" -v processors="$(nproc)" 'BEGIN { share = load / processors; print (share > 1 ? share : 1) }'
}

# patient SECONDS: the same time on a machine as busy as this one is now.
patient() { awk -v seconds="$1" -v busyness="$(busyness)" 'BEGIN { printf "%d\n", seconds * busyness }'; }

# bounded SECONDS COMMAND...: ends the command after SECONDS, or when the budget of the whole run is used up.
bounded() {
  local limit=$1 left=$((BUDGET_S - $(elapsed)))
  shift
  [ "$left" -gt 5 ] || { say "no time left for: $*"; return 124; }
  timeout --kill-after=20 "$((limit < left ? limit : left))" "$@"
}

# retry COMMAND...: registries fail now and then; three tries with a growing pause.
retry() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return
    say "try $attempt of 3 failed: $*"
    [ "$attempt" = 3 ] || sleep $((attempt * 5))
  done
  return 1
}

# until_ready WHAT PID LOG SECONDS COMMAND...: waits for COMMAND to succeed while PID lives, longer on a busy machine.
until_ready() {
  local what=$1 pid=$2 log=$3 seconds=$4 started=$SECONDS
  shift 4
  until "$@" >/dev/null 2>&1; do
    if ! kill -0 "$pid" 2>/dev/null || [ $((SECONDS - started)) -ge "$(patient "$seconds")" ]; then
      say "$what did not get ready; the end of its log:"
      tail -n 20 "$log" >&2
      return 1
    fi
    sleep 0.2
  done
}
