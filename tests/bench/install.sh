#!/usr/bin/env bash
# What the benchmarks need beside the product, kept out of its own dependencies: wrk, the peers' packages, and, where Go
# and a C compiler are, the peer written in Go. Usage: install.sh <folder>, which gets the peers, ready to start.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
packages="${XDG_CACHE_HOME:-$HOME/.cache}/portolan-bench"

if ! command -v wrk >/dev/null; then
  if command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq wrk; } >&2
  else
    echo "wrk is missing: install it with your system's package manager" >&2
    exit 1
  fi
fi

mkdir -p "$packages"
if ! cmp -s "$here/peers/package.json" "$packages/node_modules/installed.json"; then
  cp "$here/peers/package.json" "$packages"
  (cd "$packages" && npm install --no-audit --no-fund --no-package-lock --loglevel=error) >&2
  cp "$here/peers/package.json" "$packages/node_modules/installed.json"
fi

mkdir -p "$1"
cp -R "$here/peers/." "$1"
ln -s "$packages/node_modules" "$1/node_modules"

if ! command -v go >/dev/null; then
  echo "Peer gin: skipped, Go is not installed" >&2
elif ! (cd "$1/gin" && CGO_ENABLED=1 go build -o server .) >&2; then
  echo "Peer gin: skipped, it did not build" >&2
fi
