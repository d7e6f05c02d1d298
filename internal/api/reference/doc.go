// Package reference makes the API's own pages: the OpenAPI document in YAML and JSON, the reference on which a customer tries
// the API (Scalar), the guides beside it, and what they need. All of it is made once, at start, and never changes.
//
// The pages load nothing from anywhere but their own origin, and their policies (Content-Security-Policy) hold
// browsers to that. The guides are the Markdown files of the package docs. They work without JavaScript.
//
// The package knows nothing of limits and keys: the API serves the pages and adds what every answer carries.
package reference
