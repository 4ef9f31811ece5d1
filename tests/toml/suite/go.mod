module slipway/tests/toml

go 1.21

require github.com/toml-lang/toml-test v1.6.0

// Newer than the suite asks for: it names a commit that module proxies may not hold.
require github.com/BurntSushi/toml v1.6.0 // indirect
