#!/bin/sh
# Installs those of the named programs that are missing: postgres redis-server chromium npm mvn wrk pgbouncer pgbackrest python3 python3-venv curl nginx
# haproxy caddy prometheus prometheus-*-exporter mtail openssl rpm debootstrap systemd-sysusers systemd-analyze systemd-socket-activate buildah
# uidmap ca-certificates. It uses Homebrew on macOS and apt-get elsewhere, as root or through a
# sudo without password. For a program that it cannot install it prints one line with the command, and fails after it has tried the others.
set -u

root=${DPKG_ROOT:-} # the file system that apt-get installs into

# has reports whether a program is installed. PostgreSQL's are rarely in PATH: the patterns are those of internal/localpg.
has() {
	case $1 in
	postgres)
		for dir in "$(pg_config --bindir)" \
			"$root"/usr/lib/postgresql/*/bin \
			"$root"/usr/pgsql-*/bin \
			"$root"/usr/libexec/postgresql* \
			"$root"/opt/homebrew/opt/postgresql@*/bin \
			"$root"/opt/homebrew/opt/postgresql/bin \
			"$root"/usr/local/opt/postgresql@*/bin \
			"$root"/usr/local/opt/postgresql/bin \
			"$root"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin \
			"$root"/Applications/Postgres.app/Contents/Versions/*/bin; do
			[ ! -x "$dir/postgres" ] || [ ! -x "$dir/initdb" ] || return 0
		done
		;;
	chromium)
		for name in chromium-headless-shell chromium-browser google-chrome-stable google-chrome; do
			! command -v "$name" || return 0
		done
		;;
	python3-venv) # which Debian has taken out of its Python
		! python3 -c 'import ensurepip, venv' || return 0
		;;
	rpm | systemd-sysusers | systemd-socket-activate | mtail | prometheus-*-exporter) [ "$(uname)" = Linux ] || return 0 ;; # their tests are for Linux
	uidmap) # root needs none, unless it installs for somebody
		! command -v newuidmap || return 0
		[ "$(id -u)" != 0 ] || [ -n "${SUDO_UID:-}" ] || return 0
		;;
	ca-certificates) [ ! -s "$root/etc/ssl/certs/ca-certificates.crt" ] || return 0 ;;
	debootstrap) [ "$(uname)" = Linux ] && [ ! -x "$root/usr/sbin/$1" ] || return 0 ;;
	pgbouncer | nginx | haproxy) [ ! -x "$root/usr/sbin/$1" ] || return 0 ;; # which is not in everybody's PATH
	esac >/dev/null 2>&1
	command -v "$1" >/dev/null
}

# advice is the command that installs a program.
advice() {
	case $(uname):$1 in
	Darwin:postgres) echo brew install postgresql@17 ;;
	Darwin:redis-server) echo brew install redis ;;
	Darwin:npm) echo brew install node ;;
	Darwin:mvn) echo brew install maven ;;
	Darwin:*) echo brew install "$1" ;;
	*:postgres) echo apt-get install postgresql ;;
	*:mvn) echo apt-get install maven ;;
	*:systemd-*) echo apt-get install systemd ;;
	*:chromium) # without a window where the system has that: it takes two thirds of the time
		! apt-cache show chromium-headless-shell >/dev/null 2>&1 || set -- chromium-headless-shell
		echo apt-get install "$1"
		;;
	*) echo apt-get install "$1" ;;
	esac
}

# enabled prints the services that the next boot starts, if systemd runs this machine.
enabled() {
	[ -n "$root" ] || [ ! -d /run/systemd/system ] ||
		systemctl list-unit-files --type=service --state=enabled --no-legend --plain | cut -d ' ' -f 1
}

# apt installs a package without starting its services, now or at the next boot: policy-rc.d keeps services down, those that were not
# there before are disabled, and the drop-in keeps postgresql-common from creating a cluster. Both files are removed again, unless they were there before.
apt() (
	policy=$root/usr/sbin/policy-rc.d
	cluster=$root/etc/postgresql-common/createcluster.d/petstore-no-cluster.conf
	made_policy='' made_cluster=''
	trap 'rm -f ${made_policy:+"$policy"} ${made_cluster:+"$cluster"}; rmdir -p "${cluster%/*}" 2>/dev/null' EXIT
	trap 'exit 130' HUP INT TERM
	if [ ! -e "$policy" ]; then
		made_policy=1
		printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" || exit
	fi
	if [ ! -e "$cluster" ]; then
		made_cluster=1
		mkdir -p "${cluster%/*}" && echo 'create_main_cluster = false' >"$cluster" || exit
	fi
	export DEBIAN_FRONTEND=noninteractive
	get() { apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$1" </dev/null; }
	before=$(enabled)
	get "$1" || { apt-get update && get "$1"; }
	status=$?
	for unit in $(enabled); do
		echo "$before" | grep -qxF "$unit" || systemctl disable "$unit"
	done
	exit $status
)

install() {
	command=$(advice "$1")
	echo "installing $1"
	case $command in
	brew*) command -v brew >/dev/null && $command ;;
	*) command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] && apt "${command##* }" ;;
	esac
}

missing=
for program; do
	has "$program" || missing="$missing $program"
done
[ -n "$missing" ] || exit 0
# Without arguments this script does nothing: sudo only tells whether it may run it.
if [ "$(uname)" != Darwin ] && [ "$(id -u)" != 0 ] && command -v apt-get >/dev/null && sudo -n "$0" 2>/dev/null; then
	exec sudo -n "$0" $missing
fi
# Of several concurrent runs one installs, and the others find the programs installed.
! command -v flock >/dev/null || { exec 9<"$0" && flock 9; }
status=0
for program in $missing; do
	has "$program" || { install "$program" && has "$program"; } >&2 || {
		echo "$program is missing, and could not be installed: install it with $(advice "$program"), or your system's package of it" >&2
		status=1
	}
done
exit $status
