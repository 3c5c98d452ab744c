# kplug: one Makefile, read top to bottom. `make help` lists what it can do.

# ---- places -----------------------------------------------------------------
prefix      ?= /usr/local
sysconfdir  ?= /etc
libdir       = $(prefix)/lib
# Plugins are found below the prefix, wherever libraries go.
kplugdir     = $(prefix)/lib/kplug
libexecdir   = $(prefix)/libexec
datadir      = $(prefix)/share
mandir       = $(datadir)/man
# Where Debian's Python looks for modules below /usr, and below any other prefix.
pythondir   ?= $(prefix)/lib/$(if $(filter /usr,$(prefix)),python3,python$(shell \
	$(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))/dist-packages
unitdir     ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
BUILD       ?= build
VERSION     := 0.1.0
PROTOCOL    := 1

# ---- tools (cc and ar are make's own defaults) --------------------------------
PKG_CONFIG  ?= pkg-config
PYTHON      := /usr/bin/python3
NVCC        := $(or $(NVCC),$(firstword \
	$(wildcard $(addsuffix /bin/nvcc,$(CUDA_HOME) /usr/local/cuda)) \
	$(shell command -v nvcc 2>/dev/null)))
# What the cuda plugin has machine code for; of the last one also PTX, for later GPUs.
CUDA_ARCHS  ?= 90
# Plugins that cannot be built here.
LEFT_OUT    := $(if $(NVCC),,cuda)
INSTALL     ?= install

# ---- what must be on the machine (names of Debian packages) -----------------
BUILD_PACKAGES := gcc libc6-dev make pkg-config libuv1-dev libjansson-dev libelf-dev \
	nettle-dev libseccomp-dev libsodium-dev python3
DEB_PACKAGES   := build-essential debhelper dh-python dpkg-dev
TEST_PACKAGES  := $(BUILD_PACKAGES) $(DEB_PACKAGES) lintian check minisign python3-jsonschema \
	python3-prometheus-client g++ clang binutils mandoc \
	libdlpack-dev libopenblas0-pthread gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
	qemu-user strace util-linux procps systemd dbus zsh fish python3-numpy python3-pip \
	python3-setuptools python3-wheel mypy $(if $(shell command -v rustc),,rustc)
LINT_PACKAGES  := $(TEST_PACKAGES) clang-tidy clang-format cppcheck shellcheck \
	pyflakes3 black
FRESH_PACKAGES := debootstrap
FUZZ_PACKAGES  := $(TEST_PACKAGES) libclang-rt-14-dev
BENCH_PACKAGES := redis-server gstreamer1.0-tools libgstreamer1.0-dev libopenblas0-pthread

# ---- flags ------------------------------------------------------------------
WARNINGS    := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow \
	-Wpointer-arith -Wwrite-strings -Wvla
CFLAGS      ?= -O2 -g
SANITIZE    ?=
ALL_CPPFLAGS = -D_GNU_SOURCE -I. -Ilib/include -I$(BUILD)/gen \
	$(CPPFLAGS)
ALL_CFLAGS   = -std=c11 $(WARNINGS) -fPIC -fstack-protector-strong -fno-omit-frame-pointer \
	$(CFLAGS) $(SANITIZE)
ALL_LDFLAGS  = -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) $(SANITIZE)

pkg          = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
LIB_LIBS    := $(call pkg,jansson) -lm
DAEMON_LIBS := $(call pkg,libuv nettle) $(LIB_LIBS) -lpthread
WORKER_LIBS := $(call pkg,libelf nettle libseccomp libsodium) $(LIB_LIBS) -ldl -lpthread
CMD_LIBS    := $(LIB_LIBS)
TEST_LIBS   := $(call pkg,check libuv) $(WORKER_LIBS)

# ---- sources: a new file needs no edit here ---------------------------------
LIB_SRC     := $(wildcard lib/*.c lib/*/*.c)
WORKER_SRC  := $(wildcard daemon/worker/*.c) daemon/store/digest.c daemon/pipeline/keys.c \
	daemon/scan/stamp.c
DAEMON_SRC  := $(filter-out daemon/worker/%,$(wildcard daemon/*.c daemon/*/*.c))
CMD_SRC     := $(wildcard cmd/*.c)
PLUGINS     := $(filter-out $(LEFT_OUT),\
	$(patsubst plugins/%/plugin.json,%,$(wildcard plugins/*/plugin.json)))
