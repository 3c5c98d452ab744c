/* SPDX-License-Identifier: MIT */
/* What holds a kernel, and what steers one: scopes, plans, weights, own kernels. Part of
 * kplug/host.hpp. */
#ifndef KPLUG_CXX_HOLD_HPP
#define KPLUG_CXX_HOLD_HPP

#include <kplug/host.h>

#include <cstdint>
#include <string>
#include <utility>

#include <kplug/cxx/call.hpp>
#include <kplug/cxx/tensor.hpp>

namespace kplug
{

namespace detail
{

/* A number that a handle gave out, taken back once. */
template <int (*Release)(kp_handle *, std::uint64_t)> class ticket
{
      public:
	ticket(kp_handle *handle, std::uint64_t id) noexcept : handle_(handle), id_(id)
	{
	}
	ticket(ticket &&other) noexcept
	    : handle_(std::exchange(other.handle_, nullptr)), id_(other.id_)
	{
	}
	ticket &operator=(ticket &&other) noexcept
	{
		std::swap(handle_, other.handle_);
		std::swap(id_, other.id_);
		return *this;
	}
	~ticket()
	{
		if (handle_)
			(void)Release(handle_, id_);
	}

      private:
	kp_handle *handle_;
	std::uint64_t id_;
};

} // namespace detail

/* A captured graph holds the kernels that are in it, as long as this lives. */
class hold : private detail::ticket<kp_release>
{
      public:
	explicit hold(const site &where, const char *what = "graph")
	    : ticket(where.owner(), take(where, what))
	{
	}

      private:
	static std::uint64_t take(const site &where, const char *what)
	{
		std::uint64_t id = 0;
		detail::must(
			[&](kp_error *e) { return kp_hold(where.get(), what, &id, e); });
		return id;
	}
};

/* Whose sites of an operation run the choice. */
enum class reach { whole_handle = 0, this_thread = 1 };

/* An override for as long as it lives. */
class scope : private detail::ticket<kp_scope_end>
{
      public:
	scope(const handle &kplug, const std::string &operation,
		const std::string &choice, reach whose = reach::whole_handle)
	    : ticket(kplug.get(), begin(kplug, operation, choice, whose))
	{
	}

      private:
	static std::uint64_t begin(const handle &kplug, const std::string &operation,
		const std::string &choice, reach whose)
	{
		std::uint64_t id = 0;
		detail::must([&](kp_error *e) {
			return kp_scope_begin(kplug.get(), operation.c_str(),
				choice.c_str(), static_cast<int>(whose), &id, e);
		});
		return id;
	}
};

/* For irregular work, made once a step; a call that uses it must not outlive it. */
class plan
{
      public:
	template <std::size_t Roles> plan(const site &where, call<Roles> &like)
	{
		kp_plan *made = nullptr;
		detail::must([&](kp_error *e) {
			return kp_plan_new(where.get(), &like.get(), &made, e);
		});
		plan_.reset(made);
	}
	template <std::size_t Roles> void use(call<Roles> &in) const
	{
		const int status = kp_plan_use(plan_.get(), &in.get());
		if (status != KP_OK)
			throw error(status, in.error());
	}
	kp_plan *get() const noexcept
	{
		return plan_.get();
	}

      private:
	detail::owner<kp_plan, kp_plan_free> plan_;
};

/* A weight laid out for the kernel that the site runs, which it holds. */
class weight
{
      public:
	template <class T, std::size_t Rank>
	weight(const site &where, const char *role, const tensor<T, Rank> &from)
	{
		kp_weight *made = nullptr;
		detail::must([&](kp_error *e) {
			return kp_weight_new(where.get(), role, from.get(), &made, e);
		});
		weight_.reset(made);
	}
	const kp_tensor *get() const noexcept
	{
		return kp_weight_tensor(weight_.get());
	}

      private:
	detail::owner<kp_weight, kp_weight_free> weight_;
};

/* A kernel of this process alone, "local/NAME"; NAME as the note has it. */
class local_kernel
{
      public:
	local_kernel(const handle &kplug, std::string name, const std::string &note,
		const kp_kernel &functions)
	    : handle_(kplug.get()), name_(std::move(name))
	{
		detail::must([&](kp_error *e) {
			return kp_local_add(handle_, note.c_str(), &functions, e);
		});
	}
	local_kernel(local_kernel &&other) noexcept
	    : handle_(std::exchange(other.handle_, nullptr)),
	      name_(std::move(other.name_))
	{
	}
	local_kernel &operator=(local_kernel &&) = delete;
	~local_kernel()
	{
		if (handle_)
			(void)kp_local_remove(handle_, name_.c_str(), nullptr);
	}

      private:
	kp_handle *handle_;
	std::string name_;
};

} // namespace kplug

#endif
