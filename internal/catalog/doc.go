// Package catalog is the animal catalogue and the orders for its animals: what they are, which values they may take, and
// which status may follow which.
//
// It knows neither HTTP nor Postgres. Validation names the field and says what is wrong in words that a customer
// reads.
package catalog
