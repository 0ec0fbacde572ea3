#!/usr/bin/env bash
# Makes what the interoperability tests need, once, under ${XDG_CACHE_HOME:-$HOME/.cache}/firn/interop:
# a Python environment with the readers and, with --spark, Spark with Iceberg's jars and a small Java tool.
# Safe to run again: what is there and up to date stays. Prints nothing but progress.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home="${XDG_CACHE_HOME:-$HOME/.cache}/firn/interop"
iceberg=1.10.2
sqlite=3.46.1.3
mkdir -p "$home/jars"

need() { # command, what it is for
  command -v "$1" >/dev/null || { echo "setup.sh: $1 is missing: $2" >&2; exit 1; }
}

# Installs a list of pinned packages; the stamp is written last, so a broken install is done again.
install() { # requirements file
  local stamp; stamp="$home/venv/$(basename "$1").done"
  cmp -s "$1" "$stamp" && return
  echo "setup.sh: installing $(basename "$1") into $home/venv" >&2
  [ -x "$home/venv/bin/pip" ] || python3 -m venv "$home/venv"
  "$home/venv/bin/pip" install -q --disable-pip-version-check -r "$1" >&2
  cp "$1" "$stamp"
}

fetch() { # group:artifact:version
  local jar; jar="$home/jars/$(cut -d: -f2 <<<"$1")-$(cut -d: -f3 <<<"$1").jar"
  [ -f "$jar" ] && return
  echo "setup.sh: fetching $1" >&2
  need mvn "Maven fetches Iceberg's jars"
  mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact="$1" -DoutputDirectory="$home/jars" >&2
}

need python3 "Python 3.11 or later runs the readers"
install "$here/requirements.txt"
[ "${1:-}" = --spark ] || exit 0

need java "Spark runs on a JDK 17"
need javac "the Java tool of the fixtures needs a JDK, not only a runtime"
install "$here/requirements-spark.txt"
fetch "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:$iceberg"
fetch "org.xerial:sqlite-jdbc:$sqlite"

tool="$here/generate/IceTool.java"
if ! cmp -s "$tool" "$home/IceTool.java.done"; then
  echo "setup.sh: compiling IceTool.java" >&2
  classes=$(mktemp -d)
  pyspark=$("$home/venv/bin/python" -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')
  javac -nowarn -d "$classes" -cp "$home/jars/*:$pyspark/jars/*" "$tool"
  jar cf "$home/jars/icetool.jar" -C "$classes" firn
  rm -r "$classes"
  cp "$tool" "$home/IceTool.java.done"
fi
