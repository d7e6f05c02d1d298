#!/bin/sh
# Sends generated requests to a server of its own with Schemathesis, and checks each response against the OpenAPI document that the server serves:
# run.sh CASES, at least 100. bin must have our programs. schemathesis.toml says what is no failure. Seeds make the cases the same in each run.
set -eu
case ${1-} in
'' | *[!0-9]* | ? | ??) echo 'run.sh: want a number of cases, at least 100' >&2; exit 2 ;;
esac
cases=$1
cd "$(dirname "$0")/../.."
here=$PWD/tools/schemathesis programs=$PWD/bin venv=$PWD/bin/schemathesis

# Settings of whoever runs this are for other servers: petstore dev would take their database.
for variable in $(env | sed -n 's/^\(PETSTORE_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$variable"
done

# The virtual environment is made again when what it must have has changed, and when it does not work: its Python may be gone.
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt" || ! "$venv/bin/python" -c 'import schemathesis' 2>/dev/null; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement "$here/requirements.txt"
	cp "$here/requirements.txt" "$venv/"
fi

dir=$(mktemp -d)
chmod 755 "$dir" # PostgreSQL does not run as root, and reads what is in it.
server=
trap 'code=$?; [ -z "$server" ] || { kill "$server" && wait "$server" || :; }; rm -rf "$dir"; exit $code' EXIT
trap 'exit 130' HUP INT TERM
cd "$dir"
PETSTORE_ADDRESS_LIMIT=1000000000 PETSTORE_LOG_LEVEL=warn "$programs/petstore" dev --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 >server.log 2>&1 &
server=$!
# JSON in Go spells & otherwise.
value() { sed -n 's/\\u0026/\&/g; s/^ *"'"$1"'": "\(.*\)",*$/\1/p' .petstore/dev.json; }
until [ -f .petstore/dev.json ] && curl --silent --fail --output /dev/null "$(value admin_url)/readyz"; do
	kill -0 "$server" 2>/dev/null || { cat server.log; exit 1; }
	sleep 0.2
done
PETSTORE_DATABASE_URL=$(value database_url) PETSTORE_ACTOR=schemathesis \
	"$programs/petstorectl" plan assign demo enterprise --per-minute 1000000000 --per-day 1000000000 --yes >ctl.log 2>&1 || { cat ctl.log; exit 1; }

# Schemathesis keeps what it has sent: 130,000 requests in one run took 3 GB and more than an hour. So more than 10,000 cases are made in rounds.
rounds=$(((cases + 9999) / 10000)) round=$((cases / rounds + 1))
# Measured: 194 examples of each operation are 5,144 cases, 201 5,671, 450 10,459. Fewer may be less than 28 cases each, but not less than 8.
examples=$((round < 3000 ? round / 8 + 1 : (round - 1000) / 17))
PETSTORE_API_KEY=$(value api_key)
PETSTORE_KEY_ID=$(curl --silent --fail --header "Authorization: Bearer $PETSTORE_API_KEY" "$(value base_url)/keys/self" | sed 's/^{"id":"\([^"]*\)".*/\1/')
export PETSTORE_API_KEY PETSTORE_KEY_ID
made=0
for seed in $(seq 16 $((15 + rounds))); do
	if ! SCHEMATHESIS_HOOKS=$here/hooks.py "$venv/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$(value base_url)/openapi.json" \
		--seed "$seed" --max-examples "$examples" --generation-database none --no-color >result.log 2>&1; then
		cat result.log
		echo 'Correct the API or its document. What is right as it is goes into tools/schemathesis/schemathesis.toml, with the reason.'
		exit 1
	fi
	made=$((made + $(sed -n 's/^ *\([0-9]*\) generated.*/\1/p' result.log)))
	[ "$rounds" = 1 ] || echo "seed $seed: $made cases so far"
done
unavailable=$(curl --silent "$(value admin_url)/metrics" | awk '/^petstore_http_requests_total.*status="503"/ { n += $2 } END { print n + 0 }')
echo "schemathesis: $made cases, no failure; $unavailable times 503"
[ "$unavailable" -le $((made / 500)) ] || { echo 'run.sh: 503 is an exception, not every five hundredth response' >&2; exit 1; }
[ "$made" -ge "$cases" ] || { echo "run.sh: $cases cases were asked for" >&2; exit 1; }
