/* SPDX-License-Identifier: MIT */
/*
 * The smallest GStreamer plugin: one element that does nothing. XXXXX is replaced in
 * the built file, so that a thousand of them differ as those of kplug do.
 */
#include <gst/gst.h>

struct tiny {
	GstElement element;
};
struct tiny_class {
	GstElementClass element;
};

static void class_init(gpointer class, gpointer data)
{
	(void)data;
	gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "Tiny XXXXX",
		"Filter/Test", "does nothing XXXXX", "nobody");
}

static gboolean init(GstPlugin *plugin)
{
	GType type = g_type_register_static_simple(GST_TYPE_ELEMENT, "TinyXXXXX",
		sizeof(struct tiny_class), class_init, sizeof(struct tiny), NULL, 0);
	return gst_element_register(plugin, "tinyXXXXX", GST_RANK_NONE, type);
}

/* Under the name that the loader falls back to: the same in every copy. */
__attribute__((visibility("default"))) const GstPluginDesc gst_plugin_desc = {
	GST_VERSION_MAJOR, GST_VERSION_MINOR, "tinyXXXXX", "a tiny plugin XXXXX", init,
	"1.0.0", "LGPL", "tiny", "tiny", "https://example.org/", NULL, GST_PADDING_INIT};
