#!/usr/bin/env bash
# What the attack by the contract needs beside the product, kept out of its own dependencies: schemathesis, in a virtual
# environment of its own. Needs Python 3.10 or newer. Prints the path of the command.
set -euo pipefail
wanted="$(cd "$(dirname "$0")" && pwd)/requirements.txt"
environment="${XDG_CACHE_HOME:-$HOME/.cache}/portolan-attacks"

if ! cmp -s "$wanted" "$environment/installed.txt"; then
  rm -rf "$environment"
  python3 -m venv "$environment" >&2
  "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$wanted" >&2
  cp "$wanted" "$environment/installed.txt"
fi
echo "$environment/bin/schemathesis"
