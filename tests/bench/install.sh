#!/usr/bin/env bash
# What the benchmarks need beside the product, kept out of its own dependencies: wrk, the peers' packages, and, where Go
# and a C compiler are, the peer written in Go. Prints the folder that holds the peers, ready to start.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${XDG_CACHE_HOME:-$HOME/.cache}/portolan-bench"

if ! command -v wrk >/dev/null; then
  if command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq wrk; } >&2
  else
    echo "wrk is missing: install it with your system's package manager" >&2
    exit 1
  fi
fi

mkdir -p "$work"
cp -R "$here/peers/." "$work"
cd "$work"
if ! cmp -s package.json node_modules/installed.json; then
  npm install --no-audit --no-fund --no-package-lock --loglevel=error >&2
  cp package.json node_modules/installed.json
fi

rm -f gin/server
if ! command -v go >/dev/null; then
  echo "Peer gin: skipped, Go is not installed" >&2
elif ! (cd gin && CGO_ENABLED=1 go build -o server .) >&2; then
  echo "Peer gin: skipped, it did not build" >&2
fi
echo "$work"
