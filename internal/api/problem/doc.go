// Package problem has the error responses of the API: the table of codes (codes.go), errors with a
// message for the customer and a cause for the operator, and the code for each error of the layers
// below (of.go).
//
// Codes are only ever added. A message names what was wrong and what to do, and never holds a
// secret. Codes are read-only after the start and safe for concurrent use. An Error belongs to one
// request, unless its response was made in advance.
package problem
