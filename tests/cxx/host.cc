// SPDX-License-Identifier: MIT
//
// kplug/host.hpp as a program uses it: each claim is a function, found by its name.
// Prints what a test asks for, ends with 1 and a line where a claim does not hold.
#include <kplug/host.hpp>

#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace
{

#define HOLDS(claim)                                                                     \
	do {                                                                             \
		if (!(claim)) {                                                          \
			std::cerr << __func__ << ':' << __LINE__ << ": " #claim "\n";    \
			std::exit(1);                                                    \
		}                                                                        \
	} while (0)

template <class T> constexpr bool only_moves()
{
	return std::is_nothrow_move_constructible_v<T> &&
	       !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
}
static_assert(only_moves<kplug::handle>() && only_moves<kplug::site>());
static_assert(only_moves<kplug::hold>() && only_moves<kplug::scope>());
static_assert(only_moves<kplug::plan>() && only_moves<kplug::weight>());
static_assert(only_moves<kplug::local_kernel>());
static_assert(!std::is_move_constructible_v<kplug::call<2>>);
static_assert(std::is_copy_constructible_v<kplug::tensor<float, 2>>);
static_assert(kplug::dtype_of<std::uint8_t>::value.code == KP_CODE_UINT);
static_assert(kplug::dtype_of<bool>::value.code == KP_CODE_BOOL);
static_assert(kplug::dtype_of<double>::value.bits == 64);
static_assert(kplug::dtype_of<kplug::bfloat16>::value.code == KP_CODE_BFLOAT);

/* The status of what f throws; 0: nothing. */
template <class Function> int thrown(Function &&f, std::string *what = nullptr)
{
	try {
		f();
	} catch (const kplug::error &error) {
		if (what)
			*what = error.what();
		return error.status();
	}
	return KP_OK;
}

int give_42(const kp_call *call)
{
	const kp_tensor *last = call->tensors[call->n_tensors - 1];
	for (std::int64_t i = 0; i < last->shape[0]; i++)
		static_cast<float *>(last->data)[i * last->strides[0]] = 42;
	return KP_OK;
}
int need_a_plan(const kp_call *, kp_need *need)
{
	need->host_plan_bytes = sizeof(float);
	return KP_OK;
}
int make_a_plan(const kp_call *call)
{
	const float value = 7;
	std::memcpy(call->host_plan, &value, sizeof(value));
	return KP_OK;
}
int give_the_plan(const kp_call *call)
{
	if (call->host_plan_bytes < sizeof(float))
		return KP_INVALID;
	std::memcpy(call->tensors[1]->data, call->host_plan, sizeof(float));
	return KP_OK;
}
int fail(const kp_call *call)
{
	call->error->native_code = -5;
	std::strcpy(call->error->text, "it is the kernel's fault");
	return KP_RUNTIME;
}
int has_no_weight(const kp_call *call)
{
	return call->tensors[1] ? KP_INVALID : KP_OK;
}

kp_kernel running(int (*run)(const kp_call *))
{
	kp_kernel kernel{};
	kernel.size = sizeof(kernel);
	kernel.run = run;
	return kernel;
}
std::string note(const std::string &name, const std::string &operation,
	const std::string &signature)
{
	return R"({"name": ")" + name + R"(", "operation": ")" + operation +
	       R"(", "priority": 19, "flags": ["reentrant"], "signatures": [")" +
	       signature + R"("]})";
}

const char square[] = "elementwise/square";
const char square_types[] = "x=f32,y=f32";

void errors_have_status_and_sentence()
{
	kplug::handle kplug;
	std::string what;
	HOLDS(thrown([&] { kplug::site(kplug, kplug::site_options("gemm/mn")); },
		      &what) == KP_INVALID);
	HOLDS(what.find("gemm/mm") != std::string::npos);
	kplug::options nowhere;
	nowhere.socket = "/nonexistent/socket";
	HOLDS(thrown([&] { kplug::handle refused(nowhere); }, &what) == KP_UNAVAILABLE);
	HOLDS(what.find("/nonexistent/socket") != std::string::npos);

	const kp_kernel broken = running(fail);
	kplug::local_kernel local(
		kplug, "broken", note("broken", square, square_types), broken);
	kplug::site site(kplug, kplug::site_options(square));
	float x[2] = {}, y[2];
	kplug::tensor in(x, {2}), out(y, {2});
	kplug::call call(site, in, out);
	try {
		call();
		HOLDS(false);
	} catch (const kplug::error &error) {
		HOLDS(error.status() == KP_RUNTIME && error.native_code() == -5);
		HOLDS(std::string(error.what()) == "it is the kernel's fault");
	}
	HOLDS(call.error().text[0] == '\0');
	HOLDS(call.run() == KP_RUNTIME);
	HOLDS(std::string(call.error().text) == "it is the kernel's fault");
}

