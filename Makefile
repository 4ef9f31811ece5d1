# Two commands to begin with: `make demo` and `make test`. Everything else is meson under here.
BUILD ?= build

.PHONY: build
build: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD)
