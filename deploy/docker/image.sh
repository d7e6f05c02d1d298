#!/bin/sh
# Builds the images without a Docker daemon, by buildah, to $1/petstore.tar and $1/petstorectl.tar, which `docker load` and
# `podman load` read. As root it needs no more; other users need entries in /etc/subuid and /etc/subgid.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
GOOS=linux
GOARCH=${GOARCH:-$(${GO:-go} env GOARCH)}
export GOOS GOARCH
deploy/docker/compile.sh "$dir/out"

# The store of images is thrown away: this leaves nothing on the machine.
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
buildah() { command buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }
# One time for all files: equal programs make equal layers.
time=$(git log -1 --format=%ct 2>/dev/null || echo 0)
for target in petstore petstorectl; do
	buildah bud --quiet --format docker --isolation chroot --arch "$GOARCH" --timestamp "$time" --identity-label=false \
		--build-arg TARGETOS=linux --build-arg "TARGETARCH=$GOARCH" --build-context "build=$dir" --file deploy/docker/Dockerfile --target "$target" --tag "$target" . >/dev/null
	rm -f "$dir/$target.tar"
	buildah push --quiet "$target" "docker-archive:$dir/$target.tar:$target:${VERSION:-dev}"
	ls -l "$dir/$target.tar"
done
