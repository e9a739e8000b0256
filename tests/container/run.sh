#!/bin/bash
# Builds the image, runs compose.yaml with podman-compose, and goes through the life of an installation. As root, on Debian:
#   apt-get install podman runc netavark aardvark-dns catatonit debootstrap podman-compose caddy
#   AUTH_BIN=/path/of/auth tests/container/run.sh
# AUTH_BIN is Supabase Auth, with its migrations beside it or in AUTH_DIR; without it the library takes its place.
# PREVIOUS names a commit or tag to upgrade from (by default there is none: the same version, with a marker).
set -euo pipefail
cd "$(dirname "$0")/../.."
missing=$(for tool in podman runc debootstrap podman-compose caddy node npm; do command -v "$tool" >/dev/null || echo "$tool"; done)
[ -z "$missing" ] || { echo "tests/container/run.sh needs" $missing "(its first lines say which packages)"; exit 1; }
[ "$(id -u)" = 0 ] || { echo "tests/container/run.sh must run as root: debootstrap and these settings of podman need it"; exit 1; }

node_version=24.19.0
work=${WORK:-$(mktemp -d /tmp/feedback-container-XXXXXX)}
mkdir -p "$work"
prefix=localhost/feedback-test
base_image=$prefix/base auth_image=$prefix/auth postgrest_image=$prefix/postgrest caddy_image=$prefix/caddy
image=localhost/feedback-collection-service
project=feedback-test
service=${project}_feedback_1
export CONTAINERS_CONF=$work/containers.conf
printf '%s\n' '[engine]' 'runtime = "runc"' '[containers]' 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]' >"$CONTAINERS_CONF"
. tests/container/images.sh

free_port() { node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
export DOMAIN=feedback.localhost CADDY_IMAGE=$caddy_image HTTP_PORT HTTPS_PORT
HTTP_PORT=$(free_port) HTTPS_PORT=$(free_port)
export SITE=https://$DOMAIN:$HTTPS_PORT STATE=$work/state.json
rm -f "$STATE"
files=$work/files
rm -rf "$files" && mkdir "$files" && cp compose.yaml compose.supabase.yaml Caddyfile "$files/"
printf '%s\n' "DOMAIN=$DOMAIN" >"$files/.env"
[ -n "${AUTH_BIN:-}" ] || echo SUPABASE_AUTH= >>"$files/.env"
compose() { podman-compose -p "$project" -f "$files/compose.yaml" "$@" >>"$work/compose.log" 2>&1; }

end() {
  local code=$?
  [ $code = 0 ] || { podman logs "$service" 2>&1 | tail -20; tail -20 "$work/compose.log" 2>/dev/null; }
  compose down || true
  podman volume rm -f ${project}_data ${project}_backups ${project}_certificates ${project}_caddy $project-restored >/dev/null 2>&1 || true
  exit $code
}
trap end EXIT

begun=$(date +%s)
ok() { printf '%5d s  %s\n' $(($(date +%s) - begun)) "$*"; }
fail() { echo "FAILED: $*"; exit 1; }
visit() { node --import tsx tests/container/visit.ts "$@" || fail "visit $*"; }
inside() { podman exec "$service" "$@"; }
wait_ready() {
  for _ in $(seq 300); do
    [ "$(podman inspect --format '{{.State.Running}}' "${1:-$service}" 2>/dev/null)" = true ] \
      && podman healthcheck run "${1:-$service}" >/dev/null 2>&1 && return
    sleep 1
  done
  fail "${1:-$service} is not healthy within 300 s"
}
up() { compose up -d; wait_ready; }

make_base; make_auth; make_postgrest; make_caddy
ok "local images: base (debootstrap), Auth (${AUTH_BIN:-the library}), PostgREST, Caddy"

build_image "$image" .
size=$(($(podman image inspect --format '{{.Size}}' "$image") / 1000000))
[ "$size" -le 600 ] || fail "the image has $size MB"
ok "image built: $size MB"

current=$image
if [ -n "${PREVIOUS:-}" ]; then
  mkdir -p "$work/previous" && git archive "$PREVIOUS" | tar -x -C "$work/previous"
  cp Dockerfile .dockerignore "$work/previous/"
  build_image "$image:previous" "$work/previous"
else
  printf '%s\n' "FROM $image" 'LABEL feedback.test=previous' | podman build --quiet --format=docker --isolation=chroot --tag "$image:previous" - >/dev/null
fi
podman tag "$image" "$image:current"
podman tag "$image:previous" "$image:latest"
up
ok "started ${PREVIOUS:-the same version, with a marker} with DOMAIN alone"

token=$(podman logs "$service" 2>&1 | grep -o 'setup?token=[A-Za-z0-9_-]*' | head -1 | cut -d= -f2)
[ -n "$token" ] || fail "no set-up token in the log"
visit setup "$token"
if [ -n "${AUTH_BIN:-}" ]; then
  # Without MAIL_URL the mails are files.
  for _ in $(seq 60); do
    inside node -e '
      const fs = require("fs"), folder = "/data/feedback/mail";
      const texts = fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => JSON.parse(fs.readFileSync(folder + "/" + name)).text ?? "") : [];
      process.stdout.write(/https:\/\/\S*auth\/confirm\S*/.exec(texts.join("\n"))?.[0] ?? "")' >"$work/link"
    [ -s "$work/link" ] && break
    sleep 1
  done
  visit confirm "$work/link"
  visit setup "$token"
