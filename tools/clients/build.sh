#!/bin/sh
# Builds the packages for customers and puts them into clients/released: build.sh [go]. The tools of each are pinned by its lock files.
set -eu
cd "$(dirname "$0")/../.."
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
if [ "${1-}" != go ] && [ -f clients/typescript/package.json ]; then
	(
		cd clients/typescript
		npm ci --silent --no-audit --no-fund
		npm run --silent build
		npm pack --silent --pack-destination "$built" >/dev/null
	)
fi
if [ "${1-}" != go ] && [ -f clients/python/pyproject.toml ]; then
	python3 -m venv "$built/venv"
	"$built/venv/bin/pip" install --quiet --require-hashes -r clients/python/tests/tools.txt
	(cd clients/python && "$built/venv/bin/python" -m hatchling build -t wheel -d "$built" >/dev/null 2>&1)
fi
go -C tools/clients build -o ../../bin/clients .
find "$built" -maxdepth 1 \( -name '*.tgz' -o -name '*.whl' \) -exec bin/clients {} +
bin/clients
