#!/bin/sh
# Makes the content of the images in the directory $1: both programs, etc and licenses. GOOS and GOARCH say for which system.
set -eu
out=$1
cd "$(dirname "$0")/../.."
install -d "$out/etc/ssl/certs" "$out/licenses"
make -s build BIN="$out" LDFLAGS='-s -w'
install -m 644 /etc/ssl/certs/ca-certificates.crt "$out/etc/ssl/certs/"
install -m 644 deploy/docker/passwd "$out/etc/passwd"
install -m 644 LICENSE "$out/licenses/"
# This program runs here, whatever the images are for.
env -u GOOS -u GOARCH "${GO:-go}" -C tools/release build -trimpath -o ../../bin/release/release .
bin/release/release licenses "$out/licenses/THIRD_PARTY_LICENSES.txt"
