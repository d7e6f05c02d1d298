// Package docs holds the documents that customers read on the API's own pages. The others in this folder are for people who
// build and run it.
package docs

import "embed"

// FS holds the guides by their paths in this folder.
//
//go:embed changelog.md clients.md deprecations errors.md getting-a-key.md idempotency.md pagination.md rate-limiting.md versioning.md
var FS embed.FS
