#!/bin/sh
# Makes the passwords of deploy/compose.yaml and a certificate for localhost, once: $1/NAME is a volume of those who need it, and of nobody
# else. The servers and petstorectl run as user 65532, Grafana as 472, which the script gives their files if it is root.
set -eu
umask 077

# store writes the file $1 for user $2 from standard input.
store() {
	cat >"$1.new"
	[ "$(id -u)" != 0 ] || chown "$2" "$1.new"
	mv "$1.new" "$1"
}

# password makes the file $1 for user $2, unless it exists.
password() {
	[ -s "$1" ] || od -An -v -N24 -tx1 /dev/urandom | tr -d ' \n' | store "$1" "$2"
}

password "$1/postgres/password" 0
printf '*:*:*:*:%s\n' "$(cat "$1/postgres/password")" | store "$1/postgres/pgpass" 0
password "$1/grafana/password" 472
for login in owner server staff; do
	password "$1/$login/password" 0
	printf 'postgres://petstore_%s:%s@%s/petstore?sslmode=disable\n' "$login" "$(cat "$1/$login/password")" "$PGHOST" |
		store "$1/$login/database_url" 65532
done
[ -s "$1/tls/tls.crt" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$1/tls/tls.key" -out "$1/tls/tls.crt" 2>/dev/null