void what_is_left_out_is_an_error()
{
	kplug::handle kplug;
	kplug::site site(kplug, kplug::site_options("gemm/mm").label("short"));
	float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {};
	HOLDS(thrown([&] { site.run({2, 2}, a, b, c); }) == KP_INVALID);
	HOLDS(thrown([&] { site.run({}, a, b, c); }) == KP_INVALID);
	HOLDS(thrown([&] { site.run({2, 2, 2}, a, b); }) == KP_INVALID);
	HOLDS(thrown([&] { site.run({2, 2, 2}, a, nullptr, c); }) == KP_INVALID);
	site.run({2, 2, 2}, a, b, c);
	HOLDS(c[0] == 1 && c[3] == 4);
	HOLDS(site.kernel({2, 2, 2}) == site.kernel());
}

void tensors_are_views()
{
	kplug::handle kplug;
	kplug::site site(kplug, kplug::site_options("gemm/mm"));
	const float a[] = {1, 2, 3, 4, 5, 6};
	float b[] = {1, 2}, c[3] = {};
	const kplug::tensor x(a, {3, 2});
	kplug::tensor y(b, {2, 1});
	kplug::tensor z(c, {3, 1});
	kplug::call(site, x, y, z)();
	HOLDS(c[0] == 5 && c[1] == 11 && c[2] == 17);

	/* The transpose is strides; a copy points to its own extents. */
	kplug::tensor turned(a, {2, 3}, {1, 2});
	const auto copy = turned;
	turned.extent(0, 1);
	HOLDS(copy.extent(0) == 2 && copy.stride(1) == 2 && copy.data() == a);
	HOLDS(copy.get()->shape[0] == 2 && turned.get()->shape[0] == 1);
	float d[] = {1, 1, 1}, e[2];
	kplug::tensor ones(d, {3, 1}), sums(e, {2, 1});
	kplug::call(site, copy, ones, sums)();
	HOLDS(e[0] == 9 && e[1] == 12);

	/* A call sees what becomes of them. */
	kplug::call again(site, x, y, z);
	float f[3] = {};
	z.data(f);
	again();
	HOLDS(f[2] == 17);
	HOLDS(z.rank() == 2);
}

void owners_move()
{
	kplug::handle first;
	kplug::handle kplug(std::move(first));
	HOLDS(!first.get() && kplug.is_attached());
	std::vector<kplug::site> sites;
	for (const char *label : {"one", "two", "three"})
		sites.emplace_back(kplug, kplug::site_options(square).label(label));
	HOLDS(sites[2].label() == "three");
	HOLDS(kplug::warm(sites).n_rungs == 3);
	float x[] = {3}, y[1];
	for (kplug::site &site : sites) {
		site.run({1}, x, y);
		HOLDS(y[0] == 9);
	}
	sites.erase(sites.begin());
	sites[1].run({1}, y, y);
	HOLDS(y[0] == 81);
}

void scopes_end_with_their_block()
{
	kplug::handle kplug;
	kplug::site site(kplug, kplug::site_options(square));
	const std::string before(site.kernel());
	HOLDS(before != "reference/elementwise_square");
	{
		kplug::scope scope(kplug, square, "reference");
		HOLDS(site.kernel() == "reference/elementwise_square");
		kplug::scope moved(std::move(scope));
		HOLDS(site.kernel() == "reference/elementwise_square");
		kplug::scope inner(kplug, square, before, kplug::reach::this_thread);
		HOLDS(site.kernel() == before);
		inner = std::move(moved);
		HOLDS(site.kernel() == before);
	}
	HOLDS(site.kernel() == before);
}

void local_kernels_are_there_while_they_live()
{
	kplug::handle kplug;
	kplug::site site(kplug, kplug::site_options(square));
	const kp_kernel functions = running(give_42);
	const std::string before(site.kernel());
	float x[] = {3, 3}, y[2];
	{
		kplug::local_kernel local(
			kplug, "mine", note("mine", square, square_types), functions);
		kplug::local_kernel moved(std::move(local));
		site.run({2}, x, y);
		HOLDS(y[1] == 42 && site.kernel() == "local/mine");
	}
	site.run({2}, x, y);
	HOLDS(y[1] == 9 && site.kernel() == before);
	HOLDS(thrown([&] {
		kplug::local_kernel(kplug, "bad", R"({"name": "bad"})", functions);
	}) == KP_INVALID);
}

