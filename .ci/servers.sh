#!/usr/bin/env bash
# The real servers of the ring on a machine that can pull no image: a MongoDB-protocol server (FerretDB on SQLite), Keycloak
# and Nomad as processes, Chromium, Docker's Compose and nginx, and a Docker engine with FerretDB as an image. Needs Go, Java 17,
# Maven and Node; to install what Debian packages, Debian and root.
#
#   eval "$(.ci/servers.sh up)"      start them, and set the variables that lead the suites to them; a server that could not
#                                    be started takes none of the others' variables with it, and the exit code is 1
#   .ci/servers.sh kill|start mongodb|keycloak|nomad
#   .ci/servers.sh engine            a Docker engine with the image; prints the variables for it
#   .ci/servers.sh down              stop what was started
#
# Downloads and builds stay in PORTOLAN_CI_CACHE; pids, ports, logs and data are in PORTOLAN_CI_RUN.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=versions
. "$here/versions"
# shellcheck source=progress.sh
. "$here/progress.sh"

cache=${PORTOLAN_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/portolan-ci}
run=${PORTOLAN_CI_RUN:-$cache/run}
mkdir -p "$cache" "$run"

readonly MONGODB_USER=portolan MONGODB_PASSWORD=portolan-ring-password
readonly KEYCLOAK_ADMIN=admin KEYCLOAK_ADMIN_PASSWORD=portolan-ring-password
readonly IMAGE=portolan-ferretdb:$FERRETDB_VERSION
ferretdb=$cache/ferretdb-$FERRETDB_VERSION
nomad=$cache/nomad-$NOMAD_VERSION
keycloak=$cache/keycloak-$KEYCLOAK_VERSION

# A server keeps its port over a restart. The port lies below those of outgoing connections: a client that keeps calling
# while the server is away may otherwise be given that very port.
port_of() {
  [ -s "$run/$1.port" ] || node -e '
    const server = require("node:net").createServer()
    const listen = () => server.listen(20_000 + Math.floor(Math.random() * 12_000), "127.0.0.1")
    server.on("error", listen)
    server.on("listening", () => { console.log(server.address().port); server.close() })
    listen()' >"$run/$1.port"
  cat "$run/$1.port"
}

answers() { node -e 'fetch(process.argv[1]).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))' "$1"; }

# launch NAME COMMAND...: in a process group of its own, detached from this shell.
launch() {
  local name=$1
  shift
  setsid "$@" >>"$run/$name.log" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
}

pid_of() { cat "$run/$1.pid"; }

running() { [ -s "$run/$1.pid" ] && kill -0 "$(pid_of "$1")" 2>/dev/null; }

# end SIGNAL NAME: signals the group that launch() made and waits until it is gone.
end() {
  local pid
  [ -s "$run/$2.pid" ] || return 0
  pid=$(pid_of "$2")
  rm "$run/$2.pid"
  kill "-$1" -- "-$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do
    kill -0 -- "-$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$pid" 2>/dev/null || true
}

# copy_module MODULE VERSION FOLDER: the source of a Go module, to build its command where it may be completed first.
copy_module() {
  local source
  source=$(bounded 600 go mod download -json "$1@$2" |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).Dir') || return
  rm -rf "$3" && cp -r "$source" "$3" && chmod -R u+w "$3"
}

# go_build FOLDER OUTPUT PACKAGE [FLAG...]
go_build() {
  (cd "$1" && GOTOOLCHAIN=local bounded 1200 go build -buildvcs=false -trimpath -ldflags "-s -w" "${@:4}" -o "$2" "$3")
}

# provide_command NAME VERSION: builds a command once with build_NAME FOLDER OUTPUT, and keeps it.
provide_command() {
  [ -x "$cache/$1-$2" ] && return
  say "$1 $2: building it with Go (once)"
  local work
  work=$(mktemp -d "$cache/building.XXXXXX")
  if retry "build_$1" "$work/source" "$work/command"; then mv "$work/command" "$cache/$1-$2"; fi
  rm -rf "$work"
  [ -x "$cache/$1-$2" ] || { say "$1 could not be built"; return 1; }
}

