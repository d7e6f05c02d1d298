// Package reference serves the documentation pages: the OpenAPI document in YAML and JSON, the
// reference in which customers try the API (Scalar), the guides with their search, a feed of
// changes, texts for programs, and their assets.
//
// tools/docsite makes the pages in the folder site, from the Markdown files in docs and the OpenAPI
// document (make generate). This package puts the deployment's addresses into them. Each page
// except security.txt is made once and never changes.
//
// The pages load nothing from other origins, and their Content-Security-Policy enforces that. The
// guides can be read without JavaScript; their script copies examples and searches.
//
// The package knows nothing of limits and keys: package api serves the pages and adds the headers
// of every response.
package reference
