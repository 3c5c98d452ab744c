/* SPDX-License-Identifier: MIT */
/*
 * kplug/host.h for C++: the same functions, with owners that cannot be copied and
 * exceptions for errors.
 *
 *	kplug::handle kplug;
 *	kplug::site up(kplug, kplug::site_options("gemm/mm").label("ffn.up"));
 *
 *	up.run({m, n, k}, a, b, c);                     // pointers and extents
 *
 *	kplug::tensor x(a, {m, k}), y(b, {k, n}), z(c, {m, n});
 *	kplug::call product(up, x, y, z);               // made once ...
 *	product();                                      // ... and this is kp_run
 *
 * A handle must outlive what is made with it: declare it first. Everything else, threads
 * and ownership too, is as host.h says; get() gives what its functions take.
 *
 * C++17 and later. Nothing here is compiled into libkplug: it is inline.
 */
#ifndef KPLUG_HOST_HPP
#define KPLUG_HOST_HPP

#include <kplug/cxx/call.hpp>
#include <kplug/cxx/error.hpp>
#include <kplug/cxx/handle.hpp>
#include <kplug/cxx/hold.hpp>
#include <kplug/cxx/site.hpp>
#include <kplug/cxx/tensor.hpp>

#endif
