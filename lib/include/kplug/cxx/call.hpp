/* SPDX-License-Identifier: MIT */
/* A call that is made once. Part of kplug/host.hpp. */
#ifndef KPLUG_CXX_CALL_HPP
#define KPLUG_CXX_CALL_HPP

#include <kplug/host.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <kplug/cxx/site.hpp>

namespace kplug
{

/*
 * A call of a site with tensors, weights or `absent`, one a role, which it sees as they
 * are when it runs: they and the site must outlive it. Calling it is kp_run, and nothing
 * is made for it. One thread at a time.
 */
template <std::size_t Roles> class call
{
      public:
	template <class... Tensors>
	explicit call(const site &where, Tensors &...tensors)
	    : site_(where.get()), tensors_{tensors.get()...}
	{
		(void)kp_call_init(site_, &raw_);
		raw_.tensors = tensors_.data();
		raw_.n_tensors = static_cast<std::uint32_t>(Roles);
		raw_.error = &said_;
	}
	/* It points to itself. */
	call(const call &) = delete;
	call &operator=(const call &) = delete;
	~call() = default;

	void operator()()
	{
		const int status = kp_run(site_, &raw_);
		if (__builtin_expect(status != KP_OK, 0))
			fail(status);
	}
	/* Without an exception: enum kp_status, and what error() says. */
	int run() noexcept
	{
		return kp_run(site_, &raw_);
	}
	const kp_error &error() const noexcept
	{
		return said_;
	}
	/* For stream, workspace, attributes and whatever else a call may have. */
	kp_call &get() noexcept
	{
		return raw_;
	}

      private:
	[[noreturn]] void fail(int status)
	{
		const kp_error said = said_;
		said_ = detail::sized<kp_error>();
		throw kplug::error(status, said);
	}

	kp_site *site_;
	std::array<const kp_tensor *, Roles> tensors_;
	kp_error said_ = detail::sized<kp_error>();
	kp_call raw_{};
};
template <class... Tensors> call(const site &, Tensors &...) -> call<sizeof...(Tensors)>;

} // namespace kplug

#endif