SUPPORT_SRC := $(wildcard tests/support/*.c)
CHECK_SRC   := $(wildcard tests/check_*.c)
BENCH_SRC   := $(wildcard tests/bench/*.c)
FUZZ_SRC    := $(wildcard tests/fuzz/targets/*.c)
CROWD_SRC   := $(wildcard tests/soak/clients/*.c)
FAMILIES    := $(wildcard lib/families/*.json)
SCHEMAS     := $(wildcard lib/schemas/*.json)
MAN_PAGES   := $(patsubst %,$(BUILD)/%,$(wildcard man/*.[1-9]))
# `man kp_open` leads to the page of all functions.
MAN_LINKS   := $(shell sed -n 's/^\.F[no] \(kp_[a-z_]*\).*/\1/p' man/kplug-host.3 | sort -u)

HEADERS     := $(wildcard lib/include/kplug/*.* lib/include/kplug/cxx/*)
MODULE      := $(wildcard lib/python/kplug/*.py) lib/python/kplug/py.typed
# A new plugin begins as one kernel of the reference, in files of its own.
TEMPLATE_SRC := $(wildcard lib/templates/*) plugins/reference/plugin.json \
	$(filter-out %/plugin.c %/kernels.h,$(wildcard plugins/reference/*.[ch]))
TEMPLATES   := $(addprefix $(BUILD)/templates/,$(notdir $(TEMPLATE_SRC)))

objects      = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB_OBJ     := $(call objects,$(LIB_SRC))
WORKER_OBJ  := $(call objects,$(WORKER_SRC))
DAEMON_OBJ  := $(call objects,$(DAEMON_SRC))
CMD_OBJ     := $(call objects,$(CMD_SRC))
SUPPORT_OBJ := $(call objects,$(SUPPORT_SRC))

LIBKPLUG    := $(BUILD)/libkplug.a
SUPPORT     := $(BUILD)/tests/libsupport.a
PROGRAMS    := $(BUILD)/plugind $(BUILD)/pluginctl $(BUILD)/plugin-worker
PLUGIN_SO   := $(PLUGINS:%=$(BUILD)/plugins/%.so)
PLUGIN_CONF := $(PLUGINS:%=$(BUILD)/plugins/plugins.d/%.json)
DATA        := $(FAMILIES:lib/families/%=$(BUILD)/families/%) \
	$(SCHEMAS:lib/schemas/%=$(BUILD)/schemas/%) $(BUILD)/schemas/error.json \
	$(TEMPLATES) $(HEADERS:lib/%=$(BUILD)/%)
CHECKS      := $(CHECK_SRC:tests/%.c=$(BUILD)/tests/%)
DRIVERS     := $(BENCH_SRC:tests/bench/%.c=$(BUILD)/bench/%)
SOAKERS     := $(BUILD)/soak/application $(BUILD)/soak/clients
REPLAYS     := $(FUZZ_SRC:tests/fuzz/targets/%.c=$(BUILD)/tests/fuzz/%)
FUZZERS     := $(FUZZ_SRC:tests/fuzz/targets/%.c=$(BUILD)/fuzzers/%)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all help setup setup-check setup-fuzz setup-lint setup-deb demo check check-long \
	check-fresh cases flake asan ubsan tsan fuzz fuzzers soak bench lint format install \
	uninstall dist deb clean tests programs

# ---- what is made of what ---------------------------------------------------
all: programs $(PLUGIN_SO) $(PLUGIN_CONF) no-strays ## build programs and plugins into build/
# A plugin whose folder has gone leaves the build, too: plugind would find it there.
.PHONY: no-strays
no-strays: $(PLUGIN_SO) $(PLUGIN_CONF)
	@rm -f $(filter-out $(PLUGIN_SO) $(PLUGIN_CONF),\
		$(wildcard $(BUILD)/plugins/*.so $(BUILD)/plugins/plugins.d/*.json))
programs: $(PROGRAMS) $(DATA)

$(BUILD)/plugind: $(DAEMON_OBJ) $(LIBKPLUG)
	$(link) $(DAEMON_LIBS)
$(BUILD)/plugin-worker: $(WORKER_OBJ) $(LIBKPLUG)
	$(link) $(WORKER_LIBS)
$(BUILD)/pluginctl: $(CMD_OBJ) $(LIBKPLUG)
	$(link) $(CMD_LIBS)
$(LIBKPLUG): $(LIB_OBJ)
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) rcs $@ $^

# What applications link: the host library and of the rest what it uses. Its name has
# the version of its interface, its file that of kplug. It stays where it was once mapped:
# threads that end, and handlers of signals, come back to it after a dlclose.
SONAME      := libkplug.so.0
LIBKPLUG_SO := $(BUILD)/libkplug.so
HOST_OBJ    := $(call objects,$(wildcard lib/host/*.c))
$(BUILD)/$(SONAME): $(HOST_OBJ) $(LIBKPLUG) lib/libkplug.map
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ $(HOST_OBJ) $(LIBKPLUG) -Wl,-soname,$(SONAME) \
		-Wl,-z,nodelete \
		-Wl,--version-script=lib/libkplug.map $(if $(SANITIZE),,-Wl,-z,defs) \
		$(ALL_LDFLAGS) $(call pkg,jansson) -lm
$(LIBKPLUG_SO): $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@
$(BUILD)/kplug.pc: lib/kplug.pc.in $(BUILD)/gen/places Makefile
	$(Q)sed -e 's|@prefix@|$(prefix)|' -e 's|@version@|$(VERSION)|' \
		-e 's|@libdir@|$(patsubst $(prefix)/%,$${prefix}/%,$(libdir))|' $< >$@
programs: $(LIBKPLUG_SO) $(BUILD)/kplug.pc $(BUILD)/plugind.service $(MAN_PAGES)

# Pages name the places where this build will be.
$(BUILD)/man/%: man/% $(BUILD)/gen/places Makefile
	@mkdir -p $(@D)
	$(Q)sed -e 's|/usr/local/lib/systemd/system|$(unitdir)|' \
		-e 's|/usr/local/|$(prefix)/|g' $< >$@
$(BUILD)/plugind.service: daemon/units/plugind.service.in $(BUILD)/gen/places Makefile
	$(Q)sed -e 's|@prefix@|$(prefix)|' $< >$@

# The interface text is compiled in: it is the one source of the protocol.
quote_lines  = sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/'
$(BUILD)/gen/interface.inc: lib/org.kplug.Manager.varlink
	@mkdir -p $(@D)
	$(Q)$(quote_lines) $< >$@
$(BUILD)/obj/lib/base/build.o: ALL_CPPFLAGS += -DKP_VERSION='"$(VERSION)"' -DKP_PROTOCOL=$(PROTOCOL)
$(BUILD)/obj/lib/base/build.o: $(BUILD)/gen/version
# Named, too: what the compiler says of a build names that build, and builds are copied.
$(BUILD)/obj/lib/protocol/interface.o: $(BUILD)/gen/interface.inc
$(call objects,lib/base/place.c daemon/options.c daemon/defaults.c tests/check_place.c): \
	$(BUILD)/gen/installed.h
$(BUILD)/gen/version: FORCE
	$(call keep_if_same,'$(VERSION) $(PROTOCOL)')

# Files that change only when what they say does: what objects were compiled with,
# and where this build will be installed.
keep_if_same = @mkdir -p $(@D); printf '%s\n' $(1) >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
# Where a first build cannot begin, that is said, not by whichever part fails first.
$(BUILD)/flags: FORCE
	@[ -f $@ ] || { lack=; for tool in $(firstword $(CC)) $(PKG_CONFIG) python3; do \
		command -v $$tool >/dev/null || lack="$$lack $$tool"; done; \
		for library in libuv jansson libelf nettle libseccomp libsodium; do \
		$(PKG_CONFIG) --exists $$library 2>/dev/null || lack="$$lack $$library"; done; \
		[ -z "$$lack" ] || { echo "kplug: not found:$$lack" >&2; \
		echo "kplug: \`make setup\` installs what the build needs (on Debian:" \
			"$(BUILD_PACKAGES))" >&2; exit 1; }; }
	$(call keep_if_same,'CC=$(CC)' 'CFLAGS=$(CFLAGS)' 'CPPFLAGS=$(CPPFLAGS)' \
		'SANITIZE=$(SANITIZE)')
$(BUILD)/gen/installed.h: FORCE
	$(call keep_if_same,'#define KP_PREFIX "$(prefix)"' \
		'#define KP_SYSCONFDIR "$(sysconfdir)"')
$(BUILD)/gen/places: FORCE
	$(call keep_if_same,'$(prefix) $(libdir) $(unitdir)')
.PHONY: FORCE

# ---- how each kind is made --------------------------------------------------
Q           := $(if $(filter 1,$(V)),,@)
say          = @$(if $(Q),printf '  %-8s %s\n',:)
link         = $(say) LD $@; $(if $(Q),,set -x;) \
	$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ALL_LDFLAGS)

.PRECIOUS: $(BUILD)/obj/%.o
# What is generated is there first; which objects need it, the compiler says.
$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(BUILD)/gen/installed.h $(BUILD)/gen/interface.inc
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A plugin sees only kplug/plugin.h. Its note is embedded by the assembler, which looks
# for it in the plugin's folder.
.SECONDEXPANSION:
plugin_of    = $(firstword $(subst /, ,$(1)))
.PRECIOUS: $(BUILD)/obj/plugins/%.o
$(BUILD)/obj/plugins/%.o: plugins/%.c $$(wildcard plugins/$$(call plugin_of,$$*)/plugin.json) \
		$(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) -std=c11 $(WARNINGS) $(CPPFLAGS) $(CFLAGS) -O3 -g -fPIC -fvisibility=hidden \
		-Ilib/include -Iplugins/$(call plugin_of,$*) $(PLUGIN_FLAGS) \
		-Wa,-Iplugins/$(call plugin_of,$*) $(SANITIZE) -MMD -MP -c -o $@ $<
$(BUILD)/plugins/%.so: $$(addprefix $(BUILD)/obj/,$$(addsuffix .o,$$(basename \
		$$(wildcard plugins/$$*/*.c)))) \
		lib/include/kplug/plugin.map
	@mkdir -p $(@D)
	$(say) PLUGIN $@
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(SANITIZE) $(if $(SANITIZE),,-Wl,-z,defs) \
		-Wl,-z,relro,-z,now $(LDFLAGS) \
		-Wl,--version-script=lib/include/kplug/plugin.map -lm
