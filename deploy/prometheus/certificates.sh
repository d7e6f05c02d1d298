#!/bin/sh
# When the certificates of this machine end, for prometheus-node-exporter: install it as /etc/cron.hourly/petstore-certificates.
set -eu
dir=${1:-/var/lib/prometheus/node-exporter}
[ $# -gt 1 ] && shift || set -- /etc/petstore/*.crt /etc/petstore/tls/*.crt /etc/postgresql/*.crt /etc/redis/*.crt
for file; do
	[ ! -r "$file" ] || echo "certificate_not_after_timestamp_seconds{file=\"$file\"}" \
		"$(date -d "$(openssl x509 -noout -enddate -in "$file" | cut -d = -f 2)" +%s)"
done >"$dir/certificates.tmp"
mv "$dir/certificates.tmp" "$dir/certificates.prom"
