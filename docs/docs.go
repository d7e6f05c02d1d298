// Package docs holds the page that explains the codes of errors, for both programs and for tests.
// What customers read on the API's own pages is made of this folder by tools/docsite; the other
// documents are for people who build and run it.
package docs

import "embed"

// FS holds errors.md.
//
//go:embed errors.md
var FS embed.FS
