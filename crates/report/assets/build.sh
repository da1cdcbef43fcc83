#!/bin/sh
# Makes echarts.min.js (the bundled part of Apache ECharts) and SHA256SUMS. Needs node and npm.
# Run it after changing package.json or echarts-entry.js; the result is committed, so that building Plimsoll needs neither.
set -eu
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund
banner=$(mktemp)
trap 'rm -f "$banner"' EXIT
# A report is a copy of the library given to somebody else: it carries the licences in full.
{
  echo '/*!'
  echo 'Part of Apache ECharts 6.1.0 with zrender and tslib. Their notices and licences follow.'
  echo
  cat node_modules/echarts/NOTICE; echo
  echo; echo '--- Apache ECharts: LICENSE'; cat node_modules/echarts/LICENSE
  echo; echo '--- zrender: LICENSE'; cat node_modules/zrender/LICENSE
  echo; echo '--- tslib: LICENSE'; cat node_modules/tslib/LICENSE.txt
  echo '*/'
} | tr -d '\r' > "$banner"
# esbuild's own binary is started directly: its install script is never run.
node_modules/esbuild/bin/esbuild echarts-entry.js --bundle --minify --format=iife --global-name=echarts \
  --target=es2019 --charset=ascii --legal-comments=none '--define:process.env.NODE_ENV="production"' \
  --banner:js="$(cat "$banner")" --outfile=echarts.min.js --log-level=warning
sha256sum echarts.min.js > SHA256SUMS
ls -l echarts.min.js
