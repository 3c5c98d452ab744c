/* SPDX-License-Identifier: MIT */
/* Sites, what is said of them, and warming them. Part of kplug/host.hpp. */
#ifndef KPLUG_CXX_SITE_HPP
#define KPLUG_CXX_SITE_HPP

#include <kplug/host.h>

#include <cstdint>
#include <initializer_list>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kplug/cxx/handle.hpp>

namespace kplug
{

/* What is fixed at a site: struct kp_site_options by name. */
class site_options
{
      public:
	explicit site_options(std::string operation) : operation_(std::move(operation))
	{
	}
	site_options &label(std::string text)
	{
		label_ = std::move(text);
		return *this;
	}
	site_options &signature(std::string text)
	{
		signature_ = std::move(text);
		return *this;
	}
	site_options &solution(std::string name)
	{
		solution_ = std::move(name);
		return *this;
	}
	/* A kernel or solution, before what is selected. */
	site_options &override_with(std::string name)
	{
		override_ = std::move(name);
		return *this;
	}
	/* The extents that a dim may have, ends included. */
	site_options &range(std::string dim, std::int64_t least, std::int64_t most)
	{
		raw_ranges_.push_back({keep(std::move(dim)), least, most});
		return *this;
	}
	/* An attribute or trait: an integer, a bool, a floating-point number or a text.
	 */
	template <class T> site_options &with(std::string name, T value)
	{
		kp_named named{};
		named.name = keep(std::move(name));
		if constexpr (std::is_floating_point_v<T>) {
			named.kind = 'f';
			named.value.f = static_cast<double>(value);
		} else if constexpr (std::is_integral_v<T>) {
			named.kind = std::is_same_v<T, bool> ? 'b' : 'i';
			named.value.i = static_cast<std::int64_t>(value);
		} else {
			named.kind = 's';
			named.value.s = keep(std::string(value));
		}
		values_.push_back(named);
		return *this;
	}
	/* enum kp_site_flag; they add up. */
	site_options &flags(std::uint32_t more) noexcept
	{
		flags_ |= more;
		return *this;
	}
	/* Of handle::add_device. */
	site_options &device(std::uint32_t id) noexcept
	{
		device_ = id;
		return *this;
	}
	site_options &guard_every(std::uint32_t calls) noexcept
	{
		guard_every_ = calls;
		return *this;
	}

	/* Valid while this is, and is not changed. */
	kp_site_options get() const
	{
		kp_site_options raw = detail::sized<kp_site_options>();
		raw.flags = flags_;
		raw.operation = operation_.c_str();
		raw.signature = said(signature_);
		raw.label = said(label_);
		raw.solution = said(solution_);
		raw.override_with = said(override_);
		raw.values = values_.data();
		raw.ranges = raw_ranges_.data();
		raw.n_values = static_cast<std::uint32_t>(values_.size());
		raw.n_ranges = static_cast<std::uint32_t>(raw_ranges_.size());
		raw.device = device_;
		raw.guard_every = guard_every_;
		return raw;
	}

      private:
	static const char *said(const std::string &text) noexcept
	{
		return text.empty() ? nullptr : text.c_str();
	}
	const char *keep(std::string text)
	{
		texts_->push_back(std::move(text));
		return texts_->back().c_str();
	}

	std::string operation_, label_, signature_, solution_, override_;
	std::shared_ptr<std::list<std::string>> texts_ =
		std::make_shared<std::list<std::string>>();
	std::vector<kp_named> values_;
	std::vector<kp_range> raw_ranges_;
	std::uint32_t flags_ = 0, device_ = 0, guard_every_ = 0;
};

class site
{
      public:
	site(const handle &kplug, const kp_site_options &how)
	    : handle_(kplug.get()), label_(how.label ? how.label : "")
	{
		kp_site *made = nullptr;
		detail::must([&](kp_error *e) {
			return kp_site_new(handle_, &how, &made, e);
		});
		site_.reset(made);
	}
	site(const handle &kplug, const site_options &how) : site(kplug, how.get())
	{
	}

	kp_site *get() const noexcept
	{
		return site_.get();
	}
	const std::string &label() const noexcept
	{
		return label_;
	}
	kp_handle *owner() const noexcept
	{
		return handle_;
	}
	/*
	 * Whole, contiguous tensors: the extents of the family's dims and a pointer a
	 * role (nullptr: absent), both in its order. What is left out at the end is an
	 * error.
	 */
	template <class... Data>
	void run(std::initializer_list<std::int64_t> dims, Data... data) const
	{
		run_on(nullptr, dims, data...);
	}
	template <class... Data>
	void run_on(void *stream, std::initializer_list<std::int64_t> dims,
		Data... data) const
	{
		static_assert(sizeof...(data) <= detail::most_roles);
		void *pointers[detail::most_roles] = {detail::address(data)...};
		const auto all = detail::extents(dims);
		detail::must([&](kp_error *e) {
			return kp_run_dense(get(), pointers, all.data(), stream, e);
		});
	}
	/* "plugin/kernel" for these extents, the least of the ranges without; "": none.
	 */
	std::string_view kernel() const noexcept
	{
		const char *name = kp_site_kernel(get(), nullptr);
		return name ? name : "";
	}
	std::string_view kernel(std::initializer_list<std::int64_t> dims) const
	{
		const char *name = kp_site_kernel(get(), detail::extents(dims).data());
		return name ? name : "";
	}
	/* How that was decided: JSON, as `pluginctl why --json` has it. */
	std::string why() const
	{
		return explain(nullptr);
	}
	std::string why(std::initializer_list<std::int64_t> dims) const
	{
		return explain(detail::extents(dims).data());
	}

      private:
	std::string explain(const std::int64_t *dims) const
	{
		char *text = nullptr;
		detail::must([&](kp_error *e) {
			text = kp_site_why(get(), dims, e);
			return text ? KP_OK : e->status;
		});
		return detail::text(text);
	}

	kp_handle *handle_;
	std::string label_;
	detail::owner<kp_site, kp_site_free> site_;
};

/* Resolves every rung of the sites, any range of them, and loads the code. */
template <class Sites> kp_warmth warm(const Sites &sites)
{
	std::vector<kp_site *> raw;
	for (const site &each : sites)
		raw.push_back(each.get());
	kp_warmth found = detail::sized<kp_warmth>();
	detail::must([&](kp_error *e) {
		const auto count = static_cast<std::uint32_t>(raw.size());
		return kp_warm(raw.data(), count, &found, e);
	});
	return found;
}

} // namespace kplug

#endif
