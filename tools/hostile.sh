#!/bin/sh
# Runs make test and make test-all where tests usually do not run, to show that they depend on nothing there: hostile.sh [CASE …] (all without one).
#   variables  with nonsense in every variable that a developer's shell might have set
#   folder     in a copy without git, whose path has a space and a ü, with umask 077, a TMPDIR elsewhere and without HOME
#   user       the same copy as the user nobody, who may install nothing
#   offline    without a network
#   busy       on two processors, beside eight busy loops
#   beside     beside another make test, in that copy
#   clocks     400 days from now, over the end of 31 December, and over that of 29 February: all Go programs, Postgres and Redis have that clock
#   serving    in a folder in which petstore dev has run, and while it runs
# PACKAGES are those of make test. It needs Linux and root, and all that make test-all installs.
set -u
cd "$(dirname "$0")/.." || exit
PACKAGES=${PACKAGES:-./...}
work=$(mktemp -d) && mkdir "$work/a ü b" || exit
chmod 755 "$work"
children=
trap 'kill $children 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

run() { make test PACKAGES="$PACKAGES" && make test-all PACKAGES="$PACKAGES"; }

variables() (
	for variable in PETSTORE_DATABASE_URL PETSTORE_REDIS_URL PETSTORE_LOG_LEVEL PETSTORE_LOG_FORMAT PETSTORE_ADDR PETSTORE_PROFILE \
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
	setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$work/home" GOFLAGS=-modcacherw PACKAGES="$PACKAGES" \
		sh -c 'make test PACKAGES="$PACKAGES" && make test-all PACKAGES="$PACKAGES"'
)

offline() { unshare --net sh -c 'ip link set lo up && make test PACKAGES="$0" && make test-all PACKAGES="$0"' "$PACKAGES"; }

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

beside() (
	copy || exit
	make -C "$work/a ü b/petstore" test PACKAGES="$PACKAGES" >"$work/other" 2>&1 &
	children=$!
	trap 'kill $children 2>/dev/null' EXIT
	run
	status=$?
	wait $children || status=1
	echo '== the other one' && tail -n 100 "$work/other"
	exit $status
)

# clocks runs the tests in a copy of Go whose time.Now is as many seconds ahead as a file says, except in bubbles of synctest: programs of tests
# have no variables of ours. Postgres, psql, Redis and date get the clock by a library: libfaketime's does not start below the
# allocator of Redis.
clocks() (
	status=0 ahead=/tmp/petstore-clock-ahead # It is the same in each run, so that what Go has built is built once.
	(set -C && : >$ahead) || { echo "hostile.sh: is another one running? Then wait, else remove $ahead" >&2; exit 1; }
	trap 'rm -f $ahead' EXIT
	postgres=$(find "$(pg_config --bindir)" -name postgres) go=$(go env GOROOT) date=$(command -v date)
	mkdir "$work/go" "$work/servers" && cp -r "$go/." "$work/go" && cat >"$work/go/src/time/ahead.go" <<-'END' &&
		package time

		import "syscall"

		var byTest = func() (seconds int64) {
			file, err := syscall.Open("/tmp/petstore-clock-ahead", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
			if err != nil {
				return 0
			}
			defer syscall.Close(file)
			text := make([]byte, 10)
			n, _ := syscall.Read(file, text)
			for _, digit := range text[:max(0, n)] {
				seconds = 10*seconds + int64(digit-'0')
			}
			return seconds
		}()

		func ahead() int64 {
			if runtimeIsBubbled() {
				return 0
			}
			return byTest
		}
	END
		sed '/^func Now()/,/^}/s/:= runtimeNow()$/&\n\tsec += ahead()/' "$go/src/time/time.go" >"$work/go/src/time/time.go" || exit
	cc -shared -fPIC -o "$work/servers/clock.so" -x c - <<-'END' || exit
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <sys/time.h>
		#include <time.h>
		#include <unistd.h>

		static time_t ahead;

		__attribute__((constructor)) static void init(void) { ahead = atol(getenv("CLOCK_AHEAD")); }

		int clock_gettime(clockid_t clock, struct timespec *t)
		{
			int status = syscall(SYS_clock_gettime, clock, t);
			if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
				t->tv_sec += ahead;
			return status;
		}

		int gettimeofday(struct timeval *t, void *zone)
		{
			int status = syscall(SYS_gettimeofday, t, zone);
			t->tv_sec += ahead;
			return status;
		}

		time_t time(time_t *t)
		{
			time_t now = syscall(SYS_time, NULL) + ahead;
			if (t)
				*t = now;
			return now;
		}
	END
	for program in "$postgres" "${postgres%postgres}initdb" "$(command -v redis-server)" "$(command -v psql)" "$date"; do
		server=$work/servers/${program##*/}
		# initdb and Postgres get no variables of ours.
		printf '#!/bin/sh\nCLOCK_AHEAD=$(cat %s) LD_PRELOAD=%s exec %s "$@"\n' $ahead "$work/servers/clock.so" "$program" >"$server"
		chmod 755 "$server"
	done
	export GOROOT="$work/go" PATH="$work/servers:$work/go/bin:$PATH"
	for instant in "$($date -u -d '400 days' '+%F %T')" '2027-12-31 23:58' '2028-02-29 23:58'; do
		echo "== clocks from $instant on"
		printf %d $(($($date -u -d "$instant" +%s) - $($date +%s))) >$ahead
		run || status=1
	done
	exit $status
)

serving() (
	make -s build || exit
	bin/petstore dev >"$work/dev" 2>&1 &
	children=$!
	trap 'kill -INT $children; wait $children' EXIT
	until grep -qs 'API:' "$work/dev"; do
		kill -0 $children && sleep 1 || { cat "$work/dev"; exit 1; }
	done
	run
)

failed=
for case in ${*:-variables folder user offline busy beside clocks serving}; do
	begin=$(date +%s)
	echo "== $case"
	"$case" || failed="$failed $case"
	echo "== $case: $(($(date +%s) - begin)) s"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
