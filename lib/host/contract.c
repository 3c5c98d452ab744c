/* SPDX-License-Identifier: MIT */
/* The method Family, and what it says kept. */
#include "lib/host/contract.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/owned.h"

static void contract_free(struct kp_contract *contract)
{
	if (!contract)
		return;
	if (contract->described)
		kp_family_finish(&contract->family);
	free(contract->text);
	free(contract->operation);
	free(contract);
}

static int read_family(
	struct kp_contract *contract, const json_t *family, struct kp_diag *diag)
{
	contract->text = json_dumps(family, JSON_COMPACT);
	if (!contract->text)
		return kp_diag_no_memory(diag);
	if (kp_family_parse(contract->text, strlen(contract->text), contract->operation,
		    &contract->family, diag) < 0)
		return -1;
	contract->described = true;
	return 0;
}

static int ask(
	struct kp_contract *contract, struct kp_attach *attach, struct kp_diag *diag)
{
	struct kp_diag why;
	owned_json *reply = NULL;
	json_t *parameters = json_pack("{s:s}", "operation", contract->operation);

	if (!parameters)
		return kp_diag_no_memory(diag);
	int result = kp_attach_ask(attach, "Family", parameters, &reply, &why);
	json_decref(parameters);
	if (result < 0 && strcmp(why.code, "unknown_operation") == 0)
		return 0;
	if (result < 0) {
		if (diag)
			*diag = why;
		return -1;
	}
	const json_t *family = json_object_get(reply, "family");
	return json_is_object(family) ? read_family(contract, family, diag) : 0;
}

const struct kp_contract *kp_contract_get(struct kp_contract **list,
	struct kp_attach *attach, const char *operation, struct kp_diag *diag)
{
	struct kp_contract *contract = *list;

	while (contract && strcmp(contract->operation, operation) != 0)
		contract = contract->next;
	if (contract)
		return contract;
	contract = calloc(1, sizeof(*contract));
	if (!contract || !(contract->operation = strdup(operation))) {
		free(contract);
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (ask(contract, attach, diag) < 0) {
		contract_free(contract);
		return NULL;
	}
	contract->next = *list;
	return *list = contract;
}

void kp_contracts_free(struct kp_contract *list)
{
	while (list) {
		struct kp_contract *next = list->next;
		contract_free(list);
		list = next;
	}
}
