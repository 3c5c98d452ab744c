/* SPDX-License-Identifier: MIT */
/* Views of elements: what a call is made of. Part of kplug/host.hpp. */
#ifndef KPLUG_CXX_TENSOR_HPP
#define KPLUG_CXX_TENSOR_HPP

#include <kplug/host.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kplug/cxx/error.hpp>

namespace kplug
{

struct bfloat16 {
	std::uint16_t bits;
};

/* What kplug calls an element type. Specialize it for a half of your own. */
template <class T> struct dtype_of {
	static_assert(std::is_arithmetic_v<T>, "kplug::dtype_of has to know the type");
	static constexpr kp_dtype value{
		std::is_same_v<T, bool>	      ? std::uint8_t{KP_CODE_BOOL}
		: std::is_floating_point_v<T> ? std::uint8_t{KP_CODE_FLOAT}
		: std::is_signed_v<T>	      ? std::uint8_t{KP_CODE_INT}
					      : std::uint8_t{KP_CODE_UINT},
		sizeof(T) * 8, 1};
};
template <> struct dtype_of<bfloat16> {
	static constexpr kp_dtype value{KP_CODE_BFLOAT, 16, 1};
};

/* A view of elements that somebody else owns, as std::span is; dense, or by strides. */
template <class T, std::size_t Rank> class tensor
{
      public:
	tensor(T *data, const std::int64_t (&shape)[Rank],
		kp_place place = cpu()) noexcept
	    : tensor(data, shape, place, nullptr)
	{
	}
	/* strides: in elements */
	tensor(T *data, const std::int64_t (&shape)[Rank],
		const std::int64_t (&strides)[Rank], kp_place place = cpu()) noexcept
	    : tensor(data, shape, place, strides)
	{
	}
	tensor(const tensor &other) noexcept
	    : shape_(other.shape_), strides_(other.strides_), raw_(other.raw_)
	{
		point();
	}
	tensor &operator=(const tensor &other) noexcept
	{
		shape_ = other.shape_;
		strides_ = other.strides_;
		raw_ = other.raw_;
		point();
		return *this;
	}
	~tensor() = default;

	static constexpr std::size_t rank() noexcept
	{
		return Rank;
	}
	T *data() const noexcept
	{
		return static_cast<T *>(raw_.data);
	}
	std::int64_t extent(std::size_t dim) const noexcept
	{
		return shape_[dim];
	}
	std::int64_t stride(std::size_t dim) const noexcept
	{
		return strides_[dim];
	}
	/* Calls that are bound to it see it. */
	void data(T *data) noexcept
	{
		raw_.data = detail::address(data);
	}
	void extent(std::size_t dim, std::int64_t value) noexcept
	{
		shape_[dim] = value;
	}
	const kp_tensor *get() const noexcept
	{
		return &raw_;
	}

      private:
	static constexpr kp_place cpu() noexcept
	{
		return {KP_DEVICE_CPU, 0};
	}
	tensor(T *data, const std::int64_t *shape, kp_place place,
		const std::int64_t *strides) noexcept
	{
		std::int64_t stride = 1;
		for (std::size_t i = Rank; i-- > 0; stride *= shape[i]) {
			shape_[i] = shape[i];
			strides_[i] = strides ? strides[i] : stride;
		}
		raw_.data = detail::address(data);
		raw_.device = place;
		raw_.ndim = static_cast<std::int32_t>(Rank);
		raw_.dtype = dtype_of<std::remove_cv_t<T>>::value;
		point();
	}
	void point() noexcept
	{
		raw_.shape = shape_.data();
		raw_.strides = strides_.data();
	}

	std::array<std::int64_t, Rank> shape_{}, strides_{};
	kp_tensor raw_{};
};

/* In the place of an optional role that a call does without. */
struct absent_role {
	const kp_tensor *get() const noexcept
	{
		return nullptr;
	}
};
inline constexpr absent_role absent{};

} // namespace kplug

#endif
