// Package catalog defines the animals in a tenant's catalogue and the orders for them: their
// fields, the valid values, and which status may follow which.
//
// It depends on neither HTTP nor Postgres. Its validation errors are written for customers, and
// name the field and the problem.
package catalog
