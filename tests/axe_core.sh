#!/usr/bin/env bash
# Prints the path of axe-core's script, which finds what keeps readers with screen readers and keyboards out of a page. It comes from the npm
# registry into a cache outside of the repository, since its licence is another one, and its hash is checked. usage: axe_core.sh
set -euo pipefail

version=4.14.1
integrity=FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==
cache=${XDG_CACHE_HOME:-$HOME/.cache}/flowloom/axe-core-$version
archive=$cache/axe-core-$version.tgz

fail() {
  echo "error: axe-core $version: $1" >&2
  echo "  the report is checked with it for readers who cannot see or use a mouse" >&2
  echo "  hint: $2" >&2
  exit 1
}

hash_of() { openssl dgst -sha512 -binary "$1" | base64 -w0; }

if [ ! -f "$archive" ] || [ "$(hash_of "$archive")" != "$integrity" ]; then
  command -v npm >/dev/null || fail "npm is not here to fetch it" "install Node.js: sudo apt-get install nodejs npm"
  mkdir -p "$cache"
  rm -f "$archive"
  (cd "$cache" && npm pack --silent "axe-core@$version" >/dev/null) ||
    fail "the npm registry could not be reached" "try again, or put axe-core-$version.tgz into $cache"
fi
[ "$(hash_of "$archive")" = "$integrity" ] || fail "$archive is not what it should be" "remove it and try again"
tar -xzf "$archive" -C "$cache" package/axe.min.js
echo "$cache/package/axe.min.js"
