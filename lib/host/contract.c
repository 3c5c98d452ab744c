/* SPDX-License-Identifier: MIT */
/* The method Family, and what it says kept. */
#include "lib/host/contract.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
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
	contract->text = kp_json_dumps(family, JSON_COMPACT);
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

static struct kp_contract *find(
	const struct kp_contracts *contracts, const char *operation)
{
	struct kp_contract *contract = contracts->first;

	while (contract && strcmp(contract->operation, operation) != 0)
		contract = contract->next;
	return contract;
}

static struct kp_contract *contract_new(
	struct kp_attach *attach, const char *operation, struct kp_diag *diag)
{
	struct kp_contract *new = calloc(1, sizeof(*new));

	if (!new || !(new->operation = strdup(operation)))
		kp_diag_no_memory(diag);
	else if (ask(new, attach, diag) == 0)
		return new;
	contract_free(new);
	return NULL;
}

/* The one that stays, where another thread has asked, too. */
static struct kp_contract *enter(struct kp_contracts *contracts, struct kp_contract *new)
{
	(void)pthread_mutex_lock(&contracts->lock);
	struct kp_contract *contract = find(contracts, new->operation);
	if (!contract) {
		contract = new;
		new->next = contracts->first;
		contracts->first = new;
	}
	(void)pthread_mutex_unlock(&contracts->lock);
	if (contract != new)
		contract_free(new);
	return contract;
}

const struct kp_contract *kp_contract_get(struct kp_contracts *contracts,
	struct kp_attach *attach, const char *operation, struct kp_diag *diag)
{
	(void)pthread_mutex_lock(&contracts->lock);
	struct kp_contract *contract = find(contracts, operation);
	(void)pthread_mutex_unlock(&contracts->lock);
	if (contract)
		return contract;
	contract = contract_new(attach, operation, diag);
	return contract ? enter(contracts, contract) : NULL;
}

void kp_contracts_init(struct kp_contracts *contracts)
{
	*contracts = (struct kp_contracts){.first = NULL};
	(void)pthread_mutex_init(&contracts->lock, NULL);
}

void kp_contracts_finish(struct kp_contracts *contracts)
{
	while (contracts->first) {
		struct kp_contract *contract = contracts->first;
		contracts->first = contract->next;
		contract_free(contract);
	}
	(void)pthread_mutex_destroy(&contracts->lock);
}
