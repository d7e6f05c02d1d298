#!/bin/sh
# Runs copies of each package's tests, as many beside each other as there are processors, and twice as many busy loops beside them:
# flakes.sh COUNT PACKAGE …. What a copy that failed has printed is in bin/flakes.
set -eu
case ${1-} in '' | 0 | *[!0-9]*) echo 'want a number of copies, such as COUNT=20' >&2 && exit 2 ;; esac
count=$1 beside=$(getconf _NPROCESSORS_ONLN) logs=$PWD/bin/flakes failed=0
shift
stress=$(go tool -modfile=tools/go.mod -n stress)
rm -rf "$logs" && mkdir -p "$logs"
loops=
trap 'kill $loops' EXIT
# As make test does: else each copy links them.
make -s build BIN="$logs" LDFLAGS='-X main.version=v0.0.0-e2e'
export PETSTORE_E2E_PROGRAMS="$logs"
for _ in $(seq $((2 * beside))); do
	while :; do :; done &
	loops="$loops $!"
done
raced=$(bin/suite raced "$@")
for name in $(go list -tags nomsgpack -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@"); do
	package=$(go list -tags nomsgpack -f '{{.Dir}}' "$name")
	case "
$raced
" in *"
$name
"*) race=-race ;; *) race='' ;; esac
	go test -c $race -tags nomsgpack -trimpath -vet off -o "$logs/suite.test" "$package"
	echo "$package"
	(cd "$package" && "$stress" -p "$beside" -count "$count" -timeout 20m -o "$logs/$(basename "$package")-" "$logs/suite.test" -test.parallel=3) || failed=1
done
rm -f "$logs/suite.test" "$logs/petstore" "$logs/petstorectl"
exit $failed
