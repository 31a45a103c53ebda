# A thin menu: the work is in `cargo xtask`.

# Everything that must hold
test *args:
    cargo xtask test {{args}}

# The short form, while working
quick:
    cargo xtask test --quick

# House rules only
tidy:
    cargo xtask tidy

# Each fuzz target for so many seconds
fuzz seconds="60":
    cargo xtask fuzz --seconds {{seconds}}

# Two workers, a router, a burst of prompts
demo *args:
    cargo run --release -- demo {{args}}
