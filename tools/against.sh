#!/bin/sh
# Compares this program with that of another commit: against.sh COMMIT ROW[,ROW …] ROUNDS [OPTIONS]. A row that has another name there is OLD=NEW. Each
# program is measured by its own benchmark, on a database that it made itself, and who begins changes from round to round. The options are for this
# program's: with -month its tenants have a limit more than those of the other. benchstat prints the medians, their confidence intervals of 95 % and p.
set -eu
[ $# = 3 ] || [ $# = 4 ] || { echo 'want a commit, rows and a number of rounds, such as AGAINST=HEAD~5 ROW=list,list_redis ROUNDS=10, or ROW=list_memory=list' >&2; exit 2; }
here=$PWD commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "there is no commit $1" >&2; exit 2; }
work=$(mktemp -d) rows=$2 rounds=$3 options=${4-}
trap 'git worktree remove --force "$work/$commit" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
git worktree add --quiet --detach "$work/$commit" "$commit"
for side in "$here" "$work/$commit"; do
	make -s -C "$side" build
	(cd "$side" && go build -tags nomsgpack -o bin/bench ./bench)
done

# measure DIRECTORY FILE NAMES adds one run of each row to a file in the form of Go's benchmarks. NAMES says which names the rows have there:
# those before = or those after it. In the file they have the new ones.
measure() {
	names=$(printf '%s\n' "$rows" | tr , '\n' | awk -F = -v names="$3" '{ print names == "old" ? $1 : $NF }' | sort -u | paste -sd , -)
	[ "$3" = new ] && own=$options || own=
	rm -f "$work/results.json"
	(cd "$1" && bin/bench -cases "$names" -rounds 1 -duration 3s -pinned 10s -document '' -results "$work/results.json" $own) >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2; exit 1; }
	awk -F '[ ",:]+' -v rows="$rows" -v names="$3" '
		/^Benchmark/ { of = substr($1, 10); $1 = ""; found[of] = substr($0, 2); next }
		{ value[$2] = $3 } # a program from before wrote JSON
		/"runs"/ && "cpu_ratio" in value { found[value["name"]] = sprintf("1 %s CPU-of-bare %s µs-CPU %s ms-p99", value["cpu_ratio"], value["cpu_us"], value["p99_ms"]) }
		/"runs"/ && "ratio" in value { found[value["name"]] = sprintf("1 %s requests/s %s of-bare %s µs-CPU", value["rps"], value["ratio"], value["cpu_us"]) }
		/"runs"/ { delete value }
		END {
			for (n = split(rows, row, ","); n > 0; n--) {
				last = split(row[n], name, "=")
				of = names == "old" ? name[1] : name[last]
				if (of in found) { print "Benchmark" name[last], found[of]; done[of] }
			}
			for (of in found) if (!(of in done) && "," rows "," ~ /,pinned,/) print "Benchmark" of, found[of]
		}
	' "$work/results.json" >>"$2"
}

for file in this that; do
	printf 'Unit %s\n' 'requests/s better=higher' 'of-bare better=higher' 'µs-CPU better=lower' 'CPU-of-bare better=lower' 'ms-p99 better=lower' >"$work/$file"
done
for round in $(seq "$rounds"); do
	echo "round $round of $rounds" >&2
	[ $((round % 2)) = 1 ] || measure "$here" "$work/this" new
	measure "$work/$commit" "$work/that" old
	[ $((round % 2)) = 0 ] || measure "$here" "$work/this" new
done
go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da "$1=$work/that" "this=$work/this"
