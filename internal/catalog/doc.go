// Package catalog is the animal catalogue: what an animal is and which values it may take.
//
// It knows neither HTTP nor Postgres. Validation names the field and says what is wrong in words that a customer
// reads.
package catalog
