#!/bin/sh
# Before a removal by dpkg (remove) or rpm (0). Before an upgrade nothing stops.
set -e

case $1 in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl --no-reload disable --now petstore.socket petstore.service || :
	fi
	;;
esac
