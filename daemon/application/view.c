/* SPDX-License-Identifier: MIT */
/* The bytes of a table, then numbers. */
#include "daemon/application/view.h"

#include "daemon/application/sealed.h"
#include "lib/base/file.h"
#include "lib/host/control.h"

int view_make(struct view *view, const struct kp_table *table, const uint32_t *numbers,
	struct kp_diag *diag)
{
	size_t at = kp_view_numbers_at(table->size);
	size_t size = kp_table_kernels(table) * sizeof(*numbers);
	const struct sealed_part parts[] = {
		{table->bytes, 0, table->size}, {numbers, at, size}};
	int fd = sealed_content("kplug-view", at + size, parts, 2, diag);

	if (fd < 0)
		return -1;
	kp_file_close(&view->fd);
	*view = (struct view){fd, kp_table_generation(table)};
	return 0;
}

void view_finish(struct view *view)
{
	kp_file_close(&view->fd);
	view->fd = -1;
}
