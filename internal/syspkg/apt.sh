#!/bin/sh
# Installs the packages named as arguments without starting what they bring: policy-rc.d keeps services down, the drop-in
# keeps postgresql-common from creating and starting a cluster. Both are removed again, unless they were there before.
set -eu
export DEBIAN_FRONTEND=noninteractive

root=${DPKG_ROOT:-}
policy=$root/usr/sbin/policy-rc.d
cluster=$root/etc/postgresql-common/createcluster.d/petstore-no-cluster.conf
made=
clean() {
	[ -z "$made" ] || rm -f $made
	rmdir -p "${cluster%/*}" 2>/dev/null || :
}
trap clean EXIT
trap 'exit 130' HUP INT TERM

if [ ! -e "$policy" ]; then
	made="$made $policy"
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
if [ ! -e "$cluster" ]; then
	made="$made $cluster"
	mkdir -p "${cluster%/*}"
	printf 'create_main_cluster = false\n' >"$cluster"
fi

get() { apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" </dev/null; }
get "$@" || { apt-get update && get "$@"; }
