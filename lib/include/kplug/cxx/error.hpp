/* SPDX-License-Identifier: MIT */
/* A status and its sentence as an exception; what the other parts share. Part of
 * kplug/host.hpp. */
#ifndef KPLUG_CXX_ERROR_HPP
#define KPLUG_CXX_ERROR_HPP

#include <kplug/host.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace kplug
{

/* what() is kplug's sentence: what is wrong with what, and what to do. */
class error : public std::runtime_error
{
      public:
	error(int status, const kp_error &from)
	    : std::runtime_error(from.text[0] ? from.text : "kplug: no reason was given"),
	      status_(status), native_code_(from.native_code)
	{
	}

	/* enum kp_status */
	int status() const noexcept
	{
		return status_;
	}
	/* Of the library that failed (CUresult, errno, ...), or 0. */
	std::int64_t native_code() const noexcept
	{
		return native_code_;
	}

      private:
	int status_;
	std::int64_t native_code_;
};

namespace detail
{

template <class Struct> Struct sized() noexcept
{
	Struct made{};
	made.size = sizeof(Struct);
	return made;
}

/* Calls f with a fresh kp_error, and throws what is in it. */
template <class Function> void must(Function &&f)
{
	kp_error said = sized<kp_error>();
	const int status = f(&said);
	if (status != KP_OK)
		throw error(status, said);
}

template <auto Free> struct freed {
	template <class T> void operator()(T *owned) const noexcept
	{
		Free(owned);
	}
};
template <class T, auto Free> using owner = std::unique_ptr<T, freed<Free>>;

inline std::string text(char *owned)
{
	const owner<char, kp_free> from(owned);
	return from.get();
}

/* No operation has more; what a caller leaves out is found missing, not read. */
inline constexpr std::size_t most_dims = 32, most_roles = 32;

inline std::array<std::int64_t, most_dims> extents(
	std::initializer_list<std::int64_t> dims)
{
	std::array<std::int64_t, most_dims> all;
	if (dims.size() > most_dims)
		throw std::length_error("kplug: more dims than an operation can have");
	std::fill(std::copy(dims.begin(), dims.end(), all.begin()), all.end(), -1);
	return all;
}

template <class T> void *address(T *data) noexcept
{
	return const_cast<std::remove_cv_t<T> *>(data);
}
inline void *address(std::nullptr_t) noexcept
{
	return nullptr;
}

} // namespace detail

} // namespace kplug

#endif