fi
visit vote
visit look
ok "signed up by /setup, wrote a submission, voted"

[ "$(inside id -u)" = 10001 ] || fail "it runs as $(inside id)"
inside sh -c 'for file in /x /app/x /opt/x; do touch $file 2>/dev/null && exit 1; done; touch /tmp/x && rm /tmp/x' || fail "the root file system can be written"
# Lines of /proc/net/tcp: a listener (0A) at any address but 127.0.0.1 and ::1.
open=$(inside sh -c 'cat /proc/net/tcp /proc/net/tcp6' | awk '$4 == "0A" && $2 !~ /^(0100007F|00000000000000000000000001000000):/ {print substr($2, length($2) - 3)}' | sort -u)
[ "$open" = "$(printf '%04X' 54321)" ] || fail "listening at ports (hexadecimal): $open"
published=$(podman port -a | grep -c "^$(podman inspect --format '{{.Id}}' "$service" | cut -c1-12)" || true)
[ "$published" = 0 ] || fail "the service publishes a port"
curl -sk --resolve "$DOMAIN:$HTTPS_PORT:127.0.0.1" -o /dev/null -w '%{http_code} %header{strict-transport-security}' "$SITE/" | grep -q '^200 max-age' || fail "no HSTS"
[ "$(curl -sk --resolve "$DOMAIN:$HTTPS_PORT:127.0.0.1" -o /dev/null -w '%{http_code}' "$SITE/_mail/x")" = 404 ] || fail "/_mail"
[ "$(curl -s -H 'Host: evil.example' -o /dev/null -w '%{redirect_url}' "http://127.0.0.1:$HTTP_PORT/new")" = "$SITE/new" ] || fail "the redirect to https"
ok "not root, read-only root, one listener besides loopback, no port published, HSTS, redirect to https, no /_mail"

compose down
up
visit look
ok "stopped and started again: the data and the session are there"

podman tag "$image:current" "$image:latest"
compose down
up
visit look
ok "upgraded to the current image"

for name in postgres realtime start; do
  inside node -e '
    const fs = require("fs"), [name] = process.argv.slice(1);
    const found = fs.readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).find((pid) => {
      const line = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return { postgres: / -D \/data/, realtime: /realtime/, start: /local\/start/ }[name].test(line) && !/ -e /.test(line) && pid !== "1";
    });
    if (!found) throw new Error(`no process ${name}`);
    process.kill(Number(found), "SIGKILL")' "$name" || fail "kill -9 of $name"
  sleep 2
  # Without systemd podman restarts nothing by itself; Docker and podman with systemd do.
  [ "$(podman inspect --format '{{.State.Running}}' "$service")" = true ] || podman start "$service" >/dev/null
  wait_ready
done
visit look
ok "kill -9 of Postgres, realtime and the launcher: it serves again with its data"

inside npm run --silent backup -- /backups/by-hand.tar.gz >/dev/null
[ "$(inside stat -c %a /backups/by-hand.tar.gz)" = 600 ] || fail "mode of the backup"
inside ls /backups | grep -q '^feedback-.*gz$' && ok "the nightly backup is there" || ok "no nightly backup before 03:00 UTC"
second=$(podman run --rm --read-only --tmpfs /tmp --network=none -v "${project}_data:/data" "$image" 2>&1 || true)
[[ $second == *"in use by a running stack"* ]] || fail "two services on one volume: $second"
podman volume create "$project-restored" >/dev/null
podman run --rm --read-only --tmpfs /tmp --network=none -v "$project-restored:/data" -v "${project}_backups:/backups" "$image" \
  npm run --silent restore -- /backups/by-hand.tar.gz >/dev/null
compose down
sed -i "s/^  data:/  data: {external: true, name: $project-restored}/" "$files/compose.yaml"
up
podman inspect --format '{{range .Mounts}}{{.Name}} {{end}}' "$service" | grep -q restored || fail "the restored volume is not in use"
visit look
ok "backup by hand restored into a new volume: the data and the session are there"
