/* SPDX-License-Identifier: MIT */
/* Builds a SARIF document: one run, a rule a code, a result a finding. */
#include "cmd/sarif.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/build.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/lint/code.h"

static const char schema[] =
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
	"sarif-schema-2.1.0.json";

static json_t *text_json(const char *text)
{
	return json_pack("{s:s}", "text", text);
}

static json_t *rule_json(const struct kp_code *code)
{
	return json_pack("{s:s, s:o, s:o, s:{s:s}}", "id", code->code, "shortDescription",
		text_json(code->about), "help", text_json(code->remedy),
		"defaultConfiguration", "level", kp_severity_name(code->severity));
}

static json_t *rules_json(void)
{
	const struct kp_code *code;
	json_t *list = json_array();
	for (size_t i = 0; list && (code = kp_code_at(i)); i++)
		list = kp_json_append(list, rule_json(code));
	return list;
}

static json_t *index_json(const char *code)
{
	const struct kp_code *row;
	for (size_t i = 0; (row = kp_code_at(i)); i++)
		if (strcmp(row->code, code) == 0)
			return json_integer((json_int_t)i);
	return json_integer(-1);
}

/* RFC 3986: what is neither unreserved nor a slash is %XX; absolute ones get a scheme. */
static char *uri_of(const char *path)
{
	static const char plain[] = "-._~/";
	size_t length = strlen(path);
	char *uri = malloc(length * 3 + sizeof("file://"));
	char *at = uri;
	if (!uri)
		return NULL;
	if (path[0] == '/')
		at = stpcpy(at, "file://");
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)path[i];
		if (byte < 0x80 && (isalnum(byte) || strchr(plain, byte)))
			*at++ = (char)byte;
		else
			at += sprintf(at, "%%%02X", byte);
	}
	*at = '\0';
	return uri;
}

static json_t *location_json(const json_t *finding)
{
	const json_t *line = json_object_get(finding, "line");
	const json_t *column = json_object_get(finding, "column");
	owned_text uri = uri_of(kp_json_text(finding, "file"));
	json_t *region = NULL;
	if (!uri)
		return NULL;
	if (json_is_integer(line))
		region = json_pack("{s:O, s:O*}", "startLine", line, "startColumn",
			json_is_integer(column) ? column : NULL);
	return json_pack("{s:{s:{s:s}, s:o*}}", "physicalLocation", "artifactLocation",
		"uri", uri, "region", region);
}

static json_t *result_json(const json_t *finding)
{
	const char *code = kp_json_text(finding, "code");
	json_t *locations = json_array();
	json_t *message = json_sprintf("%s %s", kp_json_text(finding, "message"),
		kp_json_text(finding, "remedy"));
	if (locations && kp_json_text(finding, "file"))
		locations = kp_json_append(locations, location_json(finding));
	return json_pack("{s:s, s:o, s:s, s:{s:o}, s:o}", "ruleId", code, "ruleIndex",
		index_json(code), "level", kp_json_text(finding, "severity"), "message",
		"text", message, "locations", locations);
}

static json_t *results_json(const json_t *findings)
{
	size_t i;
	json_t *finding;
	json_t *list = json_array();
	json_array_foreach ((json_t *)findings, i, finding)
		list = kp_json_append(list, result_json(finding));
	return list;
}

json_t *sarif_document(const json_t *findings, int exit_status)
{
	return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:s, s:[{s:b, s:i}], "
			 "s:o}]}",
		"$schema", schema, "version", "2.1.0", "runs", "tool", "driver", "name",
		"pluginctl", "semanticVersion", kp_build_version, "rules", rules_json(),
		"columnKind", "unicodeCodePoints", "invocations", "executionSuccessful",
		1, "exitCode", exit_status, "results", results_json(findings));
}
