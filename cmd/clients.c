/* SPDX-License-Identifier: MIT */
/* `pluginctl clients`: which applications run kernels, and what they obey. */
#include <string.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/holds.h"
#include "cmd/session.h"

static const struct question asking = {"Clients",
	{{"clients", KP_JSON_ARRAY, true}, {"generation", KP_JSON_INTEGER, true}}};

static const struct grid_column columns[] = {{"NAME", false}, {"PID", true},
	{"UID", true}, {"SINCE", false}, {"GENERATION", true}, {"STATE", false},
	{"HOLDS", false}};

static enum tone tone_of(const json_t *client)
{
	if (field_is(client, "state", "obeyed"))
		return TONE_GOOD;
	return field_is(client, "state", "held") ? TONE_BAD : TONE_WARN;
}

static void add_since(struct grid *grid, json_int_t since)
{
	time_t at = (time_t)since;
	struct tm local;
	char text[32] = "";

	if (localtime_r(&at, &local))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	grid_add(grid, TONE_PLAIN, "%s", text);
}

static int add_row(const struct output *output, struct grid *grid, const json_t *client)
{
	owned_text holds = holds_print(client, true);
	json_int_t more = field_int(client, "more");

	if (!holds)
		return output_no_memory(output);
	grid_add(grid, TONE_PLAIN, "%s", field_text(client, "name", "?"));
	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(client, "pid"));
	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(client, "uid"));
	add_since(grid, field_int(client, "since"));
	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(client, "generation"));
	grid_add(grid, tone_of(client), "%s", field_text(client, "state", "?"));
	if (more > 0)
		grid_add(grid, TONE_PLAIN, "%s, and %lld more", holds, (long long)more);
	else
		grid_add(grid, TONE_PLAIN, "%s", holds);
	return KP_EXIT_OK;
}

static int put_clients(const struct output *output, const json_t *clients)
{
	struct grid grid = {.columns = columns, .n_columns = 7};
	int status = KP_EXIT_OK;

	for (size_t i = 0; status == KP_EXIT_OK && i < json_array_size(clients); i++)
		status = add_row(output, &grid, json_array_get(clients, i));
	int printed = grid_print(&grid, output);
	return status == KP_EXIT_OK ? printed : status;
}

static int run(struct session *session)
{
	owned_json *reply = NULL;
	int status = session_ask(session, &asking, json_object(), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const json_t *clients = json_object_get(reply, "clients");
	if (session->output.json)
		return output_json(reply);
	if (session->output.quiet) {
		field_lines(&session->output, clients, "name");
		return KP_EXIT_OK;
	}
	if (json_array_size(clients) == 0)
		output_remark(&session->output, "no application is attached");
	else
		status = put_clients(&session->output, clients);
	return status;
}

const struct command clients_command = {
	.name = "clients",
	.args = "",
	.summary = "List applications that run kernels, and what they obey",
	.help = "STATE is obeyed where calls follow the newest decisions; pending where "
		"none was made since, the next one will; held where a captured graph, a "
		"plan or a prepared weight still holds a kernel that is off; behind "
		"where it does not read what it is sent. HOLDS is everything that it "
		"holds. With --quiet the names alone.",
	.run = run,
};
