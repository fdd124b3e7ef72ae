#!/bin/sh
# Prints the folder of a Node that can build the console: the one on the PATH when it is 20.19 or newer, or one from the
# npm registry, which is unpacked into the folder $1 once. npm, which gets the packages, is Debian's where there is none.
set -eu

version=22.21.1
if ! command -v npm >/dev/null; then
	echo "installing npm" >&2
	root=
	[ "$(id -u)" = 0 ] || root="sudo -n"
	$root apt-get update -q >&2 || true
	$root apt-get install -q -y --no-install-recommends npm >&2 || { echo "npm is missing: apt-get install npm" >&2; exit 1; }
fi
enough='const [a, b] = process.versions.node.split("."); process.exit(+a > 20 || +a == 20 && +b >= 19 ? 0 : 1)'
if command -v node >/dev/null && node -e "$enough"; then
	dirname "$(command -v node)"
	exit
fi
case "$(uname -m)" in
x86_64) arch=x64 sum=Iv42s19f0khP00BMvTqLbcqnDdqtoge5umA+jLF1UifntVKhzagRsemzWoYzaueQ8BTkyXDj7NSsOkjgcV+fEg== ;;
*) echo "no Node is known for $(uname -m): install Node 20.19 or newer" >&2; exit 1 ;;
esac
dir=$1/node@$version
if [ ! -x "$dir/bin/node" ]; then
	temp=$(mktemp -d)
	trap 'rm -rf "$temp"' EXIT
	echo "installing Node $version" >&2
	(cd "$temp" && npm pack --silent "node-linux-$arch@$version" >/dev/null)
	archive=$(echo "$temp"/*.tgz)
	if [ "$(openssl dgst -sha512 -binary "$archive" | base64 -w0)" != "$sum" ]; then
		echo "node-linux-$arch@$version from the registry is not what it was" >&2
		exit 1
	fi
	tar -xzf "$archive" -C "$temp"
	mkdir -p "$1"
	mv "$temp/package" "$dir"
fi
echo "$dir/bin"
