// Package catalog defines the animals in a tenant's catalogue and the orders for them: their
// fields, the valid values, and which status may follow which.
//
// It depends on neither HTTP nor Postgres. Customers read its validation errors, which name the
// field and the problem.
package catalog