# The kernels of the cuda plugin: a fatbin each, embedded by its images.c. ptxas must
# not spill a register nor put an array into local memory. The note says the oldest GPU
# that there is code for.
CUDA_GEN    := $(BUILD)/gen/cuda
CUDA_IMAGES := $(patsubst plugins/cuda/%.cu,$(CUDA_GEN)/%.fatbin,$(wildcard plugins/cuda/*.cu))
CUDA_OLDEST  = $(patsubst %a,%,$(firstword $(CUDA_ARCHS)))
NVCC_FLAGS   = -std=c++17 -O3 --compress-mode=size -Werror all-warnings \
	-Xptxas -warn-spills,-warn-lmem-usage,-Werror \
	$(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
	-gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS))
$(BUILD)/gen/cuda.flags: FORCE
	$(call keep_if_same,'$(NVCC) $(NVCC_FLAGS)')
$(CUDA_GEN)/%.fatbin: plugins/cuda/%.cu $(wildcard plugins/cuda/*.cuh) \
		plugins/cuda/parameters.h $(BUILD)/gen/cuda.flags
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$(NVCC) $(NVCC_FLAGS) -fatbin -o $@ $<
$(CUDA_GEN)/plugin.json: plugins/cuda/plugin.json $(BUILD)/gen/cuda.flags
	@mkdir -p $(@D)
	$(Q)oldest=$$(($(CUDA_OLDEST) / 10)).$$(($(CUDA_OLDEST) % 10)); \
		sed "s/\"min_arch\": \"[0-9.]*\"/\"min_arch\": \"$$oldest\"/" $< >$@
$(BUILD)/obj/plugins/cuda/%.o: PLUGIN_FLAGS = -Wa,-I$(CUDA_GEN)
$(call objects,$(wildcard plugins/cuda/*.c)): $(CUDA_IMAGES) $(CUDA_GEN)/plugin.json
.PHONY: left-out
all: left-out
left-out:
	@$(if $(NVCC),:,echo "  PLUGIN   cuda is left out: nvcc is not found (NVCC= or CUDA_HOME= say where)")

$(BUILD)/plugins/plugins.d/%.json: plugins/%/manifest.json
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/families/%: lib/families/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/schemas/%: lib/schemas/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/templates/%: lib/templates/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/templates/%: plugins/reference/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/include/%: lib/include/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
# A schema of every reply, made from the interface: reply.List.json, ...
$(BUILD)/schemas/error.json: lib/schemas/from-interface lib/org.kplug.Manager.varlink
	@mkdir -p $(@D)
	$(say) SCHEMAS $(@D)
	$(Q)$(PYTHON) $^ $(@D)
# Tests link what programs are made of, without their mains.
PARTS       := $(BUILD)/daemon.a $(BUILD)/worker.a
$(BUILD)/daemon.a: $(filter-out %/main.o,$(DAEMON_OBJ))
$(BUILD)/worker.a: $(filter-out %/main.o,$(WORKER_OBJ))
$(PARTS):
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) rcs $@ $^
$(BUILD)/tests/check_%: $(BUILD)/obj/tests/check_%.o $(SUPPORT_OBJ) $(PARTS) $(LIBKPLUG)
	@mkdir -p $(@D)
	$(link) -rdynamic $(TEST_LIBS)
# A heap that runs out where a test says so, in a test and in front of a program.
$(filter $(BUILD)/tests/check_no_memory%,$(CHECKS)): $(BUILD)/obj/tests/scarce/scarce.o
$(BUILD)/tests/scarce.so: $(BUILD)/obj/tests/scarce/scarce.o
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ $< $(SANITIZE)
tests: $(BUILD)/tests/scarce.so
# A worker that comes to grief over libraries of certain names.
$(BUILD)/tests/frail-worker: $(BUILD)/obj/tests/frail/frail.o \
		$(BUILD)/obj/daemon/worker/main.o $(BUILD)/worker.a $(LIBKPLUG)
	@mkdir -p $(@D)
	$(link) -Wl,--wrap=elf_image_open $(WORKER_LIBS)
tests: $(BUILD)/tests/frail-worker
# A target of fuzzing, with a main that gives it files, and with libFuzzer.
$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/targets/%.o \
		$(call objects,tests/fuzz/target.c tests/fuzz/replay.c) $(PARTS) $(LIBKPLUG)
	@mkdir -p $(@D)
	$(link) $(TEST_LIBS)
# An application as others are, and a crowd that knows the protocol alone.
$(BUILD)/soak/application: $(call objects,tests/soak/application.c tests/soak/page.c) \
		$(LIBKPLUG_SO)
	@mkdir -p $(@D)
	$(link) -L$(BUILD) -lkplug '-Wl,-rpath,$$ORIGIN/..'
$(BUILD)/soak/clients: $(call objects,$(CROWD_SRC) tests/soak/page.c)
	@mkdir -p $(@D)
	$(link) $(call pkg,jansson)
$(BUILD)/fuzzers/%: $(BUILD)/obj/tests/fuzz/targets/%.o $(call objects,tests/fuzz/target.c) \
		$(PARTS) $(LIBKPLUG)
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer $(TEST_LIBS)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---- set-up -----------------------------------------------------------------
setup: ## install the packages that the build needs (Debian; root, or by sudo -n)
	@sh tests/setup $(BUILD_PACKAGES)
setup-check:
	@sh tests/setup $(TEST_PACKAGES)
setup-fuzz:
	@sh tests/setup $(FUZZ_PACKAGES)
setup-lint:
	@sh tests/setup $(LINT_PACKAGES)
setup-deb:
	@sh tests/setup $(BUILD_PACKAGES) $(DEB_PACKAGES)

# ---- demo and tests ---------------------------------------------------------
# tests/fixtures/NAME.c is one hostile or unlucky plugin; NAME.json is its note,
# NAME.flags further flags.
# -w: what a compiler would warn of is what they are made for
FIXTURES    := $(patsubst tests/fixtures/%.c,$(BUILD)/tests/fixtures/%.so,$(wildcard tests/fixtures/*.c))
$(BUILD)/tests/fixtures/%.so: tests/fixtures/%.c $$(wildcard tests/fixtures/%.flags) \
		$(wildcard tests/fixtures/*.h tests/fixtures/*.json) $(BUILD)/flags \
		lib/include/kplug/plugin.h lib/include/kplug/plugin.map
	@mkdir -p $(@D)
	$(say) FIXTURE $@
	$(Q)$(CC) -std=c11 -w -O1 -g -fPIC -fvisibility=hidden -shared -Ilib/include \
		-Itests/fixtures -Wa,-Itests/fixtures $(SANITIZE) -o $@ $< \
		$(shell cat tests/fixtures/$*.flags 2>/dev/null || \
		echo -Wl,--version-script=lib/include/kplug/plugin.map) -lm

# ---- a CUDA driver for tests: runs the kernels' own source on the CPU ---------
# Never with sanitizers: its threads are fibers, which they do not know.
# -Wno-unknown-pragmas: unroll is nvcc's
FAKE_CUDA   := $(BUILD)/tests/fake/libcuda.so.1
FAKE_OBJ    := $(patsubst tests/fake/cuda/%,$(BUILD)/obj/fake/%.o,\
	$(wildcard tests/fake/cuda/*.c tests/fake/cuda/*.cc)) \
	$(patsubst plugins/cuda/%,$(BUILD)/obj/fake/%.o,$(wildcard plugins/cuda/*.cu))
FAKE_FLAGS   = -O2 -g -fPIC -Wall -Wextra -D_GNU_SOURCE -I. -Ilib/include -MMD -MP
FAKE_CXX     = $(FAKE_FLAGS) -std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics \
	-Wno-unknown-pragmas
$(BUILD)/obj/fake/%.c.o: tests/fake/cuda/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(FAKE_FLAGS) -std=c11 -c -o $@ $<
$(BUILD)/obj/fake/%.cc.o: tests/fake/cuda/%.cc
	@mkdir -p $(@D)
	$(say) CXX $<
	$(Q)$(CXX) $(FAKE_CXX) -c -o $@ $<
$(BUILD)/obj/fake/%.cu.o: plugins/cuda/%.cu
	@mkdir -p $(@D)
	$(say) CXX $<
	$(Q)$(CXX) $(FAKE_CXX) -include tests/fake/cuda/shim.hh -x c++ -c -o $@ $<
$(FAKE_CUDA): $(FAKE_OBJ)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ $^ -Wl,-z,defs -Wl,-soname,libcuda.so.1 -lm -lpthread

# The cuda plugin with images that have names but no code: what that driver needs.
FAKE_GEN    := $(BUILD)/gen/fake-cuda
FAKE_PLUGIN := $(BUILD)/tests/fake/plugins/cuda.so
FAKE_IMAGES := $(CUDA_IMAGES:$(CUDA_GEN)/%=$(FAKE_GEN)/%)
$(FAKE_GEN)/%.fatbin: plugins/cuda/%.cu $(wildcard plugins/cuda/*.cuh) \
		plugins/cuda/parameters.h tests/fake/names.hh tests/fake/make-fatbin
	@mkdir -p $(@D)
	$(Q)$(PYTHON) tests/fake/make-fatbin $@ 90 $$($(CXX) -E -P -x c++ \
		-include tests/fake/names.hh $< | grep -o 'KP_KERNEL_IS [a-z0-9_]*' | cut -d' ' -f2)
$(FAKE_PLUGIN): $(wildcard plugins/cuda/*.c plugins/cuda/*.h) plugins/cuda/plugin.json \
		$(FAKE_IMAGES) lib/include/kplug/plugin.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) PLUGIN $@
	$(Q)$(CC) -std=c11 $(WARNINGS) -O1 -g -fPIC -fvisibility=hidden -shared \
		-Ilib/include -Wa,-I$(FAKE_GEN) -Wa,-Iplugins/cuda $(SANITIZE) -o $@ \
		$(filter %.c,$^) -Wl,--version-script=lib/include/kplug/plugin.map -lm
FAKE_LT     := $(BUILD)/tests/fake/libcublasLt.so.13
$(FAKE_LT): tests/fake/cublaslt.c tests/fake/cuda/query.h $(FAKE_CUDA)
	$(say) CC $<
	$(Q)$(CC) $(FAKE_FLAGS) -std=c11 -shared -o $@ $< $(FAKE_CUDA) -Wl,-z,defs \
		-Wl,-soname,libcublasLt.so.13 -Wl,-rpath,'$$ORIGIN'

# ---- NVIDIA's management library for tests: plays what NVIDIA_FAKE says -------
# -Wno-missing-prototypes: its functions are looked up by name, no header has them
FAKE_NVML   := $(BUILD)/tests/fake/nvml/libnvidia-ml.so.1
$(FAKE_NVML): tests/fake/nvml.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) FAKE $@
	$(Q)$(CC) -std=c11 $(WARNINGS) -Wno-missing-prototypes -D_GNU_SOURCE -O1 -g -fPIC \
		-fvisibility=hidden -shared -Wl,-z,defs -Wl,-soname,$(@F) -o $@ $<

# ---- kplug as it would be in other versions, for tests -------------------------
# The same objects with another interface and number: all that differs on the socket.
PEERS       := -2 -1 +1 +2
PEER        := $(BUILD)/tests/peers
PEER_BINS   := $(foreach p,$(PEERS),$(PEER)/$p/plugind $(PEER)/$p/pluginctl)
$(PEER)/%/interface.inc: tests/peers/interface lib/org.kplug.Manager.varlink
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $< lib/org.kplug.Manager.varlink $* | \
		$(quote_lines) >$@
$(PEER)/%/peer.o: $(PEER)/%/interface.inc lib/base/build.c lib/protocol/interface.c $(BUILD)/flags \
		$(BUILD)/gen/version
	$(say) PEER $(@D)
	$(Q)$(CC) $(filter-out -I$(BUILD)/gen,$(ALL_CPPFLAGS)) -I$(@D) $(ALL_CFLAGS) -r -o $@ \
		-DKP_VERSION='"$(VERSION)+peer.$(subst -,m,$(subst +,p,$*))"' -DKP_PROTOCOL='($(PROTOCOL) $*)' \
		lib/base/build.c lib/protocol/interface.c
.PRECIOUS: $(PEER)/%/peer.o
$(PEER)/%/plugind: $(PEER)/%/peer.o $(DAEMON_OBJ) $(LIBKPLUG)
	$(link) $(DAEMON_LIBS)
$(PEER)/%/pluginctl: $(PEER)/%/peer.o $(CMD_OBJ) $(LIBKPLUG)
	$(link) $(CMD_LIBS)

tests: $(PEER_BINS) $(CHECKS) $(REPLAYS) $(SOAKERS) $(FIXTURES) $(FAKE_CUDA) $(FAKE_LT) $(FAKE_PLUGIN) \
	$(FAKE_NVML)

demo: setup ## build, then show the product at work in a temporary directory
	@$(MAKE) --no-print-directory all
	@sh tests/demo $(BUILD)

check: setup-check ## build and run all tests
	@$(MAKE) --no-print-directory all tests
	@KPLUG_BUILD=$(abspath $(BUILD)) KPLUG_SANITIZER='$(SANITIZE)' \
		$(PYTHON) -B tests/packaging.py
	@$(PYTHON) tests/run --build $(BUILD) $(RUN)
check-long: ## the same with full durations and counts
	@$(MAKE) --no-print-directory check RUN="--long $(RUN)"
check-fresh: ## prove `make demo` and `make check` on a bare Debian (root; debootstrap)
	@sh tests/setup $(FRESH_PACKAGES)
	@sh tests/fresh
cases: ## rows of tests/cases without a test
	@$(PYTHON) tests/list-cases

flake: setup-check ## run the suite N times (N=20)
	@$(MAKE) --no-print-directory all tests
	@$(PYTHON) tests/run --build $(BUILD) --repeat $(or $(N),20) $(RUN)
asan: ## the suite with AddressSanitizer in tests, daemon, worker and tool
	@$(MAKE) --no-print-directory check BUILD=$(BUILD)/asan CFLAGS="-O1 -g" \
		SANITIZE="-fsanitize=address" RUN="--sanitizer address $(RUN)"
ubsan: ## the same with UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory check BUILD=$(BUILD)/ubsan CFLAGS="-O1 -g" \
		SANITIZE="-fsanitize=undefined" RUN="--sanitizer undefined $(RUN)"
# -Wno-tsan: it does not know fences; where there is one, all that it orders is atomic
tsan: ## the same with ThreadSanitizer
	@$(MAKE) --no-print-directory check BUILD=$(BUILD)/tsan CFLAGS="-O1 -g" \
		SANITIZE="-fsanitize=thread -Wno-tsan" RUN="--sanitizer thread $(RUN)"

# ---- fuzzing ------------------------------------------------------------------
# The programs that are fuzzed are another build; those that make the seeds are this one.
fuzzers: $(FUZZERS)
fuzz: setup-fuzz ## run each target of fuzzing for FUZZ_S=60 seconds
	@$(MAKE) --no-print-directory all tests
	@$(MAKE) --no-print-directory fuzzers BUILD=$(BUILD)/fuzz CC=clang CFLAGS="-O1 -g" \
		SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
	@$(PYTHON) tests/fuzz/run --build $(BUILD) --seconds $(or $(FUZZ_S),60) $(RUN)

# ---- all at once, for long ------------------------------------------------------
soak: setup-check ## 1,000 plugins, 300 of them broken, 200 clients, for SOAK_S=60 seconds
	@$(MAKE) --no-print-directory all tests
	@$(PYTHON) -B tests/soak/run --build $(BUILD) --seconds $(or $(SOAK_S),60) $(RUN)

# ---- speed against peers ----------------------------------------------------
# A driver that measures: tests/bench/NAME.c; tests/bench/run holds the bars.
$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(LIBKPLUG)
	@mkdir -p $(@D)
	$(link) $(WORKER_LIBS)
bench: setup ## measure side by side with what people use today (V=1: the commands)
	@sh tests/setup $(BENCH_PACKAGES) || echo "kplug: benches without their peer are skipped"
	@$(MAKE) --no-print-directory all $(DRIVERS)
	@$(PYTHON) tests/bench/run --build $(BUILD) $(if $(filter 1,$(V)),--verbose) $(RUN)

# ---- install ----------------------------------------------------------------
D            = $(DESTDIR)
# Where shells look for completion, below datadir.
COMPLETION  := bash-completion/completions zsh/site-functions fish/vendor_completions.d
install: all ## install below prefix=/usr/local and sysconfdir=/etc, with DESTDIR=
	$(INSTALL) -d $(D)$(prefix)/bin $(D)$(prefix)/sbin $(D)$(libexecdir)/kplug \
		$(D)$(kplugdir)/plugins $(D)$(kplugdir)/plugins.d \
		$(D)$(datadir)/kplug/families $(D)$(datadir)/kplug/schemas \
		$(D)$(datadir)/kplug/varlink $(D)$(datadir)/kplug/templates \
		$(D)$(prefix)/include/kplug/cxx \
		$(D)$(sysconfdir)/kplug/plugins.d
	$(INSTALL) -m 755 $(BUILD)/pluginctl $(D)$(prefix)/bin/
	$(INSTALL) -m 755 $(BUILD)/plugind $(D)$(prefix)/sbin/
	$(INSTALL) -m 755 $(BUILD)/plugin-worker $(D)$(libexecdir)/kplug/
	$(INSTALL) -d $(D)$(unitdir) $(D)$(sysusersdir) $(D)$(tmpfilesdir) \
		$(D)$(datadir)/kplug/units
	$(INSTALL) -m 644 $(BUILD)/plugind.service daemon/units/plugind.socket $(D)$(unitdir)/
	$(INSTALL) -m 644 daemon/units/sysusers.conf $(D)$(sysusersdir)/kplug.conf
	$(INSTALL) -m 644 daemon/units/tmpfiles.conf $(D)$(tmpfilesdir)/kplug.conf
	$(INSTALL) -m 644 daemon/units/gpu.conf $(D)$(datadir)/kplug/units/
	$(INSTALL) -d $(D)$(libdir)/pkgconfig $(COMPLETION:%=$(D)$(datadir)/%)
	$(INSTALL) -m 644 cmd/completion/pluginctl.bash \
		$(D)$(datadir)/bash-completion/completions/pluginctl
	$(INSTALL) -m 644 cmd/completion/_pluginctl $(D)$(datadir)/zsh/site-functions/
	$(INSTALL) -m 644 cmd/completion/pluginctl.fish \
		$(D)$(datadir)/fish/vendor_completions.d/
	$(INSTALL) -m 755 $(BUILD)/$(SONAME) $(D)$(libdir)/libkplug.so.$(VERSION)
	ln -sf libkplug.so.$(VERSION) $(D)$(libdir)/$(SONAME)
	ln -sf $(SONAME) $(D)$(libdir)/libkplug.so
	$(INSTALL) -m 644 $(BUILD)/kplug.pc $(D)$(libdir)/pkgconfig/
	$(INSTALL) -m 644 $(PLUGIN_SO) $(D)$(kplugdir)/plugins/
	$(INSTALL) -m 644 $(PLUGIN_CONF) $(D)$(kplugdir)/plugins.d/
	$(INSTALL) -m 644 $(FAMILIES) $(D)$(datadir)/kplug/families/
	$(INSTALL) -m 644 $(BUILD)/schemas/*.json $(D)$(datadir)/kplug/schemas/
	$(INSTALL) -m 644 $(TEMPLATES) $(D)$(datadir)/kplug/templates/
	$(foreach page,$(MAN_PAGES),$(INSTALL) -D -m 644 $(page) \
		$(D)$(mandir)/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page)) &&) :
	for name in $(MAN_LINKS); do \
		echo '.so man3/kplug-host.3' >$(D)$(mandir)/man3/$$name.3 || exit 1; done
	$(INSTALL) -m 644 lib/org.kplug.Manager.varlink $(D)$(datadir)/kplug/varlink/
	$(INSTALL) -m 644 $(filter-out lib/include/kplug/cxx/%,$(HEADERS)) \
		$(D)$(prefix)/include/kplug/
	$(INSTALL) -m 644 $(filter lib/include/kplug/cxx/%,$(HEADERS)) \
		$(D)$(prefix)/include/kplug/cxx/
	$(INSTALL) -d $(D)$(pythondir)/kplug
	$(INSTALL) -m 644 $(MODULE) $(D)$(pythondir)/kplug/
uninstall: ## remove what install put there
	rm -f $(foreach page,$(MAN_PAGES),\
		$(D)$(mandir)/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page))) \
		$(MAN_LINKS:%=$(D)$(mandir)/man3/%.3)
	rm -f $(D)$(prefix)/bin/pluginctl $(D)$(prefix)/sbin/plugind
	rm -f $(PLUGINS:%=$(D)$(kplugdir)/plugins/%.so) \
		$(PLUGINS:%=$(D)$(kplugdir)/plugins.d/%.json)
	rm -f $(D)$(libdir)/libkplug.so $(D)$(libdir)/$(SONAME) \
		$(D)$(libdir)/libkplug.so.$(VERSION) $(D)$(libdir)/pkgconfig/kplug.pc
	rm -f $(D)$(unitdir)/plugind.service $(D)$(unitdir)/plugind.socket \
		$(D)$(sysusersdir)/kplug.conf $(D)$(tmpfilesdir)/kplug.conf
	rm -rf $(D)$(libexecdir)/kplug $(D)$(datadir)/kplug $(D)$(prefix)/include/kplug \
		$(D)$(pythondir)/kplug
	rm -f $(D)$(datadir)/bash-completion/completions/pluginctl \
		$(D)$(datadir)/zsh/site-functions/_pluginctl \
		$(D)$(datadir)/fish/vendor_completions.d/pluginctl.fish
	@rmdir $(COMPLETION:%=$(D)$(datadir)/%) 2>/dev/null || :
	@rmdir $(D)$(unitdir) $(D)$(prefix)/lib/systemd $(D)$(sysusersdir) $(D)$(tmpfilesdir) \
		$(D)$(libdir)/pkgconfig $(D)$(kplugdir)/plugins $(D)$(kplugdir)/plugins.d \
		$(D)$(kplugdir) $(D)$(sysconfdir)/kplug/plugins.d $(D)$(sysconfdir)/kplug \
		2>/dev/null || :
	@for left in $(D)$(kplugdir)/plugins $(D)$(sysconfdir)/kplug $(D)/var/lib/kplug \
		$(D)/var/cache/kplug; do [ ! -e $$left ] || \
		echo "kplug: $$left stays, with what was made there since"; done

# ---- archives ---------------------------------------------------------------
# The same bytes for the same files, whoever makes it, wherever and when. An archive has no
# repository: all of it is its files, with the time of the commit.
DIST        := $(BUILD)/kplug-$(VERSION).tar.gz
ifneq ($(wildcard .git),)
GIT         := git -c safe.directory='*'
dist_files   = $(GIT) ls-files -z
dist_time    = $$($(GIT) log -1 --format=%ct)
else
dist_files   = find . -path './build*' -prune -o -name __pycache__ -prune -o \
	-type f -printf '%P\0'
dist_time    = $$(stat -c %Y Makefile)
endif
dist: ## the sources as one archive in build/, the same bytes each time
	@mkdir -p $(BUILD)
	$(Q)$(dist_files) | LC_ALL=C sort -z | tar --null -T - -cf $(DIST:.gz=) --format=ustar \
		--mtime=@$(dist_time) --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX \
		--transform='s|^|kplug-$(VERSION)/|'
	$(Q)gzip -nf9 $(DIST:.gz=)
	@sha256sum $(DIST)
# Debian's tools want debian/ on top of a tree of their own.
DEB         := $(BUILD)/deb
deb: setup-deb dist ## Debian packages in build/deb/, that of cuda where nvcc is
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB) && tar -xf $(DIST) -C $(DEB)
	$(Q)cd $(DEB)/kplug-$(VERSION) && mv daemon/debian . && \
		env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL NVCC='$(NVCC)' \
		DEB_BUILD_OPTIONS="$${DEB_BUILD_OPTIONS-noautodbgsym}" \
		dpkg-buildpackage -us -uc -b $(if $(NVCC),-Ppkg.kplug.cuda) >../log 2>&1 || \
		{ tail -n 40 ../log; exit 1; }
	@rm -rf $(DEB)/kplug-$(VERSION)
	@cd $(DEB) && ls *.deb

# ---- hygiene ----------------------------------------------------------------
C_FILES      = $(shell git ls-files '*.c' '*.h' '*.hpp' '*.cc' '*.cu')
PYTHON_FILES = $(shell git ls-files '*.py'; git grep -lE '^.!/.*python' -- ':!*.py')
# A stamp is there where the analyzers of gcc and clang find nothing in a file and what
# it includes. That of gcc does not end with the vectors of plugins/x86.
LINTED      := $(patsubst %.c,$(BUILD)/lint/%.stamp,$(sort $(LIB_SRC) $(WORKER_SRC) \
	$(DAEMON_SRC) $(CMD_SRC) $(filter-out plugins/x86/%,$(wildcard plugins/*/*.c))))
$(BUILD)/lint/%.stamp: %.c tests/lint-file .clang-tidy
	@mkdir -p $(@D)
	$(say) LINT $<
	$(Q)sh tests/lint-file $< $@ -std=c11 $(ALL_CPPFLAGS) -DKP_VERSION='"0"' -DKP_PROTOCOL=1
ifneq ($(filter lint-files,$(MAKECMDGOALS)),)
-include $(LINTED:=.d)
endif
lint-files: $(LINTED)
lint: setup-lint ## headers alone, include direction, sizes, layout, what seven checkers find
	@$(MAKE) --no-print-directory $(BUILD)/gen/interface.inc $(BUILD)/gen/installed.h
	@bad=0; $(MAKE) --no-print-directory -k $(if $(findstring j,$(MAKEFLAGS)),,-j$$(nproc)) \
		lint-files || bad=1; sh tests/lint $(BUILD) || bad=1; exit $$bad
format: ## lay out all C, C++ and Python files
	clang-format -i $(C_FILES)
	black -q -l 100 $(PYTHON_FILES)
clean: ## remove build/
	rm -rf $(BUILD)
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
