// Package reference makes the documentation pages: the OpenAPI document in YAML and JSON, the reference in which customers try
// the API (Scalar), the guides, and their assets. Each page is made once and never changes.
//
// The pages load nothing from other origins, and their Content-Security-Policy enforces that. The guides are the Markdown files of
// package docs. They work without JavaScript.
//
// The package knows nothing about limits and keys: package api serves the pages and adds the headers of every response.
package reference
