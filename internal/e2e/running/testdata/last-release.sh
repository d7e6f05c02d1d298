#!/bin/sh
# Writes last-release and last-release.tar.gz: a commit, and the files of it that its programs are built of. In place of the reference's script
# (1.2 MB), which no upgrade asks for, is an empty one.
#
#	internal/e2e/running/testdata/last-release.sh COMMIT
set -eu
to=$(cd "$(dirname "$0")" && pwd)
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
git -C "$to" rev-parse "$1^{commit}" >"$to/last-release"
git -C "$(git -C "$to" rev-parse --show-toplevel)" archive "$1" | tar -x -C "$source"
cd "$source"
gzip -9n </dev/null >internal/api/reference/assets/scalar.js.gz
go list -tags nomsgpack -deps -f '{{if and .Module .Module.Main}}{{$dir := .Dir}}
{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .IgnoredGoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}' ./cmd/petstore ./cmd/petstorectl | grep . | grep -v '_test\.go$' | sed "s,^$source/,," | sort |
	tar -c --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r --mtime=@0 go.mod go.sum -T - | gzip -9n >"$to/last-release.tar.gz"
