// Package goclient tests the Go client, which is a module of its own, against the OpenAPI document
// and against the page that shows how to get and use it.
package goclient
