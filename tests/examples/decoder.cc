// SPDX-License-Identifier: MIT
//
// The decoder of decoder.c in C++: the same weights, the same tokens.
//
//	c++ -std=c++17 decoder.cc -o decoder $(pkg-config --cflags --libs kplug)
//	./decoder [--seed N] [--tokens N | --forever] [--why] [--logits] [--no-daemon]
//
// Kernels, Decoder::attention and main show kplug: the rest is what any engine has.
#include <kplug/host.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace
{

constexpr int vocab = 256, dim = 64, hidden = 96, layers = 2, batch = 3;
constexpr int heads = 4, kv_heads = 2, head = dim / heads, kv = kv_heads * head;
constexpr int qkv_dim = dim + 2 * kv, page = 8, held = 4, pages = batch * held;

// Every place that calls an operation; what does not vary is said once.
struct Kernels {
	kplug::handle kplug;
	kplug::site norm, qkv, attention, output, up, silu_mul, down, logits, softmax;

	explicit Kernels(const kplug::options &how)
	    : kplug(how), norm(at("norm/rms", "norm", "rows")),
	      qkv(at("gemm/mm", "attention.qkv", "m")),
	      attention(at("attention/decode", "attention", "b")),
	      output(at("gemm/mm", "attention.output", "m")),
	      up(at("gemm/mm", "ffn.up", "m")),
	      silu_mul(at("activation/silu_mul", "ffn.silu_mul", "rows")),
	      down(at("gemm/mm", "ffn.down", "m")),
	      logits(at("gemm/mm", "head.logits", "m")),
	      softmax(at("norm/softmax", "head.softmax", "rows"))
	{
		// Code is found and loaded now, so that no later call waits for it.
		kplug::warm(all());
	}
	std::vector<std::reference_wrapper<const kplug::site>> all() const
	{
		return {norm, qkv, attention, output, up, silu_mul, down, logits,
			softmax};
	}

      private:
	kplug::site at(const char *operation, const char *label, const char *rows) const
	{
		kplug::site_options said(operation);
		said.label(label).range(rows, 1, batch);
		if (operation == std::string("norm/rms"))
			said.with("eps", 1e-5);
		return kplug::site(kplug, said);
	}
};

// The same floats on every machine, by splitmix64: multiples of 2^-16 around 0.
class Random
{
      public:
	explicit Random(std::uint64_t seed) : seed_(seed)
	{
	}
	std::vector<float> take(std::size_t count)
	{
		std::vector<float> made(count);
		std::generate(made.begin(), made.end(), [this] { return next(); });
		return made;
	}

      private:
	float next()
	{
		std::uint64_t z = seed_ += 0x9e3779b97f4a7c15;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		return static_cast<float>(static_cast<int>(z >> 48) - 32768) / 65536;
	}

	std::uint64_t seed_;
};

struct Layer {
	std::vector<float> attention_norm, qkv, output, ffn_norm, gate, up, down;
	std::vector<float> k, v; // [pages, page, kv]

	explicit Layer(Random &random)
	    : attention_norm(random.take(dim)), qkv(random.take(dim * qkv_dim)),
	      output(random.take(dim * dim)), ffn_norm(random.take(dim)),
	      gate(random.take(dim * hidden)), up(random.take(dim * hidden)),
	      down(random.take(hidden * dim)), k(pages * page * kv), v(pages * page * kv)
	{
	}
};

class Decoder
{
      public:
	Decoder(const Kernels &kernels, Random random)
	    : kernels_(kernels), embedding_(random.take(vocab * dim)),
	      position_(random.take(held * page * dim))
	{
		for (int i = 0; i < layers; i++)
			layers_.emplace_back(random);
		norm_ = random.take(dim);
		head_ = random.take(dim * vocab);
		for (std::int32_t i = 0; i < pages; i++)
			pages_[i % batch * held + i / batch] = pages - 1 - i;
		for (std::int32_t i = 0; i < batch; i++)
			token_[i] = i;
	}

	// One token more of each sequence; another one joins until all are live.
	void generate()
	{
		live_ += live_ < batch;
		for (int i = 0; i < live_; i++)
			begin(i);
		for (Layer &layer : layers_)
			run(layer);
		kernels_.norm.run({live_, dim}, x_, norm_.data(), normed_);
		kernels_.logits.run({live_, vocab, dim}, normed_, head_.data(), logits_);
		kernels_.softmax.run({live_, vocab}, logits_, likely_);
		for (int i = 0; i < live_; i++) {
			const float *row = likely_ + i * vocab;
			const auto most = std::max_element(row, row + vocab) - row;
			token_[i] = static_cast<std::int32_t>(most);
		}
	}
	void print(bool with_logits) const
	{
		for (int i = 0; i < live_; i++)
			std::cout << token_[i] << (i + 1 < live_ ? ' ' : '\n');
		for (int i = 0; with_logits && i < live_ * vocab; i++)
			std::cout << logits_[i] << ((i + 1) % vocab ? ' ' : '\n');
	}

      private:
	// Room for one token more: a sequence that is full gives its oldest page.
	void begin(int i)
	{
		std::int32_t *const own = pages_ + i * held;
		if (lens_[i] == held * page) {
			std::rotate(own, own + 1, own + held);
			lens_[i] -= page;
		}
		for (int j = 0; j < dim; j++)
			x_[i * dim + j] = embedding_[token_[i] * dim + j] +
					  position_[lens_[i] * dim + j];
		lens_[i]++;
	}
	void remember(Layer &layer)
	{
		for (int i = 0; i < live_; i++) {
			const int at = lens_[i] - 1;
			const int row = pages_[i * held + at / page] * page + at % page;
			const float *const from = qkv_ + i * qkv_dim + dim;
			std::copy_n(from, kv, &layer.k[row * kv]);
			std::copy_n(from + kv, kv, &layer.v[row * kv]);
		}
	}
	void add()
	{
		std::transform(x_, x_ + live_ * dim, added_, x_, std::plus<>());
	}
	// Tensors with strides: queries are read where they lie, in rows of qkv.
	void attend(Layer &layer)
	{
		const std::int64_t shape[] = {pages, page, kv_heads, head};
		const kplug::tensor q(qkv_, {live_, heads, head}, {qkv_dim, head, 1});
		const kplug::tensor k(layer.k.data(), shape), v(layer.v.data(), shape);
		const kplug::tensor table(pages_, {live_, held});
		const kplug::tensor lens(lens_, {live_});
		const kplug::tensor out(mixed_, {live_, heads, head});
		kplug::call(kernels_.attention, q, k, v, table, lens, out)();
	}
	void run(Layer &w)
	{
		kernels_.norm.run({live_, dim}, x_, w.attention_norm.data(), normed_);
		kernels_.qkv.run({live_, qkv_dim, dim}, normed_, w.qkv.data(), qkv_);
		remember(w);
		attend(w);
		kernels_.output.run({live_, dim, dim}, mixed_, w.output.data(), added_);
		add();
		kernels_.norm.run({live_, dim}, x_, w.ffn_norm.data(), normed_);
		kernels_.up.run({live_, hidden, dim}, normed_, w.gate.data(), gate_);
		kernels_.up.run({live_, hidden, dim}, normed_, w.up.data(), up_);
		kernels_.silu_mul.run({live_, hidden}, gate_, up_, gate_);
		kernels_.down.run({live_, dim, hidden}, gate_, w.down.data(), added_);
		add();
	}

	const Kernels &kernels_;
	std::vector<float> embedding_, position_, norm_, head_;
	std::vector<Layer> layers_;
	std::int32_t pages_[batch * held], lens_[batch] = {}, token_[batch];
	int live_ = 0;
	float x_[batch * dim], normed_[batch * dim], qkv_[batch * qkv_dim];
	float gate_[batch * hidden], up_[batch * hidden], mixed_[batch * dim];
	float added_[batch * dim], logits_[batch * vocab], likely_[batch * vocab];
};

struct Options {
	std::uint64_t seed = 1, tokens = 16;
	bool why = false, logits = false;
	kplug::options kplug;

	// Throws std::invalid_argument.
	explicit Options(const std::vector<std::string> &words)
	{
		kplug.flags = KP_ADOPT_AT_STEP;
		for (std::size_t i = 0; i < words.size(); i++) {
			const std::string &word = words[i];
			if (word == "--seed" && i + 1 < words.size())
				seed = std::stoull(words[++i]);
			else if (word == "--tokens" && i + 1 < words.size())
				tokens = std::stoull(words[++i]);
			else if (word == "--forever")
				tokens = std::numeric_limits<std::uint64_t>::max();
			else if (word == "--why")
				why = true;
			else if (word == "--logits")
				logits = true;
			else if (word == "--no-daemon")
				kplug.flags |= KP_NO_DAEMON;
			else
				throw std::invalid_argument(word);
		}
	}
};

void decode(const Options &options)
{
	Kernels kernels(options.kplug);
	Decoder decoder(kernels, Random(options.seed));

	std::cout.precision(9);
	for (const kplug::site &each : kernels.all())
		if (options.why)
			std::cout << each.label() << ' ' << each.kernel() << ' '
				  << each.why() << '\n';
	for (std::uint64_t i = 0; i < options.tokens && std::cout.flush(); i++) {
		// What was decided meanwhile holds from here: for a whole step.
		if (const auto changed = kernels.kplug.step())
			std::cerr << "decoder: " << changed << " sites changed\n";
		decoder.generate();
		decoder.print(options.logits);
	}
}

} // namespace

int main(int argc, char **argv)
try {
	decode(Options(std::vector<std::string>(argv + 1, argv + argc)));
	return std::cout.flush() ? 0 : 1;
} catch (const kplug::error &error) {
	std::cerr << "decoder: " << error.what() << '\n';
	return error.status();
} catch (const std::logic_error &error) {
	std::cerr << "decoder: what is " << error.what() << "?\n";
	return 2;
}