# install_package NAME...: from Debian, once; what apt printed is shown when it fails.
install_package() {
  say "$*: installing from Debian"
  retry debian_install "$@" >"$run/$1.log" 2>&1 || { say "$1 could not be installed:"; tail -n 20 "$run/$1.log" >&2; return 1; }
}

debian_install() {
  bounded 300 apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive bounded 600 apt-get install -y -qq --no-install-recommends \
      -o DPkg::Lock::Timeout=120 "$@"
}

## MongoDB protocol: FerretDB

# Its command wants the version file that its release process writes.
build_ferretdb() {
  copy_module github.com/FerretDB/FerretDB "v$FERRETDB_VERSION" "$1" || return
  echo "v$FERRETDB_VERSION" >"$1/build/version/version.txt"
  CGO_ENABLED=0 go_build "$1" "$2" ./cmd/ferretdb -tags ferretdb_no_postgresql
}

provide_mongodb() { provide_command ferretdb "$FERRETDB_VERSION"; }

start_mongodb() {
  running mongodb && return
  local address options
  address=127.0.0.1:$(port_of mongodb)
  options=(--listen-addr="$address" --setup-database=admin --setup-username="$MONGODB_USER"
    --setup-password="$MONGODB_PASSWORD" --test-enable-new-auth --handler=sqlite)
  mkdir -p "$run/mongodb"
  launch mongodb env DO_NOT_TRACK=1 "$ferretdb" "${options[@]}" --sqlite-url="file:$run/mongodb/" \
    --state-dir="$run/mongodb" --debug-addr=- --telemetry=disable --log-level=warn
  until_ready MongoDB "$(pid_of mongodb)" "$run/mongodb.log" 30 "$ferretdb" ping "${options[@]}"
}

## Keycloak

fetch_keycloak() {
  bounded 900 mvn --batch-mode --no-transfer-progress --quiet \
    "org.apache.maven.plugins:maven-dependency-plugin:$MAVEN_DEPENDENCY_PLUGIN_VERSION:copy" \
    -Dartifact="org.keycloak:keycloak-quarkus-dist:$KEYCLOAK_VERSION:zip" -DoutputDirectory="$1" >&2 &&
    (cd "$1" && jar xf "keycloak-quarkus-dist-$KEYCLOAK_VERSION.zip")
}

provide_keycloak() {
  [ -d "$keycloak" ] && return
  say "Keycloak $KEYCLOAK_VERSION: fetching it with Maven (once, 160 MB)"
  local work
  work=$(mktemp -d "$cache/fetching.XXXXXX")
  retry fetch_keycloak "$work" || { rm -rf "$work"; say "Keycloak could not be fetched"; return 1; }
  mv "$work/keycloak-$KEYCLOAK_VERSION" "$keycloak"
  rm -rf "$work"
}

# Its realms live in memory, so that every start imports the realm anew.
start_keycloak() {
  running keycloak && return
  local url
  url=http://127.0.0.1:$(port_of keycloak)
  mkdir -p "$keycloak/data/import"
  cp "$here/../tests/fixtures/keycloak/realm.json" "$keycloak/data/import/"
  launch keycloak env KC_BOOTSTRAP_ADMIN_USERNAME="$KEYCLOAK_ADMIN" KC_BOOTSTRAP_ADMIN_PASSWORD="$KEYCLOAK_ADMIN_PASSWORD" \
    JAVA_OPTS_KC_HEAP="-Xms128m -Xmx512m" bash "$keycloak/bin/kc.sh" start-dev --db=dev-mem --http-host=127.0.0.1 \
    --http-port="${url##*:}" --hostname="$url" --import-realm
  until_ready Keycloak "$(pid_of keycloak)" "$run/keycloak.log" 240 answers "$url/realms/demo/.well-known/openid-configuration"
}

## Nomad: taken from the PATH, else built; never required

# Its module leaves out the folder of its API module, which it expects beside it.
build_nomad() {
  copy_module github.com/hashicorp/nomad "v$NOMAD_VERSION" "$1" &&
    copy_module github.com/hashicorp/nomad/api "$NOMAD_API_VERSION" "$1/api" &&
    go_build "$1" "$2" . -mod=mod
}

