# The commands of a working day; `just --list` shows them.

# Everything that must pass.
test:
    cargo test --workspace --locked

# Formatting and lints, as strict as they get.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# The tests against other engines, Iceberg Java among them.
interop:
    FIRN_INTEROP_SPARK=1 cargo test -p tests --test interop
