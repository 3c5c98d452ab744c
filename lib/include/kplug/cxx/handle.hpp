/* SPDX-License-Identifier: MIT */
/* The handle: plugind, as this process sees it. Part of kplug/host.hpp. */
#ifndef KPLUG_CXX_HANDLE_HPP
#define KPLUG_CXX_HANDLE_HPP

#include <kplug/host.h>

#include <cstdint>
#include <string>

#include <kplug/cxx/error.hpp>

namespace kplug
{

/* struct kp_options with its size filled in. */
struct options : kp_options {
	options() noexcept : kp_options(detail::sized<kp_options>())
	{
	}
};

class handle
{
      public:
	explicit handle(const kp_options &how = options())
	{
		kp_handle *made = nullptr;
		detail::must([&](kp_error *e) { return kp_open(&how, &made, e); });
		handle_.reset(made);
	}

	kp_handle *get() const noexcept
	{
		return handle_.get();
	}
	/* Adopts what was decided meanwhile; how many sites run another kernel. */
	std::uint32_t step()
	{
		std::uint32_t changed = 0;
		detail::must([&](kp_error *e) { return kp_step(get(), &changed, e); });
		return changed;
	}
	std::uint64_t generation() const noexcept
	{
		return kp_generation(get());
	}
	bool is_attached() const noexcept
	{
		return kp_is_attached(get()) != 0;
	}
	/* Of all devices where none is named. */
	std::string fingerprint(const char *device = nullptr)
	{
		char digest[65] = "";
		detail::must([&](kp_error *e) {
			return kp_fingerprint(get(), device, digest, e);
		});
		return digest;
	}
	std::uint32_t add_device(const kp_device &device)
	{
		std::uint32_t id = 0;
		detail::must([&](kp_error *e) {
			return kp_device_add(get(), &device, &id, e);
		});
		return id;
	}
	void lose_device(std::uint32_t id) noexcept
	{
		(void)kp_device_lost(get(), id);
	}
	/* Requests, replies and contracts, as JSON. */
	std::string decide(const std::string &request)
	{
		return ask(kp_decide, request);
	}
	std::string why(const std::string &request)
	{
		return ask(kp_why, request);
	}
	std::string describe(const std::string &operation)
	{
		return ask(kp_describe, operation);
	}

      private:
	std::string ask(int (*function)(kp_handle *, const char *, char **, kp_error *),
		const std::string &request)
	{
		char *reply = nullptr;
		detail::must([&](kp_error *e) {
			return function(get(), request.c_str(), &reply, e);
		});
		return detail::text(reply);
	}

	detail::owner<kp_handle, kp_close> handle_;
};

} // namespace kplug

#endif