provide_nomad() { command -v nomad >/dev/null || provide_command nomad "$NOMAD_VERSION"; }

nomad_command() { command -v nomad || echo "$nomad"; }

start_nomad() {
  running nomad && return
  local url
  url=http://127.0.0.1:$(port_of nomad)
  cat >"$run/nomad.hcl" <<HCL
bind_addr = "127.0.0.1"
ports {
  http = $(port_of nomad)
  rpc  = $(port_of nomad-rpc)
  serf = $(port_of nomad-serf)
}
plugin "raw_exec" {
  config { enabled = true }
}
client {
  enabled = true
  options = {
    "driver.allowlist"     = "raw_exec,mock_driver"
    "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean,vault,consul"
  }
}
HCL
  # What the agent leaves behind is below the folder of this run.
  TMPDIR=$run launch nomad "$(nomad_command)" agent -dev -config="$run/nomad.hcl"
  until_ready Nomad "$(pid_of nomad)" "$run/nomad.log" 60 answers "$url/v1/agent/health"
}

## Commands that the suites start themselves

provide_chromium() { command -v chromium >/dev/null || install_package chromium; }

provide_compose() {
  docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || install_package docker-compose
}

# nginx with its Lua module. Debian would start one by itself; in this runlevel it does not.
provide_nginx() {
  dpkg -s nginx libnginx-mod-http-lua lua-cjson >/dev/null 2>&1 ||
    RUNLEVEL=1 install_package nginx libnginx-mod-http-lua lua-cjson
}

# oauth2-proxy, a gateway of others that `stack check` is proved on.
build_oauth2-proxy() {
  copy_module github.com/oauth2-proxy/oauth2-proxy/v7 "v$OAUTH2_PROXY_VERSION" "$1" &&
    CGO_ENABLED=0 go_build "$1" "$2" .
}

provide_oauth2_proxy() {
  command -v oauth2-proxy >/dev/null && return
  provide_command oauth2-proxy "$OAUTH2_PROXY_VERSION"
  echo "export TEST_OAUTH2_PROXY='$cache/oauth2-proxy-$OAUTH2_PROXY_VERSION'"
}

# actionlint, which reads the release's workflow.
build_actionlint() {
  copy_module github.com/rhysd/actionlint "v$ACTIONLINT_VERSION" "$1" &&
    CGO_ENABLED=0 go_build "$1" "$2" ./cmd/actionlint
}

provide_actionlint() {
  command -v actionlint >/dev/null && return
  provide_command actionlint "$ACTIONLINT_VERSION"
  echo "export TEST_ACTIONLINT='$cache/actionlint-$ACTIONLINT_VERSION'"
}

## Schemathesis: in a Python environment of its own

provide_schemathesis() {
  python3 -c 'import ensurepip' 2>/dev/null || install_package python3-venv
  local command
  command=$(XDG_CACHE_HOME=$cache retry bounded 600 "$here/../tests/attacks/install.sh")
  echo "export TEST_SCHEMATHESIS='$command'"
}

## Docker

# An engine that answers already is used and left alone.
start_engine() {
  docker info >/dev/null 2>&1 && return
  if ! command -v dockerd >/dev/null; then
    install_package docker.io
    docker info >/dev/null 2>&1 && return
  fi
  launch docker dockerd
  until_ready Docker "$(pid_of docker)" "$run/docker.log" 60 docker info
}

# For the suites that build and start images of their own, without a registry.
provide_engine() {
  start_engine
  echo "export TEST_DOCKER=docker"
}

