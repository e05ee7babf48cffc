# The front door. The build itself is meson + ninja, the test run is tools/run-tests.
#
# PREFIX   where `make install` puts things (default /usr/local); DESTDIR is honoured, LIBDIR may be given
# BUILD    the folder `make` builds in (default build/release)

PREFIX ?= /usr/local
BUILD ?= build/release
# Debian keeps libraries in lib/<triplet>; other systems give no triplet here and get meson's default.
TRIPLET := $(shell cc -print-multiarch 2>/dev/null)
LIBDIR ?= $(if $(TRIPLET),lib/$(TRIPLET))
DIRS = --prefix $(PREFIX) $(if $(LIBDIR),--libdir $(LIBDIR))

.PHONY: all help demo test quick check asan tsan fuzz bench install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

help:
	@echo "make          build everything into $(BUILD)"
	@echo "make demo     build and show what hapax does, on real records"
	@echo "make test     everything that is tested, as CI runs it"
	@echo "make quick    the part of it that takes under a minute"
	@echo "make check    only the checks of the source: format, layers, READMEs, symbols, clang-tidy"
	@echo "make asan     the tests under the address and undefined-behaviour sanitizers"
	@echo "make tsan     the tests under the thread sanitizer"
	@echo "make fuzz     the fuzz targets, SECONDS_EACH=60 each"
	@echo "make bench    the benchmarks against other tools"
	@echo "make install  install to PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make clean    remove build/"

$(BUILD)/build.ninja:
	@tools/bootstrap build
	@meson setup $(BUILD) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt >&2; exit 1; }

demo:
	@tools/bootstrap build
	@tools/demo

test:
	@tools/bootstrap test
	@tools/run-tests

quick:
	@tools/bootstrap test
	@tools/run-tests --quick

check:
	@tools/bootstrap test
	@tools/run-tests format layers readmes symbols tidy

asan:
	@tools/bootstrap test
	@tools/run-tests asan-unit asan-model asan-cli asan-fuzz-replay

tsan:
	@tools/bootstrap test
	@tools/run-tests tsan-unit tsan-model

fuzz:
	@tools/bootstrap test
	@tools/run-fuzz

bench:
	@tools/bootstrap bench
	@bench/run

install: all
	@meson configure $(BUILD) $(DIRS)
	@meson install -C $(BUILD)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

clean:
	rm -rf build
