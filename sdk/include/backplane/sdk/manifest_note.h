/* manifest_note.h -- the ELF note that holds a plugin's manifest, so that the library can be installed alone.
 *
 * Owner BP_MANIFEST_NOTE_OWNER, type BP_MANIFEST_NOTE_TYPE, in a loaded segment; its descriptor is the manifest's JSON
 * text without library_path and sha256, neither terminated nor padded. Hosts read it without running any code.
 * backplane_add_plugin() emits it; docs/spec/embedded-manifest.md is for those who do so by other means.
 */
#ifndef BACKPLANE_SDK_MANIFEST_NOTE_H
#define BACKPLANE_SDK_MANIFEST_NOTE_H

#define BP_MANIFEST_NOTE_OWNER "Backplane"
#define BP_MANIFEST_NOTE_TYPE 1

#endif
