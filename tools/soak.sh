#!/bin/sh
# Runs the long tests in parts, one after another: soak.sh [PART ...], all parts if none is named. A part that fails does not keep the others from
# running. At the end a table says what each did; the exit code is 1 if any failed. The whole output of each is in bin/soak. make soak installs
# what the tests start, and sets SOAK, the time for each fuzzer, and CASES, the number of Schemathesis's.
set -u
cd "$(dirname "$0")/.." || exit
: "${GO:=go}" "${TAGS:=nomsgpack}" "${SOAK:=1m}" "${CASES:=200000}"
logs=bin/soak rows= failed=0
echo "$(uptime | sed 's/.*load average/load average/'), $(getconf _NPROCESSORS_ONLN) cores"

# The packages whose tests PETSTORE_SOAK=1 makes longer; each is a part by its last name. Those of internal/e2e itself run with the fast path and without,
# but for the two that take an hour, in which the way of HTTP plays no part.
packages=$(grep -rlE 'Getenv\("PETSTORE_SOAK"\)|env\.PETSTORE_SOAK' --include='*_test.go' --include='*.mjs' internal cmd | grep -v /test/sandbox/ |
	xargs -n 1 dirname | sort -u)
known="simulation $(echo "$packages" | grep -Ev '/(simtest|e2e)$' | sed 's,.*/,,' | tr '\n' ' ')fuzz schemathesis"
[ ! -x tools/hostile.sh ] || known="$known hostile"
known="$known bounds oracle late e2e-on e2e-off"
for part in "$@"; do
	case " $known " in
	*" $part "*) ;;
	*) echo "soak.sh: no part $part: there are $known" >&2; exit 2 ;;
	esac
done
[ $# -gt 0 ] || set -- $known

package() { PETSTORE_SOAK=1 $GO test -tags "$TAGS" -vet off -count=1 -timeout 90m -v "$@"; }

# bounds runs the tests that call wait.Bound, one after another: promised times are checked there, and in the long form of internal/e2e.
bounds() {
	code=0
	for found in $(grep -rl 'wait\.Bound(' --include='*_test.go' internal cmd bench | grep -v /test/wait/ | xargs awk '
		/^func / { split($2, name, "(") }
		/wait\.Bound\(/ && !seen[FILENAME, name[1]]++ { dir = FILENAME; sub("/[^/]*$", "", dir); tests[dir] = tests[dir] "|" name[1] }
		END { for (dir in tests) print dir ":" substr(tests[dir], 2) }' | sort); do
		echo "== $found"
		PETSTORE_BOUNDS=1 CGO_ENABLED=0 $GO test -tags "$TAGS" -trimpath -vet off -count=1 -p 1 -parallel 1 -timeout 10m -v \
			-run "^(${found#*:})\$" "./${found%:*}" || code=1
	done
	return $code
}

fuzz() {
	code=0
	for found in $(grep -rE '^func Fuzz' --include='*_test.go' internal cmd bench | sed 's,/[^/]*:func ,:,; s/(.*//'); do
		echo "== $found"
		$GO test -tags "$TAGS" -vet off -run '^$' -fuzz "^${found#*:}\$" -fuzztime "$SOAK" "./${found%:*}" || code=1
	done
	return $code
}

run() {
	case $1 in
	simulation) CGO_ENABLED=0 package -trimpath ./internal/limits/distributed/simtest ./internal/cluster/simtest ;;
	fuzz) fuzz ;;
	bounds) bounds ;;
	schemathesis) tools/install.sh python3-venv && make -s build && tools/schemathesis/run.sh "$CASES" ;;
	hostile) tools/hostile.sh ;;
	e2e-*) PETSTORE_BOUNDS=1 PETSTORE_E2E_SERVER_ENV=PETSTORE_HTTP_FAST_PATH=${1#e2e-} PETSTORE_E2E_RACE=1 package -race -skip '^Test(Oracle|NothingHappensLate)$' ./internal/e2e ;;
	oracle) package -run '^TestOracle$' ./internal/e2e ;;
	late) package -run '^TestNothingHappensLate$' ./internal/e2e ;;
	*) package "./$(echo "$packages" | grep "/$1\$")" ;;
	esac
}

# did says what a part did, by its output: how many tests and what they count, or its last line.
did() {
	case $1 in
	schemathesis | hostile) tail -n 1 "$logs/$1.log" ;;
	*) awk '
		/^--- (PASS|FAIL|SKIP)/ { n["tests"]++ }
		/^--- SKIP/ { n["skipped"]++ }
		/^--- FAIL/ { n["failed"]++ }
		/^== .*:Fuzz/ { n["fuzzers"]++; n["executions"] += execs; execs = 0 }
		/ the bound is / { n["bounds"]++ }
		/^fuzz: elapsed/ { execs = $0; sub(/.*execs: /, "", execs); execs += 0 }
		/_test\.go:[0-9]+: / {
			while (match($0, /[0-9]+ (requests|schedules)/)) {
				split(substr($0, RSTART, RLENGTH), word, " ")
				n[word[2]] += word[1]
				$0 = substr($0, RSTART + RLENGTH)
			}
		}
		END {
			n["executions"] += execs
			count = split("tests failed skipped bounds fuzzers executions schedules requests", names, " ")
			for (i = 1; i <= count; i++) if (n[names[i]] > 0) { printf "%s%d %s", comma, n[names[i]], names[i]; comma = ", " }
		}' "$logs/$1.log" ;;
	esac
}

table() {
	echo
	printf '%-14s %-7s %9s  %s\n' part result duration 'what it did'
	printf '%s' "$rows"
}
trap table EXIT
trap 'exit 130' HUP INT TERM

mkdir -p "$logs"
for part in "$@"; do
	echo "== $part: $logs/$part.log"
	began=$(date +%s) result=passed
	run "$part" >"$logs/$part.log" 2>&1 || result=FAILED failed=1
	seconds=$(($(date +%s) - began))
	[ $result = passed ] || grep -E '^ *--- FAIL|^FAIL|^panic:|DATA RACE|_test\.go:[0-9]+: ' "$logs/$part.log" | grep -A 3 FAIL | head -n 40
	rows="$rows$(printf '%-14s %-7s %5dm %02ds  %s' "$part" $result $((seconds / 60)) $((seconds % 60)) "$(did "$part")")
"
done
exit $failed