build_image() {
  local context=$run/image
  mkdir -p "$context"
  cp "$ferretdb" "$context/ferretdb"
  # The user is the one that tests/support/real_containers.ts gives to a MongoDB image.
  cat >"$context/Dockerfile" <<'DOCKERFILE'
FROM scratch
WORKDIR /data
COPY ferretdb /ferretdb
ENV FERRETDB_HANDLER=sqlite FERRETDB_SQLITE_URL=file:/data/ FERRETDB_STATE_DIR=/data FERRETDB_LISTEN_ADDR=:27017 \
    FERRETDB_DEBUG_ADDR=- FERRETDB_TELEMETRY=disable FERRETDB_TEST_ENABLE_NEW_AUTH=true FERRETDB_SETUP_DATABASE=admin \
    FERRETDB_SETUP_USERNAME=portolan FERRETDB_SETUP_PASSWORD=portolan-container-password
EXPOSE 27017
ENTRYPOINT ["/ferretdb"]
DOCKERFILE
  DOCKER_BUILDKIT=0 docker build --quiet --tag "$IMAGE" "$context" >"$run/image.log" 2>&1 ||
    { say "the image could not be built:"; cat "$run/image.log" >&2; return 1; }
}

## Commands

# serve NAME: provides and starts one server, and prints what leads the suites to it.
serve() {
  "provide_$1"
  say "$1: starting"
  "start_$1"
  say "$1 answers"
  "variables_$1"
}

variables_mongodb() {
  local self="PORTOLAN_CI_CACHE='$cache' PORTOLAN_CI_RUN='$run' '$here/servers.sh'"
  cat <<VARIABLES
export TEST_MONGODB_URL='mongodb://$MONGODB_USER:$MONGODB_PASSWORD@127.0.0.1:$(port_of mongodb)/?authSource=admin'
export TEST_MONGODB_KILL="$self kill mongodb"
export TEST_MONGODB_START="$self start mongodb"
export TEST_MONGODB_ATOMIC_UPDATES=false
VARIABLES
}

variables_keycloak() {
  cat <<VARIABLES
export TEST_KEYCLOAK_URL='http://127.0.0.1:$(port_of keycloak)'
export TEST_KEYCLOAK_ADMIN='$KEYCLOAK_ADMIN'
export TEST_KEYCLOAK_ADMIN_PASSWORD='$KEYCLOAK_ADMIN_PASSWORD'
VARIABLES
}

variables_nomad() {
  echo "export TEST_NOMAD_ADDR='http://127.0.0.1:$(port_of nomad)' TEST_NOMAD_COMMAND='$(nomad_command)'"
}

up() {
  local failed=0 part
  for part in provide_chromium provide_compose provide_engine provide_nginx provide_oauth2_proxy provide_actionlint provide_schemathesis "serve mongodb" "serve keycloak" "serve nomad"; do
    # A shell of its own: the first command that fails ends this part, and the others go on.
    set +e
    (
      set -e
      # Nomad is optional, and its build takes no time from the suites of the required servers.
      [ "$part" != "serve nomad" ] || BUDGET_S=$(($(elapsed) + 1200))
      # shellcheck disable=SC2086 # a function and its argument
      $part
    )
    [ $? -eq 0 ] || [ "$part" = "serve nomad" ] || failed=1
    set -e
  done
  return "$failed"
}

engine() {
  provide_mongodb
  start_engine
  build_image
  say "Docker answers, with the image $IMAGE"
  # The container that usually cleans up after testcontainers cannot be pulled either.
  echo "export TEST_MONGODB_IMAGE='$IMAGE' TEST_MONGODB_ATOMIC_UPDATES=false TESTCONTAINERS_RYUK_DISABLED=true"
}

down() {
  local name mounted
  for name in mongodb keycloak nomad docker; do end TERM "$name"; done
  # An agent that ends leaves the secrets of its allocations mounted.
  while read -r _ mounted _; do
    case $mounted in "$run"/*) umount --lazy "$mounted" || true ;; esac
  done </proc/mounts
}

case "${1:-} ${2:-}" in
"up ") up ;;
"engine ") engine ;;
"down ") down ;;
"kill mongodb" | "kill keycloak" | "kill nomad") end KILL "$2" ;;
"start mongodb" | "start keycloak" | "start nomad") "start_$2" ;;
*)
  echo "usage: $0 up | engine | down | kill|start mongodb|keycloak|nomad" >&2
  exit 2
  ;;
esac
