#!/bin/sh
# After a removal. The user petstore stays, as Debian's policy wants: files of another disk may be its own.
set -e

if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi
