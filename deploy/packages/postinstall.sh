#!/bin/sh
# After an installation or an upgrade, by dpkg (configure) or rpm (1, 2). It starts and restarts nothing: a server needs its database first,
# and an upgrade its migrations.
set -e

# dpkg --root sets DPKG_ROOT instead of changing the root directory, if it is told to.
systemd-sysusers ${DPKG_ROOT:+"--root=$DPKG_ROOT"} petstore.conf

if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if systemctl --quiet is-active petstore.service; then
		echo "petstore.service still runs the earlier release. Next: systemctl start petstore-migrate && systemctl restart petstore"
	fi
fi
