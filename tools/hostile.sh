#!/bin/sh
# Runs make test where tests usually do not run, to show that they depend on nothing there: hostile.sh [CASE …] (all without one).
#   variables  with nonsense in every variable that a developer's shell might have set
#   folder     in a copy without git, whose path has a space and a ü, with umask 077, a TMPDIR elsewhere and without HOME
#   user       the same copy as the user nobody, who may install nothing
#   offline    without a network
#   busy       on two processors, beside eight busy loops
#   serving    in a folder in which petstore dev has run, and while it runs
# PACKAGES are those of make test. It needs Linux and root, and all that make test installs.
set -u
cd "$(dirname "$0")/.." || exit
PACKAGES=${PACKAGES:-./...}
work=$(mktemp -d) && mkdir "$work/a ü b" || exit
chmod 755 "$work"
children=
trap 'kill $children 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

run() { make test PACKAGES="$PACKAGES"; }

variables() (
	for variable in PETSTORE_DATABASE_URL PETSTORE_REDIS_URL PETSTORE_LOG_LEVEL PETSTORE_LOG_FORMAT PETSTORE_ADDR PETSTORE_CONTEXT PETSTORE_CONFIG_DIR \
		PETSTORE_NONSENSE PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGOPTIONS PGCLIENTENCODING PGDATESTYLE \
		PGTARGETSESSIONATTRS PGSSLMODE PGAPPNAME OTEL_EXPORTER_OTLP_ENDPOINT OTEL_TRACES_SAMPLER OTEL_SDK_DISABLED HTTP_PROXY HTTPS_PROXY NO_PROXY \
		http_proxy https_proxy PAGER BROWSER EDITOR CDPATH GREP_COLORS NOTIFY_SOCKET PYTHONWARNINGS; do
		export "$variable=nonsense"
	done
	export NO_COLOR=1 CLICOLOR_FORCE=1 TERM=dumb COLUMNS=20 LANG=tr_TR.UTF-8 LC_ALL=C TZ=Pacific/Kiritimati GOFLAGS=-mod=mod GOMAXPROCS=1
	run
)

# copy makes the folder of folder and user, which has what git has, and what npm has installed.
copy() {
	rm -rf "$work/a ü b/petstore" && mkdir "$work/a ü b/petstore" || return
	{ git ls-files -z && find tools/npm/node_modules -type f -print0 -o -type l -print0; } |
		tar -c --null --no-recursion -T - | tar -x -C "$work/a ü b/petstore"
}

folder() (
	umask 077
	copy && mkdir -p "$work/elsewhere" && cd "$work/a ü b/petstore" || exit
	TMPDIR=$work/elsewhere && export TMPDIR && chmod 755 "$TMPDIR" "$work/a ü b"
	unset HOME
	run
)

user() (
	copy && mkdir "$work/home" && chown -R nobody "$work" && cd "$work/a ü b/petstore" || exit
	setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$work/home" GOFLAGS=-modcacherw make test PACKAGES="$PACKAGES"
)

offline() { unshare --net sh -c 'ip link set lo up && exec make test PACKAGES="$0"' "$PACKAGES"; }

busy() (
	loops=
	for _ in 1 2 3 4 5 6 7 8; do
		taskset -c 0,1 sh -c 'while :; do :; done' &
		loops="$loops $!"
	done
	taskset -c 0,1 make test PACKAGES="$PACKAGES"
	status=$?
	kill $loops
	exit $status
)

serving() (
	make -s build && bin/petstore dev >"$work/dev" 2>&1 &
	children=$!
	trap 'kill -INT $children; wait $children' EXIT
	until grep -q 'API:' "$work/dev"; do
		kill -0 $children && sleep 1 || { cat "$work/dev"; exit 1; }
	done
	run
)

failed=
for case in ${*:-variables folder user offline busy serving}; do
	begin=$(date +%s)
	echo "== $case"
	"$case" || failed="$failed $case"
	echo "== $case: $(($(date +%s) - begin)) s"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
