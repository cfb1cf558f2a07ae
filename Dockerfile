# Without the embedded PostgreSQL: a container has DATABASE_URL. No dependency that remains needs its install
# script, so none is run.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=optional --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build -- --declaration false --sourceMap false --incremental false

FROM node:24-slim
LABEL org.opencontainers.image.title="Trunkline" \
      org.opencontainers.image.description="Amazon SQS on your own PostgreSQL" \
      org.opencontainers.image.licenses="Apache-2.0"
# On loopback nobody outside of the container could reach the server. It refuses any other address until
# TRUNKLINE_ALLOW_ANONYMOUS=true says that the network is closed to others, which no image can know.
ENV NODE_ENV=production \
    HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY migrations migrations
COPY LICENSE package.json ./
# Everything here belongs to root: the server writes no files.
USER node
EXPOSE 9324
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PORT || 9324}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node.js itself as the first process: it handles SIGTERM, which a shell or npm would keep from it.
CMD ["node", "dist/main.js"]
