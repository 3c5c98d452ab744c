/* SPDX-License-Identifier: MIT */
/* Does a pin apply, and if not, why? */
#include "daemon/state/pinned.h"

#include "daemon/daemon.h"
#include "lib/base/json.h"
#include "lib/select/select.h"

static json_t *pinned_json(struct daemon *daemon, const struct kp_pin *pin)
{
	json_t *outcome = kp_pin_json(daemon_table(daemon), pin);

	return outcome ? kp_json_merge(
				 json_pack("{s:o, s:o, s:I, s:I, s:b}", "operation",
					 kp_json_clean_string(pin->operation), "choice",
					 kp_json_clean_string(pin->choice), "at",
					 (json_int_t)pin->at, "uid", (json_int_t)pin->uid,
					 "force", pin->force),
				 outcome)
		       : NULL;
}

json_t *pinned_list(struct daemon *daemon)
{
	const struct kp_decisions *decisions = &daemon->decisions;
	json_t *list = json_array();

	for (size_t i = 0; list && i < decisions->n_pins; i++)
		list = kp_json_append(list, pinned_json(daemon, &decisions->pins[i]));
	return list;
}