void an_absent_role_is_absent()
{
	kplug::handle kplug;
	const kp_kernel functions = running(has_no_weight);
	kplug::local_kernel local(
		kplug, "plain", note("plain", "norm/rms", square_types), functions);
	kplug::site site(kplug, kplug::site_options("norm/rms")
					.signature(square_types)
					.with("eps", 1e-3)
					.range("n", 1, 8));
	float x[] = {3, 4}, y[2];
	kplug::tensor in(x, {1, 2}), out(y, {1, 2});
	kplug::call(site, in, kplug::absent, out)();
	site.run({1, 2}, x, nullptr, y);
	HOLDS(thrown([&] { site.run({1, 9}, x, nullptr, y); }) == KP_INVALID);
}

void plans_and_weights()
{
	kplug::handle kplug;
	kp_kernel functions = running(give_the_plan);
	functions.need = need_a_plan;
	functions.plan = make_a_plan;
	kplug::local_kernel local(
		kplug, "planned", note("planned", square, square_types), functions);
	kplug::site site(kplug, kplug::site_options(square));
	float x[] = {3}, y[1] = {};
	kplug::tensor in(x, {1}), out(y, {1});
	kplug::call call(site, in, out);
	kplug::plan plan(site, call);
	kplug::plan moved(std::move(plan));
	moved.use(call);
	call();
	HOLDS(y[0] == 7);

	float a[] = {2}, b[] = {3}, c[1];
	kplug::site product(kplug, kplug::site_options("gemm/mm"));
	kplug::tensor left(a, {1, 1}), right(b, {1, 1}), result(c, {1, 1});
	kplug::weight weight(product, "b", right);
	kplug::call(product, left, weight, result)();
	HOLDS(c[0] == 6);
	HOLDS(thrown([&] { kplug::weight(product, "w", right); }) == KP_INVALID);
}

/* Holds until its input ends; prints the kernel. */
void holds_until_told()
{
	kplug::options options;
	options.name = "holder";
	kplug::handle kplug(options);
	kplug::site site(kplug, kplug::site_options(square));
	std::string line;
	{
		kplug::hold hold(site, "graph");
		kplug::hold moved(std::move(hold));
		std::cout << site.kernel() << std::endl;
		std::getline(std::cin, line);
	}
	std::cout << "released" << std::endl;
	std::getline(std::cin, line);
}

void what_is_asked_is_json()
{
	kplug::handle kplug;
	const std::string request = R"({"operation": "gemm/mm"})";
	HOLDS(kplug.decide(request).find("\"selected\"") != std::string::npos);
	HOLDS(kplug.why(request).find("\"candidates\"") != std::string::npos);
	HOLDS(kplug.describe("gemm/mm").find("\"roles\"") != std::string::npos);
	HOLDS(thrown([&] { (void)kplug.why("{"); }) == KP_INVALID);
	HOLDS(kplug.fingerprint().size() == 64 && kplug.fingerprint("cpu").size() == 64);
	HOLDS(kplug.step() == 0 && kplug.generation() > 0);
	kplug::site site(kplug, kplug::site_options(square).override_with("reference"));
	HOLDS(site.why().find("reference/elementwise_square") != std::string::npos);
	HOLDS(site.why({4}).find("\"override\"") != std::string::npos);
}

} // namespace

int main(int argc, char **argv)
{
	const std::map<std::string, void (*)()> claims = {
		{"errors_have_status_and_sentence", errors_have_status_and_sentence},
		{"what_is_left_out_is_an_error", what_is_left_out_is_an_error},
		{"tensors_are_views", tensors_are_views},
		{"owners_move", owners_move},
		{"scopes_end_with_their_block", scopes_end_with_their_block},
		{"local_kernels_are_there_while_they_live",
			local_kernels_are_there_while_they_live},
		{"an_absent_role_is_absent", an_absent_role_is_absent},
		{"plans_and_weights", plans_and_weights},
		{"holds_until_told", holds_until_told},
		{"what_is_asked_is_json", what_is_asked_is_json},
	};
	if (argc != 2 || claims.count(argv[1]) == 0)
		return 2;
	try {
		claims.at(argv[1])();
	} catch (const std::exception &error) {
		std::cerr << argv[1] << ": " << error.what() << '\n';
		return 1;
	}
	return 0;
}
