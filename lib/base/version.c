/* SPDX-License-Identifier: MIT */
/* Reading, comparing and printing of SemVer 2.0.0 versions and ranges. */
#include "lib/base/version.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MOST = 999999999, TEXT_MOST = 160 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_identifier(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '-';
}

static int wrong(
	struct kp_diag *diag, const char *text, const char *part, const char *what)
{
	return kp_diag_set(diag, "bad_version", text, "%s: the %s %s", text, part, what);
}

/* Reads one number up to `end`; *at moves behind it. */
static int parse_number(const char *text, const char **at, const char *part,
	unsigned *number, struct kp_diag *diag)
{
	const char *from = *at;
	const char *to = from + strcspn(from, ".-+");
	unsigned long value = 0;

	if (from == to)
		return wrong(diag, text, part,
			*from == '+' || *from == '-' ? "starts with a sign"
						     : "is missing");
	for (const char *c = from; c < to; c++) {
		if (!is_digit(*c))
			return wrong(diag, text, part, "is not a number");
		value = value * 10 + (unsigned long)(*c - '0');
		if (value > NUMBER_MOST)
			return wrong(diag, text, part, "is above 999999999");
	}
	if (*from == '0' && to - from > 1)
		return wrong(diag, text, part, "has a leading zero");
	*number = (unsigned)value;
	*at = to;
	return 0;
}

/* A number that must be followed by a dot. */
static int parse_number_dot(const char *text, const char **at, const char *part,
	const char *next, unsigned *number, struct kp_diag *diag)
{
	if (parse_number(text, at, part, number, diag) < 0)
		return -1;
	if (**at != '.')
		return wrong(diag, text, next, "is missing");
	(*at)++;
	return 0;
}

static bool is_numeric(const char *from, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!is_digit(from[i]))
			return false;
	return length > 0;
}

/* Dot-separated identifiers up to `stop` or the end; numbers as SemVer says. */
static int parse_identifiers(const char *text, const char **at, const char *stop,
	const char *part, bool numbers, char *out, size_t size, struct kp_diag *diag)
{
	const char *from = *at;
	size_t length = strcspn(from, stop);
	const char *end = from + length;

	if (length >= size)
		return wrong(diag, text, part, "is longer than 63 characters");
	for (const char *c = from; c <= end;) {
		size_t n = 0;
		while (c + n < end && c[n] != '.') {
			if (!is_identifier(c[n]))
				return wrong(diag, text, part,
					"has a character outside A-Z a-z 0-9 - .");
			n++;
		}
		if (n == 0)
			return wrong(diag, text, part, "has an empty identifier");
		if (numbers && n > 1 && *c == '0' && is_numeric(c, n))
			return wrong(
				diag, text, part, "has a number with a leading zero");
		c += n + 1;
	}
	memcpy(out, from, length);
	out[length] = '\0';
	*at = end;
	return 0;
}

int kp_version_parse(const char *text, struct kp_version *version, struct kp_diag *diag)
{
	struct kp_version v = {0};
	const char *at = text;

	if (strlen(text) >= TEXT_MOST)
		return kp_diag_set(diag, "bad_version", text,
			"a version has at most %d characters", TEXT_MOST - 1);
	if (parse_number_dot(
		    text, &at, "major version", "minor version", &v.major, diag) < 0 ||
		parse_number_dot(text, &at, "minor version", "patch version", &v.minor,
			diag) < 0 ||
		parse_number(text, &at, "patch version", &v.patch, diag) < 0)
		return -1;
	if (*at == '.')
		return wrong(
			diag, text, "patch version", "is followed by a fourth number");
	if (*at == '-') {
		at++;
		if (parse_identifiers(text, &at, "+", "pre-release", true, v.pre,
			    sizeof(v.pre), diag) < 0)
			return -1;
	}
	if (*at == '+') {
		at++;
		if (parse_identifiers(text, &at, "", "build", false, v.build,
			    sizeof(v.build), diag) < 0)
			return -1;
	}
	*version = v;
	return 0;
}

static int compare_numbers(unsigned a, unsigned b)
{
	return (a > b) - (a < b);
}

/* One identifier against another: numbers by value and below texts. */
static int compare_identifiers(const char *a, size_t n, const char *b, size_t m)
{
	bool a_is_number = is_numeric(a, n);
	bool b_is_number = is_numeric(b, m);

	if (a_is_number != b_is_number)
		return a_is_number ? -1 : 1;
	/* Without leading zeros the longer number is the larger one. */
	if (a_is_number && n != m)
		return n < m ? -1 : 1;
	int order = memcmp(a, b, n < m ? n : m);
	return order ? order : (n > m) - (n < m);
}

static int compare_pre(const char *a, const char *b)
{
	if (!*a || !*b)
		return !*a - !*b;
	for (;;) {
		size_t n = strcspn(a, ".");
		size_t m = strcspn(b, ".");
		int order = compare_identifiers(a, n, b, m);
		if (order)
			return order;
		a += n;
		b += m;
		if (!*a || !*b)
			return !!*a - !!*b;
		a++;
		b++;
	}
}

int kp_version_compare(const struct kp_version *a, const struct kp_version *b)
{
	int order = compare_numbers(a->major, b->major);
	if (!order)
		order = compare_numbers(a->minor, b->minor);
	if (!order)
		order = compare_numbers(a->patch, b->patch);
	return order ? order : compare_pre(a->pre, b->pre);
}

const char *kp_version_print(const struct kp_version *version, char *text, size_t size)
{
	(void)snprintf(text, size, "%u.%u.%u%s%s%s%s", version->major, version->minor,
		version->patch, version->pre[0] ? "-" : "", version->pre,
		version->build[0] ? "+" : "", version->build);
	return text;
}

static struct kp_version next_incompatible(const struct kp_version *version)
{
	struct kp_version next = {.major = version->major, .minor = version->minor};
	if (version->major > 0) {
		next.major++;
		next.minor = 0;
	} else {
		next.minor++;
	}
	return next;
}

int kp_version_range_parse(const char *min, const char *max,
	struct kp_version_range *range, struct kp_diag *diag)
{
	struct kp_version_range r = {0};

	if (min && kp_version_parse(min, &r.min, diag) < 0)
		return -1;
	if (max && kp_version_parse(max, &r.max, diag) < 0)
		return -1;
	if (!max && min)
		r.max = next_incompatible(&r.min);
	else if (!max)
		r.max.major = UINT_MAX;
	if (kp_version_compare(&r.min, &r.max) >= 0)
		return kp_diag_set(diag, "empty_range", max,
			"the range from %s up to but not including %s holds no version",
			min ? min : "0.0.0", max);
	*range = r;
	return 0;
}

int kp_version_range_check(const struct kp_version_range *range,
	const struct kp_version *host, struct kp_diag *diag)
{
	char own[TEXT_MOST], min[TEXT_MOST], max[TEXT_MOST];
	bool is_old = kp_version_compare(host, &range->min) < 0;

	if (!is_old && kp_version_compare(host, &range->max) < 0)
		return 0;
	kp_version_print(host, own, sizeof(own));
	kp_version_print(&range->min, min, sizeof(min));
	kp_version_print(&range->max, max, sizeof(max));
	if (is_old)
		return kp_diag_set(diag, "host_too_old", "host.min",
			"host.min: the plugin needs kplug %s or later (below %s), this "
			"is kplug %s; install a newer kplug or an older version of the "
			"plugin",
			min, max, own);
	return kp_diag_set(diag, "host_too_new", "host.max",
		"host.max: the plugin is for kplug %s up to but not including %s, this "
		"is kplug %s; install a newer version of the plugin",
		min, max, own);
}
