#!/usr/bin/env bash
# What the benchmarks need beside the product, kept out of its own dependencies: wrk, and Fastify as a peer.
# Prints the folder that holds the peer.
set -euo pipefail
peers="${XDG_CACHE_HOME:-$HOME/.cache}/portolan-bench"
if ! command -v wrk >/dev/null; then
  if command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq wrk; } >&2
  else
    echo "wrk is missing: install it with your system's package manager" >&2
    exit 1
  fi
fi
mkdir -p "$peers"
if [ ! -d "$peers/node_modules/@fastify/jwt" ]; then
  (cd "$peers" && npm init -y >/dev/null && npm install --no-audit --no-fund --loglevel=error fastify@5.12.8 @fastify/jwt@10.2.8) >&2
fi
echo "$peers"
